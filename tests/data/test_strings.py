import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists


@given(st.lists(st.one_of(st.text(), st.binary()), max_size=20))
def test_strings_and_bytes_survive_a_round_trip(strings):
    column = StringColumn.from_strings(strings)
    assert len(column) == len(strings)
    for i, given_string in enumerate(strings):
        raw = given_string if isinstance(given_string, bytes) else given_string.encode()
        assert column.bytes_at(i) == raw
        assert column[i].encode("utf-8", "surrogateescape") == raw
        assert column[i - len(strings)] == column[i]
    assert list(column) == [column[i] for i in range(len(column))]
    assert StringColumn.from_strings(list(column)) == column
    assert column.lengths().tolist() == [len(column.bytes_at(i)) for i in range(len(column))]


@given(st.lists(st.binary(max_size=5), min_size=1, max_size=8), st.data())
def test_take_gives_the_strings_in_that_order(strings, data):
    index = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=12))
    taken = StringColumn.from_strings(strings).take(np.array(index, dtype=np.int64))
    assert [taken.bytes_at(i) for i in range(len(taken))] == [strings[i] for i in index]


def test_empty_strings_and_empty_columns():
    column = StringColumn.from_strings(["", "a", ""])
    assert list(column) == ["", "a", ""]
    empty = StringColumn.from_strings([])
    assert len(empty) == 0
    assert list(empty) == []
    assert "0 strings" in repr(empty)


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_outside_is_an_index_error(index):
    with pytest.raises(IndexError):
        StringColumn.from_strings(["a", "b", "c"])[index]


def test_equality_is_of_strings_not_of_bytes_alone():
    assert StringColumn.from_strings(["ab", "c"]) != StringColumn.from_strings(["a", "bc"])
    assert StringColumn.from_strings(["a"]) != ["a"]


@pytest.mark.parametrize(
    ("data", "offsets", "message"),
    [
        (np.zeros(3, np.uint8), np.array([0, 2]), "rise from 0"),
        (np.zeros(3, np.uint8), np.array([1, 3]), "rise from 0"),
        (np.zeros(3, np.uint8), np.array([0, 3, 1, 3]), "rise from 0"),
        (np.zeros(3, np.uint8), np.array([], np.int64), "rise from 0"),
        (np.zeros(3, np.int8), np.array([0, 3]), "uint8"),
        (np.zeros(3, np.uint8), np.array([0, 3], np.int32), "int64"),
        (np.zeros((3, 1), np.uint8), np.array([0, 3]), "vector"),
    ],
)
def test_broken_columns_are_refused(data, offsets, message):
    with pytest.raises(DataError, match=message):
        StringColumn(data, offsets)


@pytest.mark.parametrize("seed", range(20))
def test_strings_that_occurred_earlier_in_their_list(seed: int) -> None:
    rng = random.Random(seed)
    pool = ["", "a", "b", "a" * 8, "a" * 9, "b" + "a" * 8, "été", "x" * 40]
    lengths = [rng.randint(1, 30) for _ in range(rng.randint(1, 9))]
    lists = np.cumsum([0, *lengths])
    texts = [rng.choice(pool[: rng.randint(1, len(pool))]) for _ in range(lists[-1])]
    expected = [
        t in texts[lists[k] : i]
        for i, t in enumerate(texts)
        for k in [np.searchsorted(lists, i, "right") - 1]
    ]
    assert StringColumn.from_strings(texts).repeated(lists).tolist() == expected
    assert StringColumn.from_strings([""] * lists[-1]).repeated(lists).tolist() == [
        i not in lists for i in range(lists[-1])
    ]


def test_take_refuses_numbers_below_zero() -> None:
    with pytest.raises(DataError, match="below 0"):
        StringColumn.from_strings("ab").take(np.array([0, -1]))


def test_a_lone_surrogate_is_refused_and_other_bytes_are_kept():
    assert StringColumn.from_strings(["\udcff"]).bytes_at(0) == b"\xff"
    with pytest.raises(DataError, match=r"found a lone surrogate \(\\ud800\), expected text"):
        StringColumn.from_strings(["a", "b\ud800"])
    with pytest.raises(DataError, match="a lone surrogate"):
        CandidateLists.from_arrays([[1.0]], feature_names=["\ud800"])
