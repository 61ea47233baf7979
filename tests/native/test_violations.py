"""Both engines of Algorithm 2 against a loop over pairs, on random and degenerate lists."""

import numpy as np
import pytest

from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, PairRelation, make_pairs
from rerank.native.learners import _violations

RELATIONS = [
    PairRelation("best-rest"),
    PairRelation("split"),
    PairRelation("split", 3, 7),
    PairRelation("ordinal"),
    PairRelation("ordinal", ordinal_factor=2, ordinal_gap=3),
    PairRelation("neighbours"),
    PairRelation("all", label_gap=2),
]


def updates(pairs, scores, tau, *, fast):
    k = len(pairs.items)
    u = np.full(k, np.nan)
    even = not pairs.h.any() and pairs.c == 1
    made = _violations.ListPairs(
        pairs.offsets, pairs.items, pairs.start, pairs.stop, pairs.h, pairs.c, tau, even, fast
    )
    return made.updates(scores, u), u


def by_pairs(pairs, scores, tau):
    """The definition: u_j += g, u_l -= g for every violated pair."""
    u = np.zeros(len(scores))
    z = scores - tau * pairs.h
    n = 0
    for j in range(len(scores)):
        for l in range(pairs.start[j], pairs.stop[j]):
            if z[j] <= z[l] + pairs.c * tau:
                g = pairs.h[j] - pairs.h[l] + pairs.c
                u[j] += g
                u[l] -= g
                n += 1
    return n, u


def one_list(labels):
    return CandidateLists.from_arrays(np.zeros((len(labels), 1)), labels)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize(
    "margin", [Margin(), Margin("uneven"), Margin("uneven", 2.0), Margin("label")], ids=str
)
def test_engines_agree_with_the_pair_loop(relation, margin):
    rng = np.random.default_rng(3)
    for trial in range(60):
        k = int(rng.integers(2, 70 if trial % 3 else 400))
        levels = [2, 5, 400][trial % 3 if trial % 2 else 2]
        pairs = make_pairs(one_list(rng.integers(0, levels, k).astype(float)), relation, margin)
        if pairs.n_lists == 0:
            continue
        scores = rng.integers(-6, 6, k).astype(float) if trial % 2 else rng.standard_normal(k)
        tau = [0.0, 0.5, 3.0, 1e6][trial % 4]
        n, u = by_pairs(pairs, scores, tau)
        for fast in (False, True):
            found, v = updates(pairs, scores, tau, fast=fast)
            assert found == n
            np.testing.assert_allclose(v, u, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(u).max()))


@pytest.mark.parametrize("margin", [Margin(), Margin("label")], ids=str)
def test_engines_are_identical_if_the_margins_are_whole_numbers(margin):
    rng = np.random.default_rng(4)
    for k in (2, 30, 500):
        pairs = make_pairs(one_list(rng.integers(0, 9, k).astype(float)), PairRelation(), margin)
        scores = rng.integers(-50, 50, k).astype(float)
        for tau in (0.0, 1.0):
            slow, fast = (updates(pairs, scores, tau, fast=f) for f in (False, True))
            assert slow[0] == fast[0]
            np.testing.assert_array_equal(slow[1], fast[1])


@pytest.mark.parametrize(
    "scores",
    [
        np.zeros(300),
        np.r_[np.zeros(299), 1e300],
        np.r_[-1e308, np.linspace(0, 1, 298), 1e308],
        np.repeat([1.0, 1.0 + 1e-15], 150),
        np.linspace(0, 5e-324, 300),
        np.exp(np.linspace(-700, 700, 300))[::-1].copy(),
        np.where(np.arange(300) % 2, 0.0, -0.0),
    ],
    ids=["all tied", "one far off", "huge range", "one bit apart", "subnormal", "skewed", "signed zeros"],
)
def test_scores_that_are_hard_to_sort(scores):
    pairs = make_pairs(one_list(np.arange(300.0)), PairRelation())
    n, u = by_pairs(pairs, scores, 0.0)
    for fast in (False, True):
        found, v = updates(pairs, scores, 0.0, fast=fast)
        assert found == n
        np.testing.assert_array_equal(v, u)


def test_a_list_of_100000_items_is_counted_right():
    k = 100_000
    pairs = make_pairs(one_list(np.arange(k, 0, -1.0)), PairRelation())
    n, u = updates(pairs, np.arange(float(k)), 0.0, fast=True)
    assert n == k * (k - 1) // 2
    np.testing.assert_array_equal(u, np.arange(k - 1, -k, -2.0))
    n, u = updates(pairs, -np.arange(float(k)), 0.0, fast=True)
    assert n == 0
    assert not u.any()
