"""Runs of entries laid end to end."""

import numpy as np

from rerank.data.columns.offsets import offsets_of, places_of

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
