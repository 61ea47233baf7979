"""Lists and candidates by number, id, slice and mask."""

import numpy as np
import pytest
from make import full_lists, same
from scipy.sparse import csr_array

from rerank.core.errors import DataError
from rerank.data.lists import CandidateLists
from rerank.data.views import Candidate

X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.5], [4.0, 0.0]])
LISTS = CandidateLists.from_arrays(
    X, [1, 0, np.nan, 2], qid=["a", "b", "a", "b"], feature_names=["f", "g"], texts=["w", "x", "y", "z" * 50]
)


def test_one_list_and_its_candidates():
    one = LISTS["a"]
    assert (one.id, one.place, len(one), one.ids, one.texts) == ("a", 0, 2, ["1", "2"], ["w", "y"])
    assert np.array_equal(one.labels, [1.0, np.nan], equal_nan=True)
    assert one.features.tolist() == [[1.0, 0.0], [3.0, 0.5]]
    assert (one.prompt, one.references, one.base_scores) == (None, [], None)
    assert one[-1] == Candidate("a", "2", None, "y", None, None, {"f": 3.0, "g": 0.5}, 1)
    assert [candidate.text for candidate in one] == one.texts
    assert one[:1] == [one[0]]
    assert list(one.to_frame()["text"]) == ["w", "y"]
    assert repr(LISTS[1][1]).startswith("Candidate('2' of list 'b', text='zzz")
    assert "label=2, features={f: 4, g: 0})" in repr(LISTS[1])


def test_sparse_features_are_those_that_are_stored():
    lists = CandidateLists.from_arrays(csr_array(X))
    assert [one.features for one in lists[0]] == [{"1": 1.0}, {"2": 2.0}, {"1": 3.0, "2": 0.5}, {"1": 4.0}]


def test_lists_by_every_kind_of_index():
    lists = full_lists()
    n = len(lists)
    assert [one.place for one in lists] == list(range(n))
    assert lists[-1].id == lists[n - 1].id == lists.list_id(n - 1)
    for key, expected in (
        (slice(1, None), range(1, n)),
        (slice(None, None, -1), range(n - 1, -1, -1)),
        ([n - 1, 0], [n - 1, 0]),
        (np.array([-1]), [n - 1]),
        (np.arange(n) > 0, range(1, n)),
        ([lists.list_id(1), lists.list_id(0)], [1, 0]),
    ):
        same(lists[key], lists.subset(list(expected)))
    same(lists[1].lists, lists.subset([1]))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, "no list 2, expected -2 to 1"),
        (-3, "no list -3, expected -2 to 1"),
        ([0, 5], "no list 5, expected -2 to 1"),
        ("c", "no list 'c'; known: a, b"),
        (["a", "B"], "no list 'B'; did you mean 'b'?"),
        (1.0, "found float, expected a number, an id"),
        (True, "found bool"),
        ([True], "a mask of shape (1,), expected (2,)"),
        ([0.5], "lists are chosen by numbers, ids or a mask, found float64"),
        (slice(5, None), "a subset of no lists"),
    ],
)
def test_lists_that_are_not_there(key, message):
    with pytest.raises(DataError) as caught:
        LISTS[key]
    assert message in str(caught.value)


def test_errors_of_places_are_those_of_sequences():
    with pytest.raises(IndexError):
        LISTS[9]
    with pytest.raises(IndexError, match="has 2 candidates, found the index 2, expected -2 to 1"):
        LISTS[0][2]
    twice = CandidateLists.from_arrays(X, group=[2, 2])
    assert twice["2"].place == 1  # without ids, numbers from 1
