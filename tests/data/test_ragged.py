"""Columns of lists that hold differently many numbers."""

import numpy as np
import pytest

from rerank.core.errors import DataError
from rerank.data.columns.offsets import Ragged
from rerank.data.lists import CandidateLists
from rerank.data.store import read_store, write_store

COLUMN = Ragged(np.array([1.0, 2.0, 3.0, 1.0]), np.array([0, 2, 2, 4]))


def test_lists_are_taken_in_any_order():
    taken = COLUMN.take(np.array([2, 1, 0, 2]))
    assert taken.values.tolist() == [3, 1, 1, 2, 3, 1]
    assert taken.offsets.tolist() == [0, 2, 2, 4, 6]
    assert COLUMN.take(np.array([1])).values.tolist() == []


def test_entries_are_counted_list_by_list():
    assert COLUMN.count(COLUMN.values >= 2).tolist() == [1, 0, 1]
    assert COLUMN.lengths.tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("values", "offsets", "message"),
    [
        ([1.0], [0, 2], "rise from 0 to the number of values"),
        ([1.0], [1, 1], "rise from 0"),
        ([1.0, 2.0], [0, 2, 1, 2], "rise from 0"),
        ([1.0], [], "rise from 0"),
        ([np.nan], [0, 1], "finite"),
        ([[1.0]], [0, 1], "a float64 vector"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(values, offsets, message):
    with pytest.raises(DataError, match=message):
        Ragged(np.array(values), np.array(offsets, dtype=np.int64))


def lists_with(unretrieved):
    made = CandidateLists.from_arrays(np.zeros((4, 1)), np.ones(4), group=[2, 1, 1])
    return CandidateLists(made.offsets, made.features, labels=made.labels, unretrieved=unretrieved)


def test_the_column_stays_with_its_lists_and_in_a_store(tmp_path):
    lists = lists_with(COLUMN)
    assert lists.subset([2, 0]).unretrieved.values.tolist() == [3, 1, 1, 2]
    assert lists.kept(np.array([True, False, True, True])).unretrieved.values.tolist() == [1, 2, 3, 1]
    write_store(lists, tmp_path / "store")
    again = read_store(tmp_path / "store").unretrieved
    assert (again.values.tolist(), again.offsets.tolist()) == ([1, 2, 3, 1], [0, 2, 2, 4])
    write_store(lists_with(None), tmp_path / "store")
    assert read_store(tmp_path / "store").unretrieved is None


def test_labels_of_0_and_wrong_lengths_are_refused():
    with pytest.raises(DataError, match="unretrieved has 1 entries, expected 3"):
        lists_with(Ragged(np.array([1.0]), np.array([0, 1])))
