"""Fusion of scores: rrf, combsum, combmnz."""

import numpy as np
import pytest
from reference import fusion as slow

import rerank
from rerank.core.errors import DataError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.models.base import load_model
from rerank.models.fusion import ReciprocalRank

NAN = np.nan


def lists_of(X, group, names=None):
    return CandidateLists.from_arrays(X, group=group, feature_names=names, source="runs")


def by_list(function, X, group, *more):
    parts = np.split(X, np.cumsum(group)[:-1])
    return np.concatenate([function([list(map(float, row)) for row in part], *more) for part in parts])


def some(seed, missing=True):
    """Scores with ties, columns that are missing or constant in a list, and items that none retrieved."""
    rng = np.random.default_rng(seed)
    group = rng.integers(1, 9, rng.integers(1, 6))
    X = rng.integers(-3, 4, (group.sum(), int(rng.integers(1, 5)))) / 2
    if missing:
        X[rng.random(X.shape) < 0.3] = NAN
        X[: group[0], 0] = rng.choice([NAN, 1.5])
    return X, group


def trained(learner, lists, **more):
    return rerank.train(lists, learner, **more)


@pytest.mark.parametrize("seed", range(30))
def test_scores_are_those_of_the_definitions(seed):
    X, group = some(seed)
    lists = lists_of(X, group)
    k = float(seed % 3 * 30)
    np.testing.assert_allclose(
        trained("rrf", lists, k=k).score(lists), by_list(slow.rrf, X, group, k), rtol=1e-13
    )
    scaled = np.concatenate(
        [slow.minmax([list(row) for row in part]) for part in np.split(X, np.cumsum(group)[:-1])]
    )
    for name, twin in (("combsum", slow.combsum), ("combmnz", slow.combmnz)):
        assert trained(name, lists).scaling_name == "list-minmax"
        for values, scaling in ((scaled, None), (X, "none")):
            found = trained(name, lists, scaling=scaling).score(lists)
            np.testing.assert_allclose(found, by_list(twin, values, group), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    "scaling", ["list-minmax", "list-zscore", "list-rank", "minmax", "zscore", "rank", "none"]
)
@pytest.mark.parametrize("learner", ["combsum", "combmnz"])
def test_every_scaling_is_applied_before_the_sum(learner, scaling):
    X, group = some(3)
    lists = lists_of(X, group)
    model = trained(learner, lists, scaling=scaling)
    values = X if model.scaling is None else model.scaling.apply(lists).features.to_dense()
    assert (np.isnan(values) == np.isnan(X)).all()
    expected = by_list(getattr(slow, learner), values, group)
    np.testing.assert_allclose(model.score(lists), expected, rtol=1e-12, atol=1e-12)


def test_a_constant_system_changes_no_order_and_an_absent_one_nothing():
    X = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    both, one = lists_of(X, [3]), lists_of(X[:, :1], [3])
    for learner in ("rrf", "combsum", "combmnz"):
        a, b = trained(learner, both).score(both), trained(learner, one).score(one)
        assert (np.argsort(-a) == np.argsort(-b)).all()
        with pytest.warns(DataNote, match="1 of 2 features of the model is absent .*taken as missing"):
            fewer = trained(learner, lists_of(X, [3], ["a", "b"])).score(lists_of(X[:, :1], [3], ["a"]))
        np.testing.assert_array_equal(fewer, b)


@pytest.mark.parametrize("learner", ["combsum", "combmnz"])
def test_an_overflow_names_the_feature(learner):
    lists = lists_of(np.array([[1e308, 1.7e308, NAN], [0.0, 0.0, 1.0]]), [2])
    model = trained(learner, lists, scaling="none")
    with pytest.raises(DataError, match=r"list '1', item 1 is inf: its feature '2' is 1.7e\+308"):
        model.score(lists)


@pytest.mark.parametrize("k", [-1.0, np.nan, np.inf])
def test_a_damaged_k_is_refused(tmp_path, k):
    model = ReciprocalRank(["a"], np.ones(1), 60.0)
    model.k = k
    model.save(str(tmp_path / "m"))
    with pytest.raises(FormatError, match="a damaged model"):
        load_model(str(tmp_path / "m"))


def test_runs_that_are_merged(tmp_path):
    for tag, ranking in (("a", "xyz"), ("b", "zw")):
        rows = (f"1 Q0 {d} {r} {10 - r} {tag}\n" for r, d in enumerate(ranking, 1))
        (tmp_path / f"{tag}.run").write_text("".join(rows))
    with pytest.warns(DataNote, match="missing"):
        lists = rerank.load(tmp_path / "a.run", merge=tmp_path / "b.run", missing="nan")
    scores = dict(zip(lists.item_ids, trained("rrf", lists).score(lists), strict=True))
    assert scores == pytest.approx({"x": 1 / 61, "y": 1 / 62, "z": 1 / 63 + 1 / 61, "w": 1 / 62})
