"""Lists brought to other columns: what does not match is reported in one line."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from rerank.core.errors import DataError, DataNote
from rerank.data.alignment import aligned
from rerank.data.lists import CandidateLists

DENSE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
SPARSE = sparse.csr_matrix([[1.0, 0.0, 0.0], [0.0, 5.0, 0.0]])


def notes_of(lists, names, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = aligned(lists, names, **options)
    assert all(issubclass(one.category, DataNote) for one in caught)
    return out, [str(one.message) for one in caught]


def lists_of(X, names=None):
    return CandidateLists.from_arrays(X, feature_names=names, source="dev.txt")


@pytest.mark.parametrize(
    ("X", "mine", "theirs", "expected", "message"),
    [
        (DENSE, "abc", "abc", [1, 2, 3], ""),
        (DENSE, "abc", "cab", [3, 1, 2], ""),
        (DENSE, None, "123", [1, 2, 3], ""),
        (SPARSE, None, "12345", [1, 0, 0, 0, 0], ""),
        (SPARSE, "abc", "abcde", [1, 0, 0, 0, 0], ""),
        (SPARSE, "abc", "ab", [1, 0], ""),
        (DENSE, None, "1234", [1, 2, 3, 0], "1 of 4 features of the model is absent (4), taken as 0"),
        (
            DENSE,
            "abc",
            "abd",
            [1, 2, 0],
            "1 feature that the model does not know (c), ignored; "
            "1 of 3 features of the model is absent (d), taken as 0",
        ),
        (
            SPARSE,
            "abc",
            "acd",
            [1, 0, 0],
            "1 feature that the model does not know (b), ignored; "
            "1 of 3 features of the model is absent (d), taken as 0",
        ),
        (DENSE, None, "12", [1, 2], "1 feature that the model does not know (3), ignored"),
        (DENSE, None, "abc", [1, 2, 3], "features are matched by position, as only the model names them"),
        (DENSE, "abc", "123", [1, 2, 3], "features are matched by position, as only the data names them"),
        (
            SPARSE,
            None,
            "abcd",
            [1, 0, 0, 0],
            "features are matched by position, 3 to 4, as only the model names them",
        ),
    ],
)
def test_one_note_names_what_does_not_match(X, mine, theirs, expected, message):
    lists = lists_of(X, None if mine is None else list(mine))
    found, notes = notes_of(lists, list(theirs))
    assert found.features.to_dense()[0].tolist() == expected
    assert notes == ([f"dev.txt: {message}"] if message else [])
    if message:
        with pytest.raises(DataError, match=r"^dev\.txt: "):
            aligned(lists, list(theirs), strict=True)
    else:
        aligned(lists, list(theirs), strict=True)


@pytest.mark.parametrize("X", [DENSE, SPARSE])
def test_nothing_in_common_is_an_error(X):
    with pytest.raises(DataError) as caught:
        aligned(lists_of(X, list("abc")), ["x", "y"], "the training lists")
    names = "a, b, c" if X is DENSE else "a, b"
    expected = "expected those of the training lists (x, y)"
    assert str(caught.value) == f"dev.txt: found features {names}, {expected}"


def test_values_in_unknown_columns_only_are_an_error():
    with pytest.raises(DataError, match=r"found features 3, expected those of the model \(1, 2\)"):
        aligned(lists_of(sparse.csr_matrix([[0.0, 0.0, 1.0]])), ["1", "2"])


def test_no_features_are_an_error_unless_none_is_expected():
    with pytest.raises(DataError, match=r"found no features, expected those of the model \(a\)"):
        aligned(lists_of(np.empty((2, 0))), ["a"])
    assert aligned(lists_of(DENSE), []).n_features == 0


def test_items_without_a_value_are_no_mistake():
    _, notes = notes_of(lists_of(sparse.csr_matrix((2, 3))), ["1", "2", "3"])
    assert notes == []
