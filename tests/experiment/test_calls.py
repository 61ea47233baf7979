"""Verbs as calls on lists in memory give what the command line writes."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rerank
from rerank.core.errors import DataNote, RerankError

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame(
    {
        "qid": np.tile(["a", "b", "c"], 4),
        "id": [f"d{i}" for i in range(12)],
        "label": RNG.integers(0, 2, 12),
        "f": RNG.normal(size=12),
        "g": RNG.normal(size=12),
    }
)
LISTS = rerank.CandidateLists.from_frame(FRAME)
MODEL = rerank.train(LISTS, epochs=3)


pytestmark = pytest.mark.filterwarnings("ignore:.*trained on:rerank.DataNote")


@pytest.mark.parametrize("as_", ["scores", "table", "run", "best"])
def test_predictions_are_those_of_files(as_, tmp_path):
    path = str(tmp_path / "out")
    texts = rerank.CandidateLists.from_frame(FRAME.rename(columns={"id": "text"}))
    rerank.predict(MODEL, texts if as_ == "best" else LISTS, as_, out=path)
    lines = Path(path).read_text().splitlines()
    found = rerank.predict(MODEL, texts if as_ == "best" else LISTS, as_)
    if as_ == "scores":
        assert [repr(score) for score in found.tolist()] == lines
    elif as_ == "table":
        assert ["\t".join(map(str, row)) for row in found] == lines
        assert found.to_dataframe().shape == (12, 4)
    elif as_ == "run":
        rows = [line.split() for line in lines]
        assert {name: dict(items) for name, items in found.items()} == {
            name: {row[2]: float(row[4]) for row in rows if row[0] == name} for name in "abc"
        }
    else:
        assert found == lines


def test_the_best_item_comes_first():
    lists = rerank.predict(MODEL, LISTS, "nbest")
    scores = MODEL.score(lists)
    assert all(
        scores[first] == scores[lists.list_index == i].max() for i, first in enumerate(lists.offsets[:-1])
    )


@pytest.mark.filterwarnings("ignore::rerank.DataNote")
def test_models_take_frames_arrays_and_files(tmp_path):
    expected = MODEL.score(LISTS)
    path = str(tmp_path / "model")
    MODEL.save(path)
    for data in (
        FRAME,
        pl.from_pandas(FRAME),
        FRAME.to_dict("list"),
        FRAME[["g", "f"]],
        FRAME[["f", "g"]].to_numpy(),
    ):
        assert np.array_equal(rerank.predict(path, data), expected)
    assert np.array_equal(rerank.predict(MODEL, pl.from_pandas(FRAME[["f", "g"]])), expected)
    best = rerank.predict(MODEL, FRAME[["f", "g"]], "table", qid=FRAME["qid"])
    assert [row[3] for row in best] == [row[3] for row in rerank.predict(MODEL, FRAME, "table")]
    assert rerank.train(FRAME, epochs=3).as_file().getvalue() == MODEL.as_file().getvalue()
    assert rerank.train(FRAME, epochs=1, list_weights=[1, 2, 3]).training.list_weights is not None


def test_models_score_frames():
    assert np.array_equal(MODEL.score(FRAME), MODEL.score(LISTS))
    assert np.array_equal(MODEL.score(FRAME[["id", "g", "f", "qid"]]), MODEL.score(LISTS))


def test_a_misspelt_name_is_suggested():
    with pytest.raises(AttributeError) as caught:
        rerank.evalute  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("evalute", rerank)


def test_columns_of_another_frame_are_matched_by_name():
    with pytest.warns(DataNote, match=r"1 of 2 features of the model is absent \(g\), taken as 0"):
        rerank.predict(MODEL, FRAME.drop(columns="g"))
    with pytest.raises(RerankError, match="absent"):
        rerank.predict(MODEL, FRAME.drop(columns="g"), strict=True)
    with pytest.raises(RerankError, match="found features x, y, expected those of the model"):
        rerank.predict(MODEL, FRAME[["f", "g"]].set_axis(["x", "y"], axis=1))


def test_lists_with_further_columns_and_in_parts():
    more = rerank.append(FRAME, {"h": np.arange(12)})
    assert more.input_order(more.features.column(2)).tolist() == list(range(12))
    parts = rerank.split(LISTS, {"train": 0.67, "test": 0.33}, seed=2)
    assert [len(part) for part in parts.values()] == [2, 1]
    assert list(rerank.split(LISTS, folds=3)) == [
        f"fold{k}/{part}" for k in (1, 2, 3) for part in ("train", "test")
    ]
    counts = rerank.count_pairs(FRAME, ["pairs=all"])
    assert counts.to_dataframe()["pairs"].tolist() == [counts[0].row()["pairs"]]
    assert counts._repr_html_().count("<tr>") == 2
    assert rerank.validate(FRAME).facts[0] == ("lists", "3, of 4 to 4 items, median 4")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: rerank.predict(MODEL, LISTS, "score"), "unknown output 'score'; did you mean 'scores'?"),
        (lambda: rerank.predict(FRAME, LISTS), "model: found DataFrame, expected a model"),
        (lambda: rerank.predict("no-model", LISTS), "no-model: no such file"),
        (lambda: rerank.predict(MODEL, "no-file"), "no-file: no such file"),
        (lambda: rerank.predict(MODEL, FRAME[["f", "g"]], "best"), "found no column of lists"),
        (lambda: rerank.predict(MODEL, FRAME[["f", "g"]].to_numpy(), "table"), "table: depends on the lists"),
        (lambda: rerank.predict(MODEL, LISTS, qid=FRAME["qid"]), "group and qid are for features in memory"),
        (lambda: rerank.predict(MODEL, LISTS, "classes"), "predicts no classes"),
        (lambda: rerank.predict(MODEL, LISTS, "probabilities"), "predicts no probabilities"),
        (lambda: rerank.append(LISTS, {"h": [1, 2]}), "h has shape (2,), expected (12,)"),
        (lambda: rerank.append(LISTS, {"f": range(12)}), "feature 'f' exists already"),
        (lambda: rerank.split(LISTS), "give parts (--part NAME=SHARE, twice or more) or --folds K"),
        (lambda: rerank.split(LISTS, ["train"]), "--part train: expected NAME=SHARE"),
        (lambda: rerank.train([[1.0, 2.0]]), "found list, expected CandidateLists (from_arrays"),
        (lambda: MODEL.score("no-file"), "found str, expected CandidateLists or a data frame"),
        (
            lambda: rerank.CandidateLists.from_arrays(FRAME, FRAME["label"], qid=FRAME["qid"]),
            "column 'qid' holds no numbers; leave it out of X, or use CandidateLists.from_frame",
        ),
        (lambda: rerank.train("no-file"), "no-file: no such file"),
        (lambda: rerank.train(LISTS, list_weights=[1.0]), "list_weights has shape (1,), expected (3,)"),
        (lambda: rerank.train(LISTS, epochz=3), "unknown setting 'epochz'; did you mean 'epochs'?"),
    ],
)
def test_mistakes_are_errors_of_one_line(use, message):
    with pytest.raises(RerankError) as caught:
        use()
    assert message in str(caught.value)
