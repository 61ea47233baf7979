"""Columns of two sets: indices stand for columns, other names for themselves."""

import numpy as np
import pytest

from rerank.core.errors import RerankError
from rerank.data.names import Columns, match, numbered, numbers_in


def columns(names):
    return Columns(None, names) if isinstance(names, int) else Columns(names, len(names))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["1", "2", "3"], [0, 1, 2]),
        (["5", "20000000"], [4, 19999999]),
        (["0", "5", "99999999"], [0, 5, 99999999]),
        (["2147483647"], [2147483646]),
        (["2147483648"], None),
        (["2", "1"], [1, 0]),
        (["7", "0", "3"], [7, 0, 3]),
        (["7", "0", "7"], None),
        (["1", "1"], None),
        (["01"], None),
        (["1", "x", "3"], None),
        (["٣"], None),
        (["1", ""], None),
        ([], None),
    ],
)
def test_names_that_are_indices(names, expected):
    found = numbers_in(names)
    assert (None if found is None else found.tolist()) == expected


@pytest.mark.parametrize(
    ("mine", "theirs", "places", "known", "by_position"),
    [
        (3, 3, [0, 1, 2], [1, 1, 1], False),
        (3, ["1", "2"], [0, 1, -1], [1, 1, 0], False),
        (2, 5, [0, 1], [1, 1], False),
        (["2", "20000000"], 3, [1, -1], [1, 0], False),
        (4, ["2", "20000000"], [-1, 0, -1, -1], [1, 1, 1, 1], False),
        (["2", "7", "9"], ["7", "20000000"], [-1, 0, -1], [1, 1, 1], False),
        (["0", "1", "2"], ["0", "2"], [0, -1, 1], [1, 1, 1], False),
        (["0", "1", "2"], 3, [0, 1, 2], [1, 1, 1], True),
        (["0", "5", "7"], ["6", "8"], [-1, 0, 1], [1, 1, 1], True),
        (["9", "2", "7"], ["20000000", "7", "2"], [-1, 2, 1], [1, 1, 1], False),
        (["2", "1"], 2, [1, 0], [1, 1], False),
        (["a", "b"], ["b", "c", "a"], [2, 0], [1, 1], False),
        (["a", "b"], ["c"], [-1, -1], [0, 0], False),
        (["a", "b", "c"], 2, [0, 1, -1], [1, 1, 0], True),
        (2, ["a"], [0, -1], [1, 0], True),
        (["7", "20000000"], ["a", "b"], [-1, -1], [0, 0], False),
        (["3", "7"], ["a", "7"], [-1, 1], [0, 1], False),
        (2, [], [-1, -1], [0, 0], True),
        ([], ["a"], [], [], True),
    ],
)
def test_columns_are_matched(mine, theirs, places, known, by_position):
    found = match(columns(mine), columns(theirs))
    assert found.places.tolist() == places
    assert found.known.tolist() == [bool(k) for k in known]
    assert found.by_position == by_position


def test_names_of_columns_at_places():
    assert columns(5).at(np.array([0, 4])) == ["1", "5"]
    assert columns(["a", "b"]).at(np.array([1])) == ["b"]


def test_names_beyond_memory_are_refused(memory_left):
    memory_left(10**9)
    with pytest.raises(RerankError, match=r"needs 142 GB for the names of 2,147,483,647 features; 1 GB are"):
        numbered(2**31 - 1)
