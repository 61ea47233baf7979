"""Further features of the same items from other sets, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import make
import numpy as np
import pytest

import rerank as package
from rerank.core.errors import DataError
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.unions import beside, join_features

STRINGS = StringColumn.from_strings
SIZES = (2, 3, 1)


def lists(names=("a", "b"), seed=0, ids=True, **columns):
    rng = np.random.default_rng(seed)
    made = CandidateLists.from_arrays(
        rng.normal(size=(6, len(names))), np.arange(6.0), group=SIZES, feature_names=list(names)
    )
    own = {"list_ids": STRINGS(["p", "q", "r"])}
    own |= {"item_ids": STRINGS(["1", "2", "1", "2", "3", "1"])} if ids else {}
    return replace(made, source=f"set {seed}", **(own | columns))


@pytest.mark.parametrize("left", make.LAYOUTS)
@pytest.mark.parametrize("right", make.LAYOUTS)
def test_columns_of_every_layout_stand_beside_each_other(left, right):
    rng = np.random.default_rng(1)
    X, Y = (rng.integers(0, 2, (5, d)).astype(float) for d in (4, 7))
    X[2] = Y[3] = 0
    found = beside(make.features(left, X), make.features(right, Y))
    np.testing.assert_array_equal(found.to_dense(), np.hstack([X, Y]))
    assert found.check(False) is False
    if {left, right} == {"indicators"}:
        assert found.data is None


def test_lists_and_items_are_matched_by_id():
    one, two = lists(), lists(("c",), seed=1)
    order = np.array([1, 0, 4, 2, 3, 5])
    moved = two.reordered(order).subset([2, 0, 1])
    found = join_features(one, [moved])
    assert found.lists.names() == ["a", "b", "c"]
    np.testing.assert_array_equal(found.lists.features.column(2), two.features.column(0))
    assert found.lines == ["set 1: 1 feature of 6 items joined by id"]


def test_what_the_first_set_lacks_is_left_out_and_counted():
    one, two = lists(), lists(("c",), seed=1)
    fewer = one.subset([1, 2]).kept(np.array([True, False, True, True]))
    found = join_features(fewer, [two])
    expected = two.features.column(0)[[2, 4, 5]]
    np.testing.assert_array_equal(found.lists.features.column(2), expected)
    assert found.lines == ["set 1: 1 feature of 3 items joined by id, 1 list not, 3 items not"]


def test_without_ids_places_match_and_columns_must_agree():
    one, two = lists(ids=False), lists(("c",), seed=1, ids=False)
    assert join_features(one, [two]).lines == ["set 1: 1 feature of 6 items joined by place"]
    texts = STRINGS(["u", "v", "w", "x", "y", "z"])
    other = STRINGS(["u", "v", "w", "y", "x", "z"])
    message = "set 1: found other texts than set 0, first at list 'q', item 2: are these the same items"
    with pytest.raises(DataError, match=message):
        join_features(replace(one, texts=texts), [replace(two, texts=other)])
    with pytest.raises(DataError, match="found other labels than set 0"):
        join_features(one, [two.replace_labels(np.arange(6.0)[::-1].copy())])


def test_columns_of_the_others_are_taken_where_the_first_set_has_none():
    trees = Forest.from_strings([f"(S w{k})" for k in range(6)])
    two = lists(("c",), seed=1, trees=trees, counts={"X": np.ones((6, 2))})
    order = np.array([1, 0, 4, 2, 3, 5])
    found = join_features(lists(), [two.reordered(order)]).lists
    assert found.trees == trees
    assert list(found.counts) == ["X"]


def test_equal_features_are_kept_once_and_others_of_the_name_refused():
    one, two = lists(), lists(("b", "c"), seed=1)
    same = replace(one, source="again").with_columns(["b", "c"])
    found = join_features(one, [same])
    assert found.lists.names() == ["a", "b", "c"]
    assert found.lines == ["again: 1 feature of 6 items joined by id, 1 feature there already (b)"]
    with pytest.raises(DataError, match=r"set 1: found features of the same name with other values \(b\)"):
        join_features(one, [two])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda two: two.subset([0, 2]), "1 of 3 lists of set 0 have no list there"),
        (lambda two: two.kept(np.array([True, False, True, True, True, True])), "no item of its own for"),
        (lambda two: replace(two, item_ids=STRINGS(["1", "1", "1", "2", "3", "1"])), "has an item id twice"),
        (lambda two: replace(two, list_ids=STRINGS(["p", "p", "r"])), "two lists have the same id"),
    ],
)
def test_items_that_cannot_be_matched(change, message):
    with pytest.raises(DataError, match=message):
        join_features(lists(), [change(lists(("c",), seed=1))])


def test_sizes_decide_without_ids():
    one, two = lists(ids=False), lists(("c",), seed=1, ids=False)
    with pytest.raises(DataError, match="list 'q' has 2 items for 3 of set 0, and no item ids"):
        join_features(one, [two.kept(np.array([True, True, True, False, True, True]))])
    bare = replace(one, list_ids=None)
    with pytest.raises(DataError, match="found 2 lists for 3 lists of set 0 and no list ids"):
        join_features(bare, [two.subset([0, 1])])


def test_append_joins_sets_from_the_shell(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def append(*others, code=0):
        *sets, out = others
        return rerank("append", "one.store", *sets, "--out", out, code=code)

    package.save(lists(), "one.store")
    package.save(lists(("c",), seed=1), "two.store")
    result = append("two.store", "both.store")
    assert "two.store: 1 feature of 6 items joined by id" in result.err
    assert package.load("both.store").names() == ["a", "b", "c"]
    assert "is one of the input files" in append("two.store", "two.store", code=2).err
    assert "expected NAME=FILE" in append("none.store", "x.store", code=2).err
    assert "found 'two.store'" in append("two.store", "c=two.store", "x.store", code=2).err
