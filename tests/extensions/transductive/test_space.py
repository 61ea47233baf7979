"""Items as points, against loops over items and features."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

from rerank import CandidateLists
from rerank.extensions.transductive.space import Points

LAYOUTS = ("dense", "float32", "sparse", "mixed")


def in_layout(X, layout, **columns):
    """Lists of X in a layout; in mixed ones the last column is dense."""
    X = np.asarray(X, dtype=float)
    if layout == "dense":
        return CandidateLists.from_arrays(X, **columns)
    if layout == "float32":
        return CandidateLists.from_arrays(X.astype(np.float32), **columns)
    if layout == "sparse":
        return CandidateLists.from_arrays(csr_array(X), **columns)
    lists = CandidateLists.from_arrays(csr_array(X[:, :-1]), **columns)
    return lists.with_features(lists.features.with_columns(X[:, -1:]), None)


def filled(X, sizes):
    """X with the mean of its list in place of each missing value, 0 if all are missing."""
    out, first = np.array(X, dtype=float), 0
    for size in sizes:
        for j in range(out.shape[1]):
            some = out[first : first + size, j]
            known = [value for value in some if not np.isnan(value)]
            some[np.isnan(some)] = sum(known) / len(known) if known else 0.0
        first += size
    return out


def random_points(seed, sizes, d, missing):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(sum(sizes), d)), 2) * (rng.random((sum(sizes), d)) < 0.6)
    X = X.astype(np.float32).astype(float)  # so that every layout has the same numbers
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
        X[: sizes[0], 0] = np.nan
    return X


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(4))
def test_products_distances_and_norms_are_those_of_the_filled_values(seed, layout, missing):
    sizes, others, d = [1, 4, 3], [2, 3], 1 + 3 * seed
    X, Y = random_points(seed, sizes, d, missing), random_points(seed + 99, others, d, missing)
    if layout == "mixed" and d == 1:
        d, X, Y = 2, np.hstack([X, X]), np.hstack([Y, Y])
    points, test = Points(in_layout(X, layout, group=sizes)), Points(in_layout(Y, layout, group=others))
    X, Y = filled(X, sizes), filled(Y, others)
    assert (points.n, points.n_features) == (8, d)
    np.testing.assert_allclose(points.norms, [x @ x for x in X], atol=1e-14)
    np.testing.assert_allclose(points.products(test), [[x @ y for y in Y] for x in X], atol=1e-14)
    np.testing.assert_array_equal(points.products(test, slice(2, 5)).shape, (3, 5))
    np.testing.assert_allclose(points.products(test, slice(2, 5)), points.products(test)[2:5], atol=1e-15)
    distances = [[((x - y) ** 2).sum() for y in Y] for x in X]
    np.testing.assert_allclose(points.squared_distances(test), distances, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_equal_points_have_distance_0_and_all_others_do_not(layout):
    rng = np.random.default_rng(3)
    X = rng.random((40, 7)).astype(np.float32)
    points = Points(in_layout(np.vstack([X, X]), layout))
    distances = points.squared_distances(points)
    np.testing.assert_array_equal(distances == 0, np.tile(np.eye(40, dtype=bool), (2, 2)))
    assert (distances >= 0).all()


def test_no_copy_of_dense_float64_values_and_no_transposed_ones_in_a_pickle():
    lists = CandidateLists.from_arrays(np.ones((5, 2)))
    points = Points(lists)
    assert points._values is lists.features.values
    points.products(points)
    again = copy.copy(points)  # by __getstate__, as pickle does
    assert "_transposed" not in again.__dict__
    np.testing.assert_array_equal(again.products(again), points.products(points))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_values_that_overflow_are_not_finite_and_do_not_warn(layout):
    points = Points(in_layout([[1e300, 0.0], [1e300, 1.0]], layout))
    assert not np.isfinite(points.norms).any()
    assert not np.isfinite(points.products(points)).any()
    assert not np.isfinite(points.squared_distances(points)).any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_scores_and_products_with_directions_of_some_points(layout):
    X = random_points(8, [9], 4, False)
    points, directions = Points(in_layout(X, layout)), np.random.default_rng(0).normal(size=(4, 2))
    _ = points.sums, points.products(points)  # which are kept, but not for others
    for some, rows in ((points, X), (points.take(np.array([4, 0, 7])), X[[4, 0, 7]])):
        np.testing.assert_allclose(some.sums, rows.sum(axis=1), atol=1e-14)
        np.testing.assert_allclose(some.scores(directions), rows @ directions, atol=1e-14)
        assert some.scores(np.empty((4, 0))).shape == (len(rows), 0)
        coefficients = np.arange(2.0 * len(rows)).reshape(-1, 2)
        np.testing.assert_allclose(some.transposed_product(coefficients), rows.T @ coefficients, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_whether_all_points_are_equal(layout):
    X = random_points(9, [5], 4, False)
    assert not Points(in_layout(X, layout)).all_equal()
    assert Points(in_layout(X[:1].repeat(3, axis=0), layout)).all_equal()
    assert not Points(in_layout([[1.0, 0.0], [1.0, -1.0]], layout)).all_equal()
