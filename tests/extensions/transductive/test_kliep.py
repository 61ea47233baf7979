"""KLIEP against its definition, and on samples without a sensible ratio of densities."""

from itertools import pairwise

import numpy as np
import pytest
from make import LAYOUTS, features
from reference import kliep as slow

from rerank import CandidateLists, ConfigError, DataError
from rerank.data.pairs import PairRelation, make_pairs
from rerank.extensions.transductive.space import Points
from rerank.extensions.transductive.weighting.kliep import DistanceTable, fit_ratio, typical_distance
from rerank.extensions.transductive.weighting.lists import importance_weights, weights_from_distances
from rerank.extensions.transductive.weighting.pairs import ListDifferences, PairGaussians, TrainingPairs
from rerank.models.training import statistics_of

LENGTHS = (5, 1, 9, 3, 2)


def some_lists(layout="dense", seed=0, lengths=LENGTHS, width=4, scale=1.0):
    """Lists with ties, an item alone, unjudged and equal items; and their features."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((sum(lengths), width)), 1)
    X[rng.random(X.shape) < 0.3] = 0.0
    if layout == "indicators":
        X = (X != 0).astype(float)
    if len(X) > 3:
        X[3] = X[2]
    X = X.astype(np.float32).astype(float) * scale
    labels = rng.integers(0, 3, len(X)).astype(float)
    labels[rng.random(len(X)) < 0.1] = np.nan
    return CandidateLists.from_arrays(features(layout, X), labels, group=lengths), X


def some_gaussians(layout, width=4, scale=1.0, both=False):
    """Gaussians of training pairs around differences of a list, and the same differences, stored.

    With both directions the opposite of each training difference is a row too, after all others.
    """
    lists, X = some_lists(layout, width=width, scale=scale)
    test, Z = some_lists(layout, seed=1, lengths=(6,), width=width, scale=scale)
    pairs = make_pairs(lists, PairRelation("all"))
    points, others = Points(lists), Points(test)
    training = TrainingPairs.of(pairs, points)
    centres = ListDifferences.of([others])
    products = centres.of_columns(points.products(others)[pairs.items])
    differences = slow.pair_differences(X, lists.labels, LENGTHS)
    gaussians = PairGaussians(training, products, centres.norms, both)
    if both:
        differences += [-x for x in differences]
    return gaussians, differences, [Z[i] - Z[j] for i, j in zip(centres.mine, centres.others, strict=True)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [0.01, 0.05, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("both", [False, True])
def test_gaussians_of_pairs_are_those_of_stored_differences(layout, width, both):
    gaussians, differences, centres = some_gaussians(layout, both=both)
    means = gaussians.log_means(width)
    np.testing.assert_allclose(means, slow.log_means(differences, centres, width), rtol=1e-9, atol=1e-9)
    factors = np.random.default_rng(0).standard_normal(len(centres)) - means
    factors[::3] = -np.inf
    table = np.array([[slow.log_gaussian(x, c, width) for c in centres] for x in differences])
    expected = np.exp(table + factors).sum(axis=1)
    of_pairs = expected.reshape(2, -1).mean(axis=0) if both else expected
    np.testing.assert_allclose(gaussians.weights(width, factors), of_pairs, rtol=1e-8, atol=1e-12)
    squared = table * (-2.0 * width * width)
    np.testing.assert_allclose(DistanceTable(squared).log_means(width), means, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        DistanceTable(squared).weights(width, factors), expected, rtol=1e-8, atol=1e-12
    )


def test_features_of_any_size_neither_overflow_nor_vanish():
    gaussians, differences, centres = some_gaussians("dense")
    narrow = slow.log_means(differences, centres, 0.01)
    assert min(narrow) < -800.0  # whose exponential is 0
    for scale in (1e-120, 1e6, 1e120):
        scaled, _, _ = some_gaussians("dense", scale=scale)
        for width in (0.01, 1.0):
            np.testing.assert_allclose(
                scaled.log_means(width * scale), gaussians.log_means(width), rtol=1e-6, atol=1e-6
            )


def test_ratio_and_width_are_those_of_the_definition():
    gaussians, differences, centres = some_gaussians("dense")
    squared = np.array([[np.sum((t - c) ** 2) for c in centres] for t in centres])
    widths = np.array([0.4, 3.0, 1.0])
    found = fit_ratio(gaussians, squared, widths, 3, np.random.default_rng(5))
    order = np.random.default_rng(5).permutation(len(centres))
    bounds = np.linspace(0, len(centres), 4).astype(int)
    parts = [order[a:b].tolist() for a, b in pairwise(bounds)]
    expected = [slow.held_out(differences, centres, centres, w, parts) for w in (3.0, 1.0, 0.4)]
    assert found.widths.tolist() == [3.0, 1.0, 0.4]
    np.testing.assert_allclose(
        found.held_out, expected, atol=2e-2
    )  # widths are chosen with a loose tolerance
    assert found.width == found.widths[int(np.argmax(expected))]
    proportions, means = slow.fit(differences, centres, centres, found.width)
    ratios = [slow.log_ratio(t, centres, found.width, proportions, means) for t in centres]
    assert found.log_likelihood == pytest.approx(np.mean(ratios), abs=1e-7)
    assert found.best_held_out == pytest.approx(max(expected), abs=2e-2)
    expected = [np.exp(slow.log_ratio(x, centres, found.width, proportions, means)) for x in differences]
    weights = gaussians.weights(found.width, found.log_factors)
    np.testing.assert_allclose(weights, expected, atol=2e-3)
    assert weights.mean() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_differences_of_a_list(layout):
    lists, X = some_lists(layout, lengths=(7,))
    found = ListDifferences.of([Points(lists)])
    assert len(found) == 42
    stored = np.array([X[i] - X[j] for i, j in zip(found.mine, found.others, strict=True)])
    np.testing.assert_allclose(found.norms, (stored**2).sum(axis=1), atol=1e-12)
    some = found.drawn(10, np.random.default_rng(0))
    assert len(some) == 10 == len(set(zip(some.mine.tolist(), some.others.tolist(), strict=True)))
    centres = np.array([X[i] - X[j] for i, j in zip(some.mine, some.others, strict=True)])
    expected = ((stored[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.squared_distances(some, 4), expected, atol=1e-12)
    both = ListDifferences.of([Points(lists), Points(lists)]).squared_distances(some, 4)[:0]
    assert both.shape == (0, 10)


def test_pairs_by_labels_and_spaces_side_by_side():
    lists, X = some_lists(lengths=(7,))
    other, Y = some_lists(seed=3, lengths=(7,), width=2)
    found = ListDifferences.of([Points(lists), Points(other)], lists.labels, both=False)
    assert {(i, j) for i, j in zip(found.mine, found.others, strict=True)} == {
        (i, j) for i in range(7) for j in range(7) if lists.labels[i] > lists.labels[j]
    }
    both = ListDifferences.of([Points(lists), Points(other)], lists.labels)
    assert {(i, j) for i, j in zip(both.mine, both.others, strict=True)} == {
        pair for i, j in zip(found.mine, found.others, strict=True) for pair in ((i, j), (j, i))
    }
    whole = np.hstack([X, Y])
    differences = whole[found.mine] - whole[found.others]
    np.testing.assert_allclose(found.norms, (differences**2).sum(axis=1), atol=1e-12)
    pairs = make_pairs(lists, PairRelation("all"))
    together = TrainingPairs.of(pairs, Points(lists)) + TrainingPairs.of(pairs, Points(other))
    stored = slow.pair_differences(whole, lists.labels, (7,))
    np.testing.assert_allclose(together.squared, [d @ d for d in stored], atol=1e-12)


@pytest.mark.parametrize(
    ("training", "test"),
    [
        ([[0.0], [1.0]], [[500.0], [501.0]]),  # no overlap: the nearest sample has all the weight
        ([[0.0]], [[0.0], [1.0]]),
        ([[2.0]] * 5, [[0.0], [1.0]]),
        ([[1e150], [-1e150]], [[1e150], [0.0], [1.0]]),
        ([[0.0], [1.0]], [[1.0], [1.0], [1.0], [1.0 + 1e-12]]),
        (np.eye(3), np.eye(3)),
    ],
)
def test_weights_are_numbers_of_mean_1_whatever_the_samples(training, test):
    weights = importance_weights(training, test).weights
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    assert weights.mean() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: importance_weights([[0.0]], [[1.0]] * 3), DataError, "every test sample is at every centre"),
        (lambda: importance_weights([[0.0]], [[1.0, 2.0]]), DataError, "vectors of 1 and 2 numbers"),
        (
            lambda: importance_weights([[np.nan]], [[1.0]]),
            DataError,
            "training samples with values that are not",
        ),
        (lambda: importance_weights([0.0], [[1.0]]), DataError, r"training samples of shape \(1,\)"),
        (lambda: importance_weights([[0.0]], [[1.0], [2.0]], centres=0), ConfigError, "0 centres"),
        (lambda: weights_from_distances([[1.0]], [[1.0, 2.0]]), DataError, "distances to 1 and 2 centres"),
        (
            lambda: weights_from_distances([[-1.0]], [[1.0]]),
            DataError,
            "training distances that are negative",
        ),
        (lambda: weights_from_distances([[1.0]], [[1.0]]), DataError, "one test sample"),
        (lambda: weights_from_distances([[1.0]], [[1.0], [0.0]], widths=[]), ConfigError, "widths"),
        (lambda: weights_from_distances([[1.0]], [[1.0], [0.0]], widths=[0.0]), ConfigError, "widths"),
        (lambda: weights_from_distances([[1.0]], [[1.0], [0.0]], folds=1), ConfigError, "1 folds"),
    ],
)
def test_wrong_use_is_one_line(call, error, text):
    with pytest.raises(error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("width", [1e-300, 1e-160, 1e-30, 1e-8])
def test_widths_at_which_gaussians_are_lost_in_rounding_are_refused(width):
    distances = np.random.default_rng(0).uniform(0.1, 2.0, (20, 5))
    with pytest.raises(DataError, match=f"found the width {width:g}, at which .*; expected larger widths"):
        weights_from_distances(distances, distances[:8], widths=[width])
    small = weights_from_distances(distances, distances[:8], widths=[1e-3]).weights
    assert small.mean() == pytest.approx(1, abs=1e-6)


def test_one_test_sample_needs_one_width():
    found = weights_from_distances([[1.0, 4.0], [9.0, 1.0]], [[1.0, 4.0]], widths=[1.0])
    assert np.isnan(found.ratio.held_out).all()
    assert found.weights.mean() == pytest.approx(1.0)


def test_typical_distance_ignores_zeros():
    assert typical_distance(np.array([[0.0, 4.0], [9.0, 0.0]])) == pytest.approx(np.sqrt(6.5))
    assert typical_distance(np.zeros((2, 2))) == 0.0


def test_statistics():
    weights = np.array([0.0, 0.0, 1.0, 3.0])
    found = statistics_of(weights)
    assert found == {
        "q25": 0.0,
        "median": 0.5,
        "q75": 1.5,
        "sd": pytest.approx(np.std(weights)),
        "entropy": pytest.approx(0.5 * np.log(2) + 0.5 * np.log(4)),
        "effective": pytest.approx(16 / 40),
        "zeros": 0.5,
    }
    assert statistics_of(np.ones(3)) == {
        "q25": 1.0, "median": 1.0, "q75": 1.0, "sd": 0.0, "entropy": 0.0, "effective": 1.0, "zeros": 0.0
    }  # fmt: skip
    uniform = statistics_of(np.linspace(0.0, 2.0, 1200))
    assert uniform["entropy"] == pytest.approx(np.log(12), abs=1e-2)
