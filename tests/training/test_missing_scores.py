"""Scores that runs lack: scaled without them, filled after scaling, the same in training and prediction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rerank
import rerank as reranking
from rerank.data.lists import CandidateLists
from rerank.data.missing import Imputation
from rerank.data.scaling import SCALINGS, fit_scaling
from rerank.models.base import load_model

TINY = "1 Q0 a 1 -1.5 x\n1 Q0 b 2 -2.5 x\n1 Q0 c 3 -9 x\n2 Q0 d 1 -3 x\n2 Q0 e 2 -4 x\n"
OTHER = "1 Q0 b 1 90 y\n1 Q0 f 2 89 y\n1 Q0 c 3 80 y\n2 Q0 e 1 70 y\n2 Q0 g 2 60 y\n"
QRELS = "1 0 b 1\n1 0 c 0\n1 0 f 0\n2 0 e 1\n2 0 d 0\n"


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Two runs of overlapping documents, one of negative log-likelihoods, and judgements."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.run": TINY, "b.run": OTHER, "q.txt": QRELS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def drawn(seed, n_lists=12):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n_lists)
    X = rng.normal(size=(sizes.sum(), 3)) * [1, 100, 0.01] + [0.8, -500, 3]
    X[rng.random(X.shape) < 0.3] = np.nan
    y = np.round(np.nan_to_num(X[:, 0]) + 0.3 * rng.normal(size=len(X)), 1)
    return CandidateLists.from_arrays(X, y, group=sizes, source=f"lists {seed}")


@pytest.mark.filterwarnings("ignore:.*no scaling is applied")
@pytest.mark.filterwarnings("ignore:.*0 is above some scaled values")
@pytest.mark.parametrize("policy", ["list-min", "zero"])
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("seed", range(3))
def test_the_scaling_sees_what_is_there_and_the_rest_is_least_or_0(policy, scaling, seed):
    lists, other = drawn(seed), drawn(seed + 10)
    model = rerank.train(lists, "ridge", missing=policy, scaling=scaling)
    fitted = fit_scaling(scaling, lists)
    for given_lists in (lists, other):
        scaled, made = fitted.apply(given_lists), model.prepared(given_lists)
        for start, stop in zip(given_lists.offsets[:-1], given_lists.offsets[1:], strict=True):
            for j in range(3):
                before = scaled.features.to_dense()[start:stop, j]
                after = made.features.to_dense()[start:stop, j]
                gone = np.isnan(before)
                np.testing.assert_array_equal(after[~gone], before[~gone])
                assert (after[gone] == (0.0 if policy == "zero" or gone.all() else np.nanmin(before))).all()


@given(st.integers(0, 10**6), st.sampled_from(["list-minmax", "list-zscore", "list-rank"]))
def test_no_shift_or_scale_of_a_run_changes_a_ranking(seed, scaling):
    """A run of log-likelihoods is as good as one of probabilities; zero before scaling was not."""
    lists = drawn(seed % 50, 8)
    shifted = lists.with_features(
        type(lists.features)(lists.features.to_dense() * [2.0, 0.5, 8.0] + [1024.0, -2048.0, -4.0]),
        lists.names(),
    )
    given_settings = {"missing": "list-min", "scaling": scaling, "tolerance": 1e-10}
    one, two = (rerank.train(each, "ridge", **given_settings) for each in (lists, shifted))
    np.testing.assert_allclose(one.score(lists), two.score(shifted), rtol=1e-5, atol=1e-6)


def test_models_keep_the_order_of_their_steps(tmp_path):
    lists, other = drawn(1), drawn(2)
    for policy in ("list-min", "list-mean"):
        model = rerank.train(lists, "perceptron", missing=policy, scaling="list-minmax", epochs=3)
        model.save(str(tmp_path / policy))
        again = load_model(str(tmp_path / policy))
        assert [type(one) for one in again.chain.fitted] == [type(one) for one in model.chain.fitted]
        assert again.score(other).tobytes() == model.score(other).tobytes()
    assert (tmp_path / "list-min").read_bytes() != (tmp_path / "list-mean").read_bytes()


def test_merged_runs_are_filled_by_list_min_unless_the_learner_takes_missing_values(runs, rerank):
    data = ("--data", "a.run", "--merge", "b.run", "--qrels", "q.txt")
    scaling = ("--scaling", "list-minmax")
    rerank("train", *data, "--learner", "ranksvm", *scaling, "--out", "model")
    assert load_model("model").missing_policy == "list-min"
    for learner in ("rrf", "combsum"):
        rerank("train", *data, "--learner", learner, "--out", learner)
        assert load_model(learner).missing_policy == "nan"
    rerank("train", *data, "--learner", "ranksvm", *scaling, "--missing", "list-min", "--out", "named")
    assert (runs / "named").read_bytes() == (runs / "model").read_bytes()
    found = rerank("predict", "model", "a.run", "--merge", "b.run", "--as", "run").out
    lines = [line.split() for line in found.splitlines()]
    first = {query: document for query, _, document, rank, *_ in lines if rank == "1"}
    assert first == {"1": "b", "2": "e"}


def test_one_run_is_ranked_and_watched_with_a_model_of_several(runs, rerank):
    """What it lacks is a whole feature, which counts as 0 after scaling and is reported."""
    data = ("--data", "a.run", "--merge", "b.run", "--qrels", "q.txt", "--scaling", "list-minmax")
    dev = ("--dev", "a.run", "--metric", "AP")
    found = rerank("train", *data, *dev, "--learner", "ranksvm", "--out", "model")
    assert "'y'" in found.err
    lone = rerank("predict", "model", "a.run", "--as", "run")
    assert "1 of 2 features of the model is absent (y), taken as missing" in lone.err
    documents = [line.split()[2] for line in lone.out.splitlines()]
    assert documents == ["a", "b", "c", "d", "e"]


def test_cells_of_an_experiment_are_those_of_train(runs, rerank):
    (runs / "run.yaml").write_text(
        "data: {train: a.run, merge: b.run, qrels: q.txt}\nfolds: 2\nfold_dev: none\nmetrics: [RR]\n"
        "scaling: list-minmax\n"
        "learners:\n  ranksvm:\n  combsum:\n  mean: {name: ranksvm, data: {missing: mean}}\n"
    )
    rerank("run", "run.yaml", "--out", "out", "--models")
    models = [load_model(str(path)) for path in (runs / "out").rglob("model")]
    policies = sorted(str(model.missing_policy) for model in models)
    assert policies == ["list-min", "list-min", "mean", "mean", "nan", "nan"]


@pytest.mark.filterwarnings("ignore:.*taken as missing")
def test_zero_is_filled_after_scaling_from_files_tables_and_stores_alike(runs, rerank):
    """So that a run of negative scores has its absent documents below the others, not above."""
    data = ("--data", "a.run", "--merge", "b.run", "--qrels", "q.txt")
    settings = ("--learner", "ranksvm", "--scaling", "list-minmax", "--missing", "zero")
    found = rerank("train", *data, *settings, "--out", "model")
    assert "scores below 0" not in found.err
    model = load_model("model")
    lists = reranking.load("a.run", merge=("b.run",), qrels="q.txt", missing="nan")
    scaled = fit_scaling("list-minmax", lists).apply(lists).features.to_dense()
    by_hand = lists.input_order(np.nan_to_num(scaled) @ model.weights)
    np.testing.assert_allclose(model.score(lists), by_hand, rtol=1e-12)
    rerank("predict", "model", "a.run", "--merge", "b.run", "--out", "scores")
    np.testing.assert_allclose(np.loadtxt("scores"), by_hand, rtol=1e-5)
    for name in ("s.store", "s.csv"):
        rerank("convert", "a.run", "--merge", "b.run", "--qrels", "q.txt", "--missing", "nan", "--out", name)
        rerank("train", "--data", name, *settings, "--out", "other")
        np.testing.assert_array_equal(load_model("other").weights, model.weights)
    found = rerank("train", *data, *settings[:3], "list-zscore", *settings[4:], "--out", "model")
    assert "missing=zero: 0 is above some scaled values of x, y; list-min never is" in found.err


def test_models_of_old_releases_fill_zero_before_scaling():
    fitted = Imputation.restore({"name": "zero", "n_features": 1, "n_items": 2}, {})
    assert (fitted.after, fitted.absent) == (False, 0.0)
    assert fitted.to_meta() == {"name": "zero", "n_features": 1, "n_items": 2}
