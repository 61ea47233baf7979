"""Fits that share what they can are those of lists with all columns, to the bit."""

from functools import partial

import numpy as np
import pytest
from make import LAYOUTS, lists

from rerank.core.errors import DataError, FitError
from rerank.extensions.transductive.space import Basis
from rerank.learners.base import LEARNERS
from rerank.learners.rankboost import RankBoost

SETTINGS = [
    {},
    {"step": "exact", "directions": "up"},
    {"thresholds": 3},
    {"thresholds": 5, "spacing": "width"},
    {"weak": "raw"},
    {"weak": "both", "thresholds": 2, "pairs": "neighbours"},
    {"label_gap": 1.0, "list_balance": True, "engine": "reference"},
]


random_lists = partial(lists, sizes=(1, 6, 5, 9, 4), d=5, grades=(0, 3))


def further(lists, seed=0, missing=0.0):
    """Columns for the items of lists: numbers, few values, a constant, and zeros but for one."""
    rng = np.random.default_rng(seed)
    n = lists.n_items
    out = np.column_stack([rng.normal(0, 1, n), rng.integers(0, 3, n), np.full(n, 2.5), np.zeros(n)])
    out[n // 2, 3] = -1.0
    out[rng.random(out.shape) < missing] = np.nan
    return out, ["new 1", "new 2", "new 3", "new 4"]


def same_models(a, b):
    assert a.feature_names == b.feature_names
    assert a.arrays().keys() == b.arrays().keys()
    for name, array in a.arrays().items():
        np.testing.assert_array_equal(array, b.arrays()[name])
    assert a.training.notes == b.training.notes


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("more", SETTINGS)
def test_rankboost_with_further_columns_is_that_of_lists_with_them(layout, more):
    for seed, missing in ((0, 0.0), (1, 0.2)):
        lists = random_lists(seed=seed, layout=layout, missing=0.0 if layout == "indicators" else missing)
        learner = RankBoost(rounds=25, **more)
        basis = Basis(learner, lists)
        same_models(basis.fit(), learner.fit(lists))
        for gaps in (0.0, 0.3):
            columns, names = further(lists, seed, gaps)
            whole = lists.with_added(dict(zip(names, columns.T, strict=True)))
            same_models(basis.fit(columns, names), learner.fit(whole))
        same_models(basis.fit(), learner.fit(lists))


@pytest.mark.parametrize("name", ["ranksvm", "perceptron", "ridge"])
def test_other_learners_see_lists_with_further_columns(name):
    lists = random_lists(seed=2)
    learner = LEARNERS.get(name)()
    columns, names = further(lists)
    whole = lists.with_added(dict(zip(names, columns.T, strict=True)))
    basis = Basis(learner, lists)
    np.testing.assert_array_equal(basis.fit(columns, names).score(whole), learner.fit(whole).score(whole))
    np.testing.assert_array_equal(basis.fit().score(lists), learner.fit(lists).score(lists))
    assert basis.pairs.n_pairs == Basis(RankBoost(), lists).pairs.n_pairs
    with pytest.raises(FitError, match=f"learner {name} accepts no pair weights"):
        basis.fit(pair_weights=np.ones(basis.pairs.n_pairs))
    with pytest.raises(FitError, match=f"learner {name} accepts no costs of pairs; rankboost does"):
        basis.fit(costs=np.ones((2, basis.pairs.n_pairs)))


def test_pairs_are_weighted_whatever_the_engine():
    lists = random_lists(seed=4)
    columns, names = further(lists)
    whole = lists.with_added(dict(zip(names, columns.T, strict=True)))
    weights = np.random.default_rng(0).random(Basis(RankBoost(), lists).pairs.n_pairs)
    model = RankBoost(engine="reference", rounds=20).fit(whole, pair_weights=weights)
    for engine in ("fast", "reference"):
        basis = Basis(RankBoost(engine=engine, rounds=20), lists)
        same_models(basis.fit(columns, names, pair_weights=weights), model)


def test_a_copy_of_a_feature_is_never_chosen():
    lists = random_lists(seed=3)
    copies = lists.features.to_dense() * 2.0
    basis = Basis(RankBoost(rounds=40), lists)
    model = basis.fit(copies, [f"copy {j}" for j in range(copies.shape[1])])
    assert model.feature.max() < lists.n_features
    np.testing.assert_array_equal(model.step, basis.fit().step)


@pytest.mark.parametrize("learner", [RankBoost(rounds=3), LEARNERS.get("perceptron")(epochs=1)])
def test_columns_that_do_not_fit_are_errors(learner):
    lists = random_lists()
    basis = Basis(learner, lists)
    columns, names = further(lists)
    for wrong, its_names, message in (
        (columns, [*names[:3], "2"], "some lists: feature '2' exists already"),
        (columns, ["a", "b", "a", "c"], "some lists: feature 'a' exists already"),
        (columns, names[:3], r"further columns have shape \(25, 4\), expected \(25, 3\)"),
        (columns, (), r"further columns have shape \(25, 4\), expected \(25, 0\)"),
        (columns[1:], names, r"further columns have shape \(24, 4\), expected \(25, 4\)"),
        (None, names, r"further columns have shape \(25, 0\), expected \(25, 4\)"),
        (np.where(columns == 2.5, np.inf, columns), names, "value is inf"),
    ):
        with pytest.raises(DataError, match=message):
            basis.fit(wrong, its_names)


def test_a_learner_that_needs_a_dev_set_is_refused_at_once():
    with pytest.raises(FitError, match="keep=best needs a development set"):
        Basis(RankBoost(keep="best"), random_lists())
    lists = random_lists()
    with pytest.raises(FitError, match="no list has a pair"):
        Basis(RankBoost(), lists.replace_labels(np.ones(lists.n_items)))


def test_accuracy_is_the_share_of_pairs_in_the_right_order():
    for seed in range(5):
        lists = random_lists(seed=seed)
        scores = np.random.default_rng(seed).integers(0, 4, lists.n_items).astype(float)
        won = pairs = 0.0
        for first, last in zip(lists.offsets, lists.offsets[1:], strict=False):
            for a in range(first, last):
                for b in range(first, last):
                    if lists.labels[a] > lists.labels[b]:
                        pairs += 1
                        won += (np.sign(scores[a] - scores[b]) + 1) / 2
        assert Basis(RankBoost(), lists).accuracy(scores) == pytest.approx(won / pairs)
