"""Sets from several files as one set: what it holds, and what cannot be joined."""

from dataclasses import replace

import numpy as np
import pytest
from make import LAYOUTS, full_lists, same

from rerank.core.errors import DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cut", [1, 2])
def test_the_parts_of_a_set_joined_are_the_set(layout, cut):
    whole = replace(full_lists(layout), rows=None)
    every = np.arange(whole.n_lists)
    back = joined([whole.subset(every[:cut]), whole.subset(every[cut:])])
    assert same(back, whole)
    assert type(back.features) is type(whole.features)
    assert back.trees == whole.trees
    assert back.gold == whole.gold
    assert back.fingerprint() == whole.fingerprint()


def test_one_set_stays_as_it_is():
    whole = full_lists()
    assert joined([whole]) is whole


def test_rows_count_through_all_files():
    a = CandidateLists.from_arrays(np.ones((3, 1)), qid=["a", "b", "a"])
    b = CandidateLists.from_arrays(np.ones((2, 1)), qid=["c", "c"])
    both = joined([a, b])
    assert both.input_order(np.array([0.0, 2.0, 1.0, 3.0, 4.0])).tolist() == [0, 1, 2, 3, 4]
    assert [both.list_id(i) for i in range(3)] == ["a", "b", "c"]


def make(ids, names=None, width=2, labels=True, source="a"):
    X = np.arange(len(ids) * width, dtype=float).reshape(len(ids), width)
    lists = CandidateLists.from_arrays(X, np.ones(len(ids)) if labels else None, qid=list(ids))
    return replace(lists, feature_names=names, source=source)


def test_features_are_matched_by_name_or_number():
    both = joined([make("pq", ["x", "y"]), make("rs", ["y", "x"], source="b")])
    assert both.names() == ["x", "y"]
    assert both.features.to_dense().tolist() == [[0, 1], [2, 3], [1, 0], [3, 2]]
    both = joined([make("pq"), make("r", width=3, source="b")])
    assert both.feature_names is None
    assert both.features.to_dense().tolist() == [[0, 1, 0], [2, 3, 0], [0, 1, 2]]


def test_counts_of_another_metric_are_refused():
    parts = [
        replace(make(ids, source=ids), counts={m: np.ones((2, 2))}) for ids, m in (("pq", "A"), ("rs", "B"))
    ]
    with pytest.raises(DataError, match=r"^rs: found no counts of A, expected some as in pq$"):
        joined(parts)


def test_a_dense_feature_that_a_file_lacks_is_reported():
    with pytest.warns(DataNote) as notes:
        joined([make("pq", ["x", "y"]), make("r", ["x", "z"], source="b")])
    assert [str(note.message) for note in notes] == [
        "a: no feature z, which other files have; read as 0",
        "b: no feature y, which other files have; read as 0",
    ]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (make("qr", source="b"), "list 'q' is in both a and b"),
        (make("r", labels=False, source="b"), "b: found no labels, expected some as in a"),
        (make("r", ["x", "y"], source="b"), "a: found no feature names, expected some as in b"),
        (replace(make("r", source="b"), list_ids=None), "b: found no list ids, expected some as in a"),
        (
            replace(make("r", source="b"), references=(StringColumn.from_strings(["x"]),)),
            "a: found no references, expected some as in b",
        ),
        (replace(make("r", source="b"), counts={"M": np.ones((1, 1))}), "a: found no counts, expected"),
    ],
)
def test_what_does_not_agree_is_refused(other, message):
    with pytest.raises(DataError, match=f"^{message}"):
        joined([make("pq"), other])


def test_columns_that_are_indices_are_matched_by_them():
    def part(qid, X, names=None):
        X = np.array([X], dtype=float)
        return CandidateLists.from_arrays(X, qid=[qid], feature_names=names)

    far, near = part("a", [1, 2], ["2", "20000000"]), part("b", [3, 4, 5])
    for parts, rows in (
        ([far, near], [[0, 1, 0, 2], [3, 4, 5, 0]]),
        ([near, far], [[3, 4, 5, 0], [0, 1, 0, 2]]),
    ):
        both = joined(parts)
        assert both.names() == ["1", "2", "3", "20000000"]
        assert both.features.to_dense().tolist() == rows
    both = joined([far, part("c", [7, 8], ["5", "20000000"])])
    assert (both.names(), both.features.to_dense().tolist()) == (
        ["2", "5", "20000000"],
        [[1, 0, 2], [0, 7, 8]],
    )
