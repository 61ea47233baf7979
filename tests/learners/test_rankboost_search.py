"""Searches that leave features out find what searches of all features find."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import features

from rerank.learners.rankboost.rankers import Grouping, weak_rankers

GROUPINGS = [Grouping(), Grouping(number=2), Grouping(weak="raw"), Grouping(number=3, weak="both")]


@given(
    st.integers(0, 10**6),
    st.sampled_from(GROUPINGS),
    st.sampled_from(["dense", "sparse"]),
    st.sampled_from([0.0, 0.3]),
    st.booleans(),
)
def test_a_search_after_others_finds_the_same(seed, grouping, layout, missing, both):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    X = np.round(rng.normal(0, 1.5, (n, 12))) * (rng.random((n, 12)) < 0.6)
    X[rng.random(X.shape) < missing] = np.nan
    rankers = weak_rankers(features(layout, X), n, grouping)
    potential = rng.normal(0, 1, n)
    for size in (1.0, 0.5, 0.1, 0.01, 0.0, 1.0, 0.1):
        potential = potential + size * rng.normal(0, 1, n)
        potential -= potential.mean()
        potential /= np.abs(potential).sum()
        fresh = weak_rankers(features(layout, X), n, grouping)
        assert rankers.best(potential, both) == fresh.best(potential, both)


def test_features_that_cannot_win_are_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1, (400, 50))
    rankers = weak_rankers(features("dense", X), 400, Grouping())
    potential = np.sign(X[:, 7] - np.median(X[:, 7])) / 400
    for _ in range(100):
        potential += rng.normal(0, 1e-6, 400)
        potential -= potential.mean()
        assert rankers.best(potential, True).column == 7
    assert rankers._search.n_searched == 50 + 99


@pytest.mark.parametrize("weak", ["stumps", "raw"])
def test_no_weak_ranker_is_none(weak):
    rankers = weak_rankers(features("dense", np.ones((4, 3))), 4, Grouping(weak=weak))
    assert rankers.best(np.array([0.5, -0.5, 0.5, -0.5]), True) is None


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("number", [None, 7, 255, 300])
def test_the_best_of_many_items_is_that_of_all_thresholds(layout, number):
    rng = np.random.default_rng(number)
    n = 9000
    X = rng.normal(0, 1, (n, 4))
    X[:, 1] = np.round(X[:, 1])  # few groups
    X[rng.random(n) < 0.5, 2] = 0.0  # a large group in the middle
    X[rng.random(n) < 0.1, 3] = np.nan
    rankers = weak_rankers(features(layout, X), n, Grouping(number=number))
    for c in range(4):
        potential = rng.normal(0, 1, n) + 0.3 * (X[:, c] > 0.7) - 0.2 * np.isnan(X[:, c])
        potential -= potential.mean()
        potential /= np.abs(potential).sum()
        for both in (False, True):
            choice = rankers.best(potential, both)
            gains = []
            for j in range(4):
                cuts = rankers.at[rankers.groups[j] : rankers.groups[j + 1]]
                lacking = potential[np.isnan(X[:, j])].sum()
                order = np.argsort(-X[:, j])
                sums = np.append(0.0, np.cumsum(potential[order]))
                known = np.sort(X[~np.isnan(X[:, j]), j])
                passed = sums[len(known) - np.searchsorted(known, cuts[~np.isnan(cuts)])]
                gains += [*passed, *(passed + lacking)]
            most = max(*gains, -min(gains)) if both else max(gains)
            h = rankers.values(choice)
            at = rankers.at[rankers.groups[choice.column] + choice.group]
            x = X[:, choice.column]
            np.testing.assert_array_equal(h, np.where(np.isnan(x), choice.missing, x >= at))
            assert abs(abs(choice.gain) - most) < 1e-12
            assert abs(choice.gain - h @ potential) < 1e-12
