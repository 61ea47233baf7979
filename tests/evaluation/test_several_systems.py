"""rerank.evaluate with several systems, data frames, names of features and files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from small_judging import evaluate

import rerank
from rerank.core.errors import RerankError
from rerank.evaluation.evaluate import evaluate_files

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "qid": np.tile(["a", "b", "c"], 4),  # rows of a list are not contiguous
        "id": [f"d{i}" for i in range(12)],
        "label": RNG.integers(0, 2, 12),
        "f": RNG.normal(size=12),
        "g": RNG.normal(size=12),
    }
)
LISTS = rerank.CandidateLists.from_frame(FRAME)
SYSTEMS = {"f": FRAME["f"].to_numpy(), "g": FRAME["g"].to_numpy()}
RUN = {q: dict(zip(part["id"], part["f"], strict=True)) for q, part in FRAME.groupby("qid")}
QRELS = {q: dict(zip(part["id"], part["label"], strict=True)) for q, part in FRAME.groupby("qid")}
OPTIONS = {"baseline": "g", "samples": 50, "level": 0.9, "seed": 4}

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")


def test_several_systems_are_what_eval_prints(tmp_path):
    expected = evaluate(LISTS, SYSTEMS, ["AP", "RR"], **OPTIONS).as_json()
    assert rerank.evaluate(LISTS, SYSTEMS, ["AP", "RR"], **OPTIONS).as_json() == expected
    assert rerank.evaluate(FRAME, FRAME[["f", "g"]], ["AP", "RR"], **OPTIONS).as_json() == expected
    paths = [str(tmp_path / name) for name in SYSTEMS]
    for path, scores in zip(paths, SYSTEMS.values(), strict=True):
        np.savetxt(path, scores, fmt="%.17g")
    found = evaluate_files(LISTS, paths, ["AP", "RR"], **{**OPTIONS, "baseline": paths[1]}).as_json()
    assert [one["metrics"] for one in found["systems"]] == [one["metrics"] for one in expected["systems"]]


def test_systems_in_every_form_are_the_same(tmp_path):
    expected = rerank.evaluate(LISTS, SYSTEMS["f"], ["AP", "nDCG@3"])
    path, data = str(tmp_path / "scores"), str(tmp_path / "lists.csv")
    np.savetxt(path, SYSTEMS["f"], fmt="%.17g")
    rerank.save(LISTS, data)
    for scores in (FRAME["f"], "f", path, RUN, pl.Series(SYSTEMS["f"])):
        assert rerank.evaluate(LISTS, scores, ["AP", "nDCG@3"]) == expected
    assert rerank.evaluate(data, path, ["AP", "nDCG@3"]) == expected
    assert rerank.evaluate(FRAME, "f", "AP") == {"AP": expected["AP"]}
    assert rerank.evaluate(QRELS, RUN, ["AP", "nDCG@3"]) == expected
    several = rerank.evaluate(QRELS, {"x": RUN, "y": RUN}, "AP", samples=10)
    assert several.systems["x"]["AP"].value == expected["AP"]
    pair = rerank.compare(FRAME, {"a": "f", "b": RUN}, "AP", samples=10).pairs["AP"][0]
    assert (pair.value_a, pair.difference) == (expected["AP"], 0.0)


def test_first_best_as_baseline_is_there_or_an_error():
    ranked = LISTS.with_first_best("g")
    found = rerank.evaluate(ranked, {"f": "f"}, "AP", baseline="first-best", samples=10)
    assert found.baseline == "first_best"
    with pytest.raises(RerankError, match="has no first-best; name one of the systems"):
        rerank.evaluate(LISTS, {"f": "f"}, baseline="first-best")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: rerank.evaluate(LISTS, SYSTEMS["f"], "APP"), "unknown metric 'APP'; did you mean 'AP'?"),
        (lambda: rerank.evaluate(LISTS, SYSTEMS["f"], baseline="f"), "baseline: not used with the scores of"),
        (lambda: rerank.evaluate(LISTS, SYSTEMS["f"], seed=5), "seed: not used with the scores of one"),
        (lambda: rerank.evaluate(LISTS, "h"), "'h', which is neither a file nor a feature; known: f, g"),
        (lambda: rerank.evaluate(LISTS, SYSTEMS, baseline="F2"), "unknown baseline 'F2'"),
        (lambda: rerank.evaluate(FRAME, FRAME["f"][::-1]), "data and scores have different indexes"),
        (lambda: rerank.evaluate(FRAME, FRAME[["f"]][::-1]), "data and f have different indexes"),
        (lambda: rerank.evaluate(LISTS, {}), "found an empty mapping, expected systems by name or a run"),
        (lambda: rerank.evaluate(LISTS, {1: [1.0] * 12}), "found the name 1 of a system, expected a text"),
        (lambda: rerank.evaluate(LISTS, {"f": [1, 2]}), "f: scores have shape (2,), expected (12,)"),
        (lambda: rerank.evaluate(LISTS, None), "found NoneType, expected 12 numbers, one for each item"),
        (lambda: rerank.evaluate("no-file", "f"), "no-file"),
        (lambda: rerank.evaluate(QRELS, [1, 2]), "expected a run as {query: {document: score}}"),
        (lambda: rerank.evaluate(5, [1]), "found int, expected the labels or the texts of the items"),
        (lambda: rerank.compare(LISTS, SYSTEMS["f"]), "systems: found ndarray, expected scores by name"),
        (lambda: rerank.compare(LISTS, {"f": "f"}), "a comparison needs two systems at least"),
    ],
)
def test_mistakes_are_errors_of_one_line(use, message):
    with pytest.raises(RerankError) as caught:
        use()
    assert message in str(caught.value)
