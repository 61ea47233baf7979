"""Descriptions of lists: distances against their definitions, and arrays of strangers."""

import numpy as np
import pytest
from make import LAYOUTS
from reference.list_distances import histogram_distance

from rerank.core.errors import DataError
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.cache_entries import Descriptors, described, joined
from rerank.similarity import gram


def all_of(lists):
    return joined([described(lists.subset([i])) for i in range(lists.n_lists)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_histograms_are_compared_as_defined(layout, make_lists):
    lists = make_lists(3, layout)
    X, found = lists.features.to_dense(), all_of(lists)
    parts = np.split(X, lists.offsets[1:-1])
    for i, one in enumerate(parts):
        distances = found.distances(found.part(i), "histogram", 6)
        expected = [histogram_distance(one, other) for other in parts]
        np.testing.assert_allclose(distances, expected, atol=1e-14)
        assert distances[i] == 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axes_are_compared_by_the_list_kernel(layout, make_lists):
    lists = make_lists(3, layout, sizes=(6, 5, 9, 4, 7, 2))
    found = all_of(lists)
    expected = 1.0 - gram(lists)
    for i in range(lists.n_lists):
        distances = found.distances(found.part(i), "list-kernel", 6)
        np.testing.assert_allclose(distances, expected[i], atol=1e-12)


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse"])
def test_missing_features_count_as_their_mean(layout, make_lists):
    lists = make_lists(3, layout, missing=True)
    X, found = lists.features.to_dense(), all_of(lists)
    parts = np.split(X, lists.offsets[1:-1])
    distances = found.distances(found.part(1), "histogram", 6)
    np.testing.assert_allclose(distances, [histogram_distance(parts[1], one) for one in parts], atol=1e-14)
    assert np.isfinite(found.distances(found.part(1), "list-kernel", 6)).all()


@pytest.mark.parametrize(
    "X",
    [np.zeros((1, 3)), np.ones((4, 3)), np.full((3, 3), np.nan), np.array([[-1.7e308] * 3, [1.7e308] * 3])],
)
def test_degenerate_lists_have_distances(X):
    odd = described(CandidateLists.from_arrays(X))
    other = described(CandidateLists.from_arrays(np.arange(12.0).reshape(4, 3)))
    for by in ("list-kernel", "histogram"):
        distances = joined([odd, other]).distances(odd, by, 3)
        assert ((distances >= 0) & (distances <= 1)).all()


def test_arrays_of_strangers_are_checked(make_lists):
    found = all_of(make_lists(1))
    arrays = found.arrays()
    same = Descriptors.of_arrays(arrays, 6)
    np.testing.assert_array_equal(same.distances(same.part(2), "histogram", 6)[2], 0)
    for name, value in (
        ("columns", found.columns[::-1].copy()),
        ("columns", found.columns + 1),
        ("columns", found.columns - 1),
        ("bounds", np.array([0, 3])),
        ("bounds", found.bounds[::-1].copy()),
        ("axes", found.axes[1:]),
        ("axes", found.axes * np.nan),
        ("above", -found.above - 1),
        ("eigenvalues", found.eigenvalues + 2),
    ):
        with pytest.raises(DataError):
            Descriptors.of_arrays({**arrays, name: value}, 6)
