"""Runs of entries laid end to end, and memory for columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.data.columns.offsets import fresh_array, grouped, offsets_of, places_of

OFFSETS = offsets_of([2, 0, 3, 1])


def test_offsets_bound_the_runs():
    assert OFFSETS.tolist() == [0, 2, 2, 5, 6]
    assert offsets_of([]).tolist() == [0]


def test_places_are_those_of_the_runs_asked_for():
    places, offsets = places_of(OFFSETS, np.array([2, 1, 0, 2]))
    assert places.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert offsets.tolist() == [0, 3, 3, 5, 8]
    places, offsets = places_of(OFFSETS, np.array([1], dtype=np.int64))
    assert (places.tolist(), offsets.tolist()) == ([], [0, 0])


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_groups_are_brought_together_in_order(keys):
    first_seen = list(dict.fromkeys(keys))
    codes = np.array([first_seen.index(key) for key in keys])
    offsets, order = grouped(codes)
    expected = sorted(range(len(keys)), key=lambda i: codes[i])
    assert (list(range(len(keys))) if order is None else order.tolist()) == expected
    assert (order is None) == (expected == list(range(len(keys))))
    assert np.diff(offsets).tolist() == [keys.count(key) for key in first_seen]


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 5), (7, 2), (1 << 20,), (1 << 12, 1 << 8)])
@pytest.mark.parametrize("dtype", [np.int32, np.float64, "float32"])
def test_a_fresh_array_has_its_shape_and_type_and_is_writable(shape, dtype):
    array = fresh_array(shape, dtype)
    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    array[...] = 7
    assert np.all(array == 7)


def test_a_fresh_array_that_is_too_large_is_an_error():
    with pytest.raises((MemoryError, ValueError, OverflowError, OSError)):
        fresh_array((1 << 40, 1 << 20), np.float64)
