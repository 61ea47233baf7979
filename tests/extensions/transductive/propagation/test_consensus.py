"""Merged rankings beside plain loops and enumeration, their properties, and what is refused."""

import itertools

import numpy as np
import pytest
from reference import consensus as slow

from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.extensions.transductive.propagation.nearest_rankers import EXACT, RULES, merged


def rankings(rng, k, n, levels):
    """Scores (k, n) of so many levels (0: all different), of different scale."""
    drawn = rng.standard_normal((k, n)) if levels == 0 else rng.integers(0, levels, (k, n)).astype(float)
    return drawn * 10.0 ** rng.integers(-3, 4, (k, 1)) + rng.integers(-5, 6, (k, 1))


def weights_of(rng, k):
    """Multiples of 1/8, whose sums are exact, some of them 0."""
    drawn = rng.integers(0, 9, k) / 8
    return drawn if drawn.any() else np.ones(k)


def samples(n_samples, most_items, *, most_rankings=6):
    rng = np.random.default_rng(17)
    for _ in range(n_samples):
        k, n = rng.integers(1, most_rankings + 1), rng.integers(1, most_items + 1)
        yield rankings(rng, k, n, int(rng.choice([0, 0, 1, 2, 3, 5]))), weights_of(rng, k), rng


def circle(n, copies=1):
    """Rankings in which every item beats those up to half of the circle ahead: one strong part."""
    return np.stack([np.roll(np.arange(n, 0, -1.0), i) for i in range(n)] * copies)


def same_order(a, b):
    return np.array_equal(np.sign(np.subtract.outer(a, a)), np.sign(np.subtract.outer(b, b)))


def test_borda_and_mean():
    for scores, weights, _ in samples(200, 9):
        expected = [float(value) for value in slow.borda(scores.tolist(), weights.tolist())]
        np.testing.assert_allclose(merged(scores, "borda", weights).scores, expected, rtol=1e-14)
        found = merged(scores, "mean", weights)
        np.testing.assert_allclose(found.scores, slow.mean(scores.tolist(), weights.tolist()), atol=1e-11)
        assert found.exact


def test_least_disagreement_of_all_orders():
    for scores, weights, _ in samples(150, 6):
        found = merged(scores, "kemeny", weights)
        assert found.exact
        assert slow.distance(found.scores, scores, weights) == slow.least_distance(scores, weights)


@pytest.mark.parametrize("seed", range(8))
def test_least_disagreement_of_sets(seed):
    rng = np.random.default_rng(seed)
    scores = rankings(rng, 3 + seed, 11, 0 if seed % 2 else 6)
    found = merged(scores, "kemeny")
    assert found.exact
    ones = [1] * len(scores)
    assert slow.distance(found.scores, scores, ones) == slow.least_distance_by_sets(scores, ones)


def test_ties_of_the_result_can_be_broken_either_way():
    for scores, weights, rng in samples(150, 7):
        found = merged(scores, "kemeny", weights).scores
        least = slow.distance(found, scores, weights)
        for _ in range(3):
            broken = found + 0.25 * rng.permutation(len(found)) / len(found)
            assert slow.distance(broken, scores, weights) == least


@pytest.mark.parametrize("n", [EXACT, EXACT + 1])
def test_cycles_up_to_a_size_are_exact(n):
    found = merged(circle(n), "kemeny")
    assert found.exact == (n <= EXACT)
    assert found.scores.tolist() == list(range(n - 1, -1, -1))  # all tied by Borda: the order of the input


def test_best_order_of_the_largest_part():
    rng = np.random.default_rng(3)
    n = EXACT
    scores = np.vstack([circle(n), circle(n), rng.standard_normal((5, n))])
    found = merged(scores, "kemeny")
    assert found.exact
    best = slow.distance(found.scores, scores, np.ones(len(scores)))
    for a in range(n):  # no item fits better elsewhere
        for place in np.arange(n) - 0.5:
            moved = found.scores.copy()
            moved[a] = place
            assert slow.distance(moved, scores, np.ones(len(scores))) >= best


