"""Lists that are in several sets."""

import numpy as np
import pytest

from rerank.core.errors import DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.overlap import check_apart, shared_ids


def lists_of(ids, labels, texts=None):
    lists = CandidateLists.from_arrays(np.ones((len(labels), 1)), labels, group=[2] * (len(labels) // 2))
    return CandidateLists(
        lists.offsets,
        lists.features,
        labels=lists.labels,
        list_ids=None if ids is None else StringColumn.from_strings(ids),
        texts=None if texts is None else StringColumn.from_strings(texts),
    )


def test_ids_are_found_wherever_they_are():
    sets = [
        lists_of("ab", [0, 1, 1, 0]),
        lists_of(None, [0, 1]),
        lists_of("cba", [0] * 6),
        lists_of("a", [1, 1]),
    ]
    assert list(shared_ids(sets)) == [((0, 1), (2, 1)), ((0, 0), (2, 2)), ((0, 0), (3, 0))]
    assert list(shared_ids(sets[:1])) == []
    check_apart("wxyz", sets)


def test_the_same_list_is_refused_and_another_one_of_its_id_is_not():
    one, same, other = (lists_of("a", labels, "xy") for labels in ([0, 1], [0, 1], [1, 0]))
    with pytest.raises(DataError, match="list 'a' is in the lists of folds 1 and 3; tests over folds need"):
        check_apart("123", [one, other, same])
    check_apart("12", [one, lists_of("a", [0, 1], "xz")])


def test_folds_without_ids_are_compared_as_a_whole():
    one = lists_of(None, [0, 1])
    with pytest.raises(DataError, match="folds 1 and 2 have the same lists"):
        check_apart("12", [one, lists_of(None, [0, 1])])
    check_apart("1", [one])
    check_apart("12", [lists_of(None, [0, 1], texts) for texts in ("xy", "xz")])
