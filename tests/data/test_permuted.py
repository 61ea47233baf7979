"""Features permuted within lists, and how far they vary within lists."""

import itertools

import numpy as np
import pytest
from make import LAYOUTS, features, freeze, full_lists

from rerank.data.feature_ranges import deviations_within
from rerank.data.lists import CandidateLists
from rerank.data.selection import permuted, random_order


@pytest.mark.parametrize("seed", range(5))
def test_an_order_permutes_each_list_and_depends_on_its_numbers_alone(seed):
    lists = full_lists(lengths=(5, 1, 7, 3))
    order = random_order(lists, seed, 0)
    np.testing.assert_array_equal(lists.list_index[order], lists.list_index)
    np.testing.assert_array_equal(np.sort(order), np.arange(lists.n_items))
    np.testing.assert_array_equal(order, random_order(full_lists("sparse", lengths=(5, 1, 7, 3)), seed, 0))
    assert not np.array_equal(order, random_order(lists, seed, 1))
    assert not np.array_equal(order, random_order(lists, seed + 1, 0))


def test_all_orders_of_a_list_are_equally_frequent():
    lists = CandidateLists.from_arrays(np.zeros((3, 1)))
    found = [tuple(random_order(lists, 7, repeat)) for repeat in range(3000)]
    counts = [found.count(order) for order in set(found)]
    assert len(counts) == 6
    assert min(counts) > 400


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("chosen", [[], [0], [1, 4], [0, 1, 2, 3, 4, 5, 6]])
def test_chosen_columns_move_together_and_others_stay(layout, chosen):
    lists = freeze(full_lists(layout, n_features=7, lengths=(4, 1, 6)))
    before = lists.features.to_dense()
    order = random_order(lists, 1, 2)
    mask = np.isin(np.arange(7), chosen)
    found = permuted(lists.features, mask, order)
    found.check(nan_allowed=False)
    assert (found.layout, found.dtype) == (lists.features.layout, lists.features.dtype)
    expected = before.copy()
    for i in range(lists.n_items):
        for j in chosen:
            expected[i, j] = before[order[i], j]
    np.testing.assert_array_equal(found.to_dense(), expected)


def deviation(column, offsets):
    """The definition, item by item."""
    squares, n = 0.0, 0
    for start, stop in itertools.pairwise(offsets):
        known = [float(x) for x in column[start:stop] if not np.isnan(x)]
        squares += sum((x - sum(known) / len(known)) ** 2 for x in known)
        n += len(known)
    return (squares / n) ** 0.5 if n else 0.0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_deviations_within_lists(layout):
    lists = full_lists(layout, n_features=6, lengths=(4, 1, 6))
    X = lists.features.to_dense().astype(float)
    expected = [deviation(X[:, j], lists.offsets) for j in range(6)]
    np.testing.assert_allclose(deviations_within(lists), expected, rtol=1e-12)


def test_deviations_of_missing_constant_and_huge_values():
    X = np.array(
        [[1.0, 5.0, 1e300, np.nan, 1e9], [np.nan, 5.0, -1e300, np.nan, 1e9 + 1], [3.0, 7.0, 0.0, np.nan, 0]]
    )
    lists = CandidateLists.from_arrays(X, group=[2, 1])
    np.testing.assert_allclose(deviations_within(lists), [0, 0, 1e300 * (2 / 3) ** 0.5, 0, (0.5 / 3) ** 0.5])
    sparse = CandidateLists.from_arrays(features("sparse", np.nan_to_num(X)), group=[2, 1])
    dense = CandidateLists.from_arrays(np.nan_to_num(X), group=[2, 1])
    np.testing.assert_allclose(deviations_within(sparse), deviations_within(dense), rtol=1e-9)