def test_long_lists_are_exact_in_small_parts():
    n = 60
    scores = np.tile(np.arange(n, 0, -1.0), (3, 1))
    for start in range(0, n, 3):  # a cycle of three in every three places
        scores[:, start : start + 3] = [np.roll([3.0, 2.0, 1.0], i) + n - start for i in range(3)]
    shuffled = np.random.default_rng(0).permutation(n)
    found = merged(scores[:, shuffled], "kemeny")
    assert found.exact
    assert set(found.scores[shuffled < 3]) == {n - 1, n - 2, n - 3}
    assert (
        slow.distance(found.scores, scores[:, shuffled], [1, 1, 1]) == 4 * n / 3
    )  # 1, 1 and 2 in each cycle


def test_two_rankings_are_always_merged_exactly():
    rng = np.random.default_rng(4)
    scores = rankings(rng, 2, 80, 0)
    found = merged(scores, "kemeny")
    agreed = (scores[:, :, None] > scores[:, None]).all(axis=0)
    assert found.exact
    assert (found.scores[:, None] > found.scores)[agreed].all()


def test_long_lists_without_parts_are_locally_best():
    rng = np.random.default_rng(5)
    scores = np.vstack([circle(40), rng.standard_normal((7, 40))])
    found = merged(scores, "kemeny")
    assert not found.exact
    order = np.argsort(-found.scores)
    for a, b in itertools.pairwise(order):
        assert np.sign(scores[:, a] - scores[:, b]).sum() >= 0
    points = merged(scores, "borda").scores
    ones = np.ones(len(scores))
    assert slow.distance(found.scores, scores, ones) <= slow.distance(points, scores, ones)


@pytest.mark.parametrize("rule", ["borda", "kemeny"])
def test_scores_count_by_their_order(rule):
    for scores, weights, _ in samples(30, 12):
        cubed = np.arctan(scores / np.abs(scores).max(axis=1, initial=1.0, keepdims=True))
        if same_order(cubed.ravel(), cubed.ravel()) and all(map(same_order, cubed, scores)):
            np.testing.assert_array_equal(
                merged(cubed, rule, weights).scores, merged(scores, rule, weights).scores
            )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_equal_items(rule, n):
    found = merged(np.full((3, n), 0.1), rule)
    assert len(set(found.scores.tolist())) == 1
    assert found.exact


@pytest.mark.parametrize("rule", RULES)
def test_weights(rule):
    scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert merged(scores, rule, np.array([3.0, 1.0, 1.0])).scores.argmax() == 0
    assert merged(scores, rule, np.array([1.0, 1.0, 1.0])).scores.argmax() == 2
    without = merged(scores, rule, np.array([1.0, 0.0, 0.0])).scores
    np.testing.assert_array_equal(without, merged(scores[:1], rule).scores)
    for scale in (0.25, 2.0**1022):
        scaled = merged(scores, rule, np.array([2.0, 1.0, 1.5]) * scale).scores
        np.testing.assert_array_equal(scaled, merged(scores, rule, np.array([2.0, 1.0, 1.5])).scores)


def test_majorities_within_rounding_are_ties():
    scores = np.array([[2.0, 1.0], [2.0, 1.0], [1.0, 2.0]])
    assert len(set(merged(scores, "kemeny", np.array([0.1, 0.2, 0.3])).scores)) == 1


def test_refusals(monkeypatch):
    one = np.ones((2, 3))
    with pytest.raises(ConfigError, match="unknown rule 'bord'; did you mean 'borda'"):
        merged(one, "bord")
    for bad in (np.ones(3), np.ones((0, 3)), np.ones((3, 0)), np.array([[np.nan, 1.0]]), one * np.inf):
        with pytest.raises(DataError, match="rankings to merge"):
            merged(bad, "borda")
    for bad in ([1.0], [-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(DataError, match="weights of rankings"):
            merged(one, "mean", np.array(bad))
    monkeypatch.setenv("RERANK_MEMORY", "1M")
    with pytest.raises(RerankError, match=r"margins between 1,500 items.*borda and mean need less"):
        merged(np.ones((2, 1500)), "kemeny")
