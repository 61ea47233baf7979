"""``rerank.fuse`` and ``rerank fuse``: from runs to a fused run."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import rerank as package
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.extensions.fusion.fuse import checked_judgements, merged_mappings
from rerank.models.predictions import Ranking
from rerank.training.out_of_fold import folds_of

A = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}, "q2": {"u": 5.0, "v": 4.0}}
B = {"q1": {"z": 0.9, "w": 0.4}, "q2": {"v": 0.7, "u": 0.2}}
QRELS = {"q1": {"z": 1, "x": 0}, "q2": {"v": 2}}


def many(seed=0, n=20):
    rng = np.random.default_rng(seed)
    qrels = {f"q{i}": {f"d{d}": int(rng.random() < 0.3) for d in range(12)} for i in range(n)}
    runs = {}
    for j, noise in enumerate((0.3, 3.0, 1.0)):
        runs[f"r{j}"] = {
            q: {d: float(label + rng.normal(0, noise)) for d, label in own.items() if rng.random() < 0.8}
            for q, own in qrels.items()
        }
    return runs, qrels


def test_mappings_and_lists_of_runs_are_fused():
    found = package.fuse({"a": A, "b": B})
    assert found["q1"] == pytest.approx({"z": 1 / 63 + 1 / 61, "x": 1 / 61, "w": 1 / 62, "y": 1 / 62})
    assert list(found["q1"])[:2] == ["z", "x"]
    assert package.fuse([A, B]) == found
    assert package.fuse([A, B], k=0)["q2"] == {"u": 1.5, "v": 1.5}


def test_a_run_that_is_given_twice_counts_twice_with_a_warning():
    with pytest.warns(DataNote, match="runs '1' and '3' have the same scores, which count twice"):
        package.fuse([A, B, A])


def test_a_query_that_a_run_lacks_is_reported():
    with pytest.warns(DataNote, match=r"run '2' returned nothing for 1 query \(the first is 'q2'\)"):
        found = package.fuse([A, {"q1": B["q1"]}])
    assert found["q2"] == {"u": 1 / 61, "v": 1 / 62}


@pytest.mark.parametrize("method", ["wsum", "wrrf", "posfuse", "mapfuse", "segfuse"])
def test_no_query_is_fused_by_a_model_of_itself(method):
    warnings.simplefilter("ignore", DataNote)
    runs, qrels = many()
    found = package.fuse(runs, qrels, method)
    changed = qrels | {"q3": {d: 1 - label for d, label in qrels["q3"].items()}}
    other = package.fuse(runs, changed, method)
    assert found["q3"] == other["q3"]
    assert package.fuse(runs, qrels, method, seed=2).keys() == found.keys()


def test_unjudged_queries_are_fused_by_a_model_of_all_judged_ones():
    warnings.simplefilter("ignore", DataNote)
    runs, qrels = many()
    judged = {q: own for q, own in qrels.items() if q != "q3"}
    found = package.fuse(runs, judged, "posfuse")
    assert found["q3"] == package.fuse(runs, train=judged, method="posfuse")["q3"]


def test_values_that_are_fitted_on_the_same_queries_are_reported():
    warnings.simplefilter("ignore", DataNote)
    runs, qrels = many()
    with pytest.warns(DataNote, match="20 judged queries were learnt from as well"):
        package.fuse(runs, qrels, "posfuse", train=qrels)


@pytest.mark.parametrize("method", ["ranksvm", "coordinate-ascent", "lambdamart"])
def test_other_learners_fuse_scores_scaled_within_queries(method):
    """As a model of each fold does by hand: scaled to 0 to 1, the least for what a run did not return."""
    runs, qrels = many()
    own = {"rounds": 3, "min_leaf": 2} if method == "lambdamart" else {}
    found = package.fuse(runs, qrels, method, **own)
    lists = checked_judgements(qrels, "qrels").on(merged_mappings(runs))
    needs = {"metric": "AP"} if method == "coordinate-ascent" else {"unjudged": "negative"}
    missing = "nan" if method == "lambdamart" else "list-min"
    scores = np.full(lists.n_items, np.nan)
    for fold in folds_of(lists, 5, 1):
        learnt = {"scaling": "list-minmax", "missing": missing, **needs, **own}
        model = package.train(lists.subset(fold.train), learner=method, **learnt)
        items = np.isin(lists.list_index, fold.test)
        scores[items] = model.score_items(lists.subset(fold.test))
    assert found == Ranking.of(lists, scores).as_run()


@pytest.mark.parametrize(
    ("runs", "more", "text"),
    [
        ([A], {}, "found 1 run, expected two or more"),
        ("a.run", {}, "runs: found str"),
        ([A, {"q1": {"x": float("nan")}}], {}, "run '2': query 'q1', document 'x': found score nan"),
        ([A, {"q1": {"x": "3"}}], {}, "found score '3', expected a finite number"),
        ([A, {"q1": {1: 3.0, "1": 2.0}}], {}, "query 'q1' has the document '1' twice"),
        ([A, {"q1": {}}], {}, "run '2': no document"),
        ([A, {"q1": 3}], {}, "expected {query: {document: score}}"),
        ([A, B], {"method": "rff"}, "unknown method 'rff'; did you mean 'rrf'"),
        ([A, B], {"method": "random"}, "unknown method 'random'"),
        ([A, B], {"method": "posfuse"}, "method posfuse learns from judgements"),
        ([A, B], {"method": "ranksvm"}, "method ranksvm learns from judgements"),
        ([A, B], {"method": "coordinate-ascent"}, "method coordinate-ascent learns from judgements"),
        ([A, B], {"train": QRELS}, "--train: not used by method rrf"),
        ([A, B], {"phi": 3}, "phi"),
        ([A, B], {"qrels": {"q9": {"x": 1}}}, "judges no query of runs"),
        ([A, B], {"qrels": QRELS, "method": "wsum"}, "5 folds of 2 lists: too few"),
    ],
)
def test_what_is_refused(runs, more, text):
    with pytest.raises((ConfigError, DataError)) as caught:
        package.fuse(runs, **more)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def write(path, run):
    rows = (
        f"{q} Q0 {d} {r} {s} {path.stem}\n"
        for q, own in run.items()
        for r, (d, s) in enumerate(own.items(), 1)
    )
    path.write_text("".join(rows))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs, qrels = many()
    for name, run in runs.items():
        write(tmp_path / f"{name}.run", run)
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {d} {x}\n" for q, own in qrels.items() for d, x in own.items())
    )
    return runs, qrels


def test_the_verb_writes_what_the_function_returns(rerank, files, tmp_path):
    runs, qrels = files
    result = rerank(
        "fuse", *(f"{n}.run" for n in runs), "--method", "wsum", "--qrels", "qrels", "-o", "out", "-m", "AP"
    )
    assert result.code == 0
    assert "5-fold cross-validation of 20 judged queries" in result.err
    rows = [line.split() for line in (tmp_path / "out").read_text().splitlines()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = package.fuse(runs, qrels, "wsum")
        value = package.evaluate(qrels, expected, ["AP"])["AP"]
    assert {(q, d): float(s) for q, _, d, _, s, _ in rows} == {
        (q, d): s for q in expected for d, s in expected[q].items()
    }
    assert f"{value:.4f}" in next(line for line in result.out.splitlines() if line.startswith("wsum"))


def test_depth_cuts_what_is_written_and_judged(rerank, files, tmp_path):
    result = rerank("fuse", "r0.run", "r1.run", "--depth", "2", "--qrels", "qrels", "-o", "out", "-m", "AP")
    ranks = [line.split()[3] for line in (tmp_path / "out").read_text().splitlines()]
    assert ranks == ["1", "2"] * 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = package.evaluate("qrels", "out", ["AP"])["AP"]
    assert f"{value:.4f}" in next(line for line in result.out.splitlines() if line.startswith("rrf"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("r0.run",), "found 1 run, expected two or more"),
        (("r0.run", "gone.run"), "gone.run"),
        (("r0.run", "r1.run", "--method", "wsum"), "wsum learns from judgements"),
        (("r0.run", "r1.run", "--set", "k"), "expected NAME=VALUE"),
        (("r0.run", "r1.run", "--set", "phi=2"), "phi"),
        (("r0.run", "r1.run", "-m", "AP"), "--metric: not used without"),
        (("r0.run", "r1.run", "-o", "r0.run"), "r0.run"),
    ],
)
def test_an_error_is_one_line(rerank, files, tmp_path, arguments, text):
    given = arguments if "-o" in arguments else (*arguments, "-o", "out")
    result = rerank("fuse", *given, code=2)
    assert text in result.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_runs_are_tested_against_the_first_one(rerank, tmp_path):
    folder = Path(__file__).resolve().parents[3] / "data" / "runs-tiny"
    found = rerank(
        *("fuse", folder / "bm25.run", folder / "dense.json", "--qrels", folder / "qrels.tsv"),
        *("--out", tmp_path / "fused.run", "-m", "AP", "--as", "json"),
    )
    systems = {one["name"]: one["metrics"]["AP"] for one in json.loads(found.out)["systems"]}
    first, *others = systems.values()
    assert first["p_bootstrap"] is None  # no copy of itself is counted by Holm's correction
    assert all(0 <= one["p_bootstrap"] <= 1 for one in others)
