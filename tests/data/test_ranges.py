"""Ranges of columns within lists, and which of them differ too much."""

import numpy as np
import pytest
from make import LAYOUTS, features, full_lists

from rerank.data import feature_ranges as ranges
from rerank.data.feature_ranges import list_ranges, uneven_columns
from rerank.data.lists import CandidateLists


def of(X, group, layout="dense", **more):
    return CandidateLists.from_arrays(features(layout, np.array(X, dtype=np.float64)), group=group, **more)


def expected(lists):
    X = lists.features.to_dense().astype(np.float64)
    parts = np.split(X, lists.offsets[1:-1])
    found = np.array([np.nanmax(part, axis=0) - np.nanmin(part, axis=0) for part in parts]).max(axis=0)
    return np.where(found > 0, found, np.nan)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_largest_range_within_any_list(layout):
    for seed in range(20):
        lists = full_lists(layout, lengths=(3, 1, 4, 2, 6), n_features=7, seed=seed)
        np.testing.assert_allclose(list_ranges(lists), expected(lists), rtol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_what_is_constant_within_lists_or_varies_by_rounding_has_no_range(layout):
    X = [[1e9, 0.3, 0, 2], [1e9, 0.1 + 0.2, 0, 2], [5, 0.3, 0, 1], [5, 0.3, 0, 3]]
    found = list_ranges(of(X, [2, 2], layout))
    np.testing.assert_array_equal(found, [np.nan, np.nan, np.nan, 2])


def test_missing_values_are_ignored():
    X = [[np.nan, 1.0], [2.0, np.nan], [7.0, np.nan], [np.nan, np.nan], [np.nan, 4.0]]
    found = list_ranges(CandidateLists.from_arrays(np.array(X), group=[3, 2]))
    np.testing.assert_array_equal(found, [5, np.nan])


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_columns_that_differ_by_more_than_a_thousand_are_named(layout):
    X = np.array([[0, 0, 0, 50], [1, 1001, 0.5, 50], [0.5, 3, 0, 50]])
    names = ["a", "b", "c", "constant"]
    assert uneven_columns(of(X, [3], layout, feature_names=names)) == (("c", 0.5), ("b", 1001.0))
    X[1, 1] = 500
    assert uneven_columns(of(X, [3], layout, feature_names=names)) is None


def test_an_offset_is_no_range():
    """Log probabilities of long texts: they differ by little within a list."""
    assert uneven_columns(of([[-3048, 0], [-3041, 1]], [2])) is None


def test_lists_without_features_or_variation_have_none():
    assert uneven_columns(of(np.empty((3, 0)), [3])) is None
    assert uneven_columns(of([[1.0], [1.0]], [2])) is None


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_large_sets_evenly_spaced_lists_are_looked_at(monkeypatch, layout):
    lists = full_lists(layout, lengths=(2,) * 40, n_features=4)
    monkeypatch.setattr(ranges, "MOST_VALUES", lists.features.n_values // 4)
    step = -(-lists.features.n_values // ranges.MOST_VALUES)
    some = lists.subset(np.arange(0, 40, step))
    np.testing.assert_allclose(list_ranges(lists), expected(some), rtol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "sparse", "mixed"])
def test_ranges_beyond_the_largest_number_are_infinite(layout):
    lists = of([[1.7e308, 1], [-1.7e308, 2], [1, 1], [2, 4]], [2, 2], layout)
    assert list_ranges(lists).tolist() == [np.inf, 3]
