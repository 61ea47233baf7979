"""Further features of the same items from other sets, and what is refused."""

import warnings
from dataclasses import replace

import make
import numpy as np
import pytest

import rerank as package
from rerank.core.errors import DataError, DataNote
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
    line = "set 1: 1 feature of 6 items joined by place, where labels agree"
    assert join_features(one, [two]).lines == [line]
    texts = STRINGS(["u", "v", "w", "x", "y", "z"])
    other = STRINGS(["u", "v", "w", "y", "x", "z"])
    message = "set 1: found other texts than set 0, first at list 'q', item 2: are these the same items"
    with pytest.raises(DataError, match=message):
        join_features(replace(one, texts=texts), [replace(two, texts=other)])
    with pytest.raises(DataError, match="found other labels than set 0"):
        join_features(one, [two.replace_labels(np.arange(6.0)[::-1].copy())])


def test_a_note_if_nothing_but_places_links_the_items():
    one, two = (lists(names, seed, ids=False) for names, seed in ((("a",), 0), (("c",), 1)))
    for labels in (None, np.zeros(6), np.full(6, np.nan)):
        first, second = (replace(side, labels=labels) for side in (one, two))
        with pytest.warns(DataNote, match="set 1: nothing but their order links its items to those of set 0"):
            found = join_features(first, [second])
        assert found.lines == ["set 1: 1 feature of 6 items joined by place alone"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        some = np.array([0.0, 1, 0, 0, 1, 0])
        found = join_features(one.replace_labels(some), [two.replace_labels(some)])
        assert found.lines[0].endswith("by place, where labels agree (2 items not told apart by them)")
        shared = [replace(side.with_added({"s": np.arange(6.0)}), labels=None) for side in (one, two)]
        line = "joined by place, where features agree, 1 feature there already (s)"
        assert join_features(shared[0], [shared[1]]).lines[0].endswith(line)


BASE = np.array([3.0, 1.0, 5.0, 4.0, 2.0, 0.0])
SWAPPED = np.array([3.0, 1.0, 4.0, 5.0, 2.0, 0.0])
TREES = [f"(S w{k})" for k in range(6)]


@pytest.mark.parametrize(
    ("own", "theirs", "message"),
    [
        ({"base_scores": BASE}, {"base_scores": SWAPPED}, "the base scores of set 0 in another order"),
        ({"answers": STRINGS("abcdef")}, {"answers": STRINGS("abdcef")}, "other answers than set 0"),
        ({"counts": {"X": np.eye(6)}}, {"counts": {"X": np.eye(6)[::-1].copy()}}, "other counts of X"),
        (
            {"structures": {"t": Forest.from_strings(TREES)}},
            {"structures": {"t": Forest.from_strings(TREES[::-1])}},
            "other trees 't'",
        ),
        (
            {"references": (STRINGS("xyz"),)},
            {"references": (STRINGS("xzy"),)},
            "references than set 0, first at list 'q'",
        ),
        ({"prompts": STRINGS("xyz")}, {"prompts": STRINGS("xyy")}, "prompts than set 0, first at list 'r'"),
    ],
)
def test_what_both_sets_know_of_items_and_lists_must_agree(own, theirs, message):
    one = replace(lists(ids=False, **own), labels=None)
    two = replace(lists(("c",), seed=1, ids=False, **theirs), labels=None)
    with pytest.raises(DataError, match=f"set 1: found .*{message}.*: are these the same items"):
        join_features(one, [two])


def test_other_base_scores_are_no_fault():
    one, two = lists(base_scores=BASE), lists(("c",), seed=1, base_scores=2 * BASE)
    np.testing.assert_array_equal(join_features(one, [two]).lists.base_scores, BASE)


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
