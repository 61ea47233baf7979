from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, full_lists, same
from reference import lists as reference
from scipy.sparse import csr_array

from rerank.core.errors import DataError
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_scattered_qids_are_brought_together_in_order_of_first_appearance(qids):
    n = len(qids)
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) / 2
    lists = CandidateLists.from_arrays(X, y, qid=qids, item_ids=[f"i{r}" for r in range(n)])
    expected = reference.by_qid(qids)
    rows = [row for _, list_rows in expected for row in list_rows]
    assert list(lists.list_ids) == [str(qid) for qid, _ in expected]
    assert lists.lengths.tolist() == [len(list_rows) for _, list_rows in expected]
    assert (lists.rows is None) == (rows == list(range(n)))
    assert np.array_equal(lists.features.values, X[rows])
    assert np.array_equal(lists.labels, y[rows])
    assert list(lists.item_ids) == [f"i{row}" for row in rows]
    assert np.array_equal(lists.input_order(lists.labels), y)
    assert np.array_equal(lists.from_input_order(y), lists.labels)


def test_group_lengths_qids_and_neither():
    X = np.ones((5, 2))
    assert CandidateLists.from_arrays(X, group=[2, 3]).offsets.tolist() == [0, 2, 5]
    assert CandidateLists.from_arrays(X).offsets.tolist() == [0, 5]
    assert CandidateLists.from_arrays(X, group=np.array([5], np.uint64)).n_lists == 1
    big = CandidateLists.from_arrays(X, qid=[2**63, 2**63, "x", "x", "x"])
    assert list(big.list_ids) == [str(2**63), "x"]
    raw = CandidateLists.from_arrays(X, qid=np.array([b"\xff", b"a", b"a", b"a", b"a"]))
    assert raw.list_ids.bytes_at(0) == b"\xff"


def test_sparse_and_float32_input_keep_their_layout():
    X = np.eye(4)
    sparse = CandidateLists.from_arrays(csr_array(X), qid=[1, 2, 1, 2])
    assert isinstance(sparse.features, Sparse)
    assert np.array_equal(sparse.features.to_dense(), X[[0, 2, 1, 3]])
    assert "4 sparse features" in repr(sparse)
    half = CandidateLists.from_arrays(X.astype(np.float32))
    assert half.features.values.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"group": [2], "qid": [1, 1]}, "group or qid, not both"),
        ({"group": [1, 2]}, "whole numbers that sum to 2"),
        ({"group": [1.0, 1.0]}, "whole numbers that sum to 2"),
        ({"group": [[2]]}, "whole numbers that sum to 2"),
        ({"group": [2, 0]}, "list 1 is empty"),
        ({"group": [3, -1]}, "list 1 is empty"),
        ({"qid": [1]}, r"qid has shape \(1,\), expected \(2,\)"),
        ({"qid": [[1], [1]]}, r"qid has shape \(2, 1\)"),
        ({"y": [1]}, r"y has shape \(1,\), expected \(2,\)"),
        ({"y": ["a", "b"]}, "y must be numbers"),
        ({"y": [1, np.inf]}, "labels holds an infinite value"),
        ({"feature_names": ["a"]}, "1 feature names for 2 features"),
        ({"item_ids": ["a"]}, "item_ids has 1 entries, expected 2"),
        ({"item_ids": ["a"] * 3, "qid": [1, 1]}, "item_ids has 3 entries, expected 2"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        CandidateLists.from_arrays(np.ones((2, 2)), **arguments)


def test_no_items_are_refused():
    with pytest.raises(DataError, match="no items"):
        CandidateLists.from_arrays(np.ones((0, 2)))
    with pytest.raises(DataError, match="bound one list"):
        CandidateLists(np.array([0]), Dense(np.ones((0, 2))))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": np.array([0, 3, 4, 8, 10], np.int32)}, "offsets must be int64"),
        ({"offsets": np.array([1, 3, 4, 8, 10])}, "start at 0"),
        ({"offsets": np.array([[0, 10]])}, "offsets must be int64"),
        ({"offsets": np.array([0, 3, 3, 8, 10])}, "list 1 is empty"),
        ({"offsets": np.array([0, 3, 2, 8, 10])}, "list 1 is empty"),
        ({"offsets": np.array([0, 3, 4, 8, 9])}, "the lists hold 9 items, the features 10"),
        ({"offsets": np.repeat([0, 3, 4, 8, 10], 2)[::2]}, "offsets must be a contiguous int64"),
        ({"feature_names": ["a"]}, "1 feature names for 5 features"),
        ({"labels": np.ones(9)}, "labels has 9 entries, expected 10"),
        ({"labels": np.ones(10, np.float32)}, "labels must be a contiguous float64 array of 1 dimension$"),
        ({"labels": np.ones(20)[::2]}, "labels must be a contiguous"),
        ({"labels": np.full(10, np.inf)}, "labels holds an infinite value"),
        ({"base_scores": np.ones(1)}, "base_scores has 1 entries"),
        ({"base_scores": np.full(10, -np.inf)}, "base_scores holds an infinite value"),
        ({"base_scores": np.ones(10, int)}, "base_scores must be"),
        ({"first_best": np.ones((10, 1))}, "first_best must be"),
        ({"first_best": np.full(10, np.nan)}, "first_best holds NaN"),
        ({"first_best": np.ones(11)}, "first_best has 11 entries"),
        ({"item_ids": StringColumn.from_strings("abc")}, "item_ids has 3 entries, expected 10"),
        ({"texts": StringColumn.from_strings("abc")}, "texts has 3 entries, expected 10"),
        ({"list_ids": StringColumn.from_strings("abc")}, "list_ids has 3 entries, expected 4"),
        ({"trees": Forest.from_strings([])}, "trees has 0 entries, expected 10"),
        ({"gold": Forest.from_strings([""])}, "gold has 1 entries, expected 4"),
        ({"references": (StringColumn.from_strings("abc"),)}, r"references\[0\] has 3 entries, expected 4"),
        ({"rows": np.arange(9)}, "rows has 9 entries"),
        ({"rows": np.arange(10, dtype=np.int32)}, "rows must be a contiguous int64"),
        ({"rows": np.zeros(10, np.int64)}, r"rows is not a permutation of 0\.\.9"),
        ({"counts": {"m": np.ones((9, 2))}}, r"counts\[m\] has 9 entries"),
        (
            {"counts": {"m": np.ones(10)}},
            r"counts\[m\] must be a contiguous float64 or int32 array of 2 dimensions",
        ),
        ({"features": Dense(np.full((10, 5), np.inf))}, "item 0, feature column 0: value is inf"),
    ],
)
def test_invariants(changes, message):
    with pytest.raises(DataError, match=message):
        replace(full_lists(), **changes)


def test_missing_values_are_noticed():
    lists = full_lists()
    assert not lists.has_missing
    X = lists.features.values.copy()
    X[3, 2] = np.nan
    assert replace(lists, features=Dense(X)).has_missing


def test_small_views():
    lists = full_lists()
    assert (len(lists), lists.n_lists, lists.n_items, lists.n_features) == (4, 4, 10, 5)
    assert lists.list_index.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 3, 3]
    assert repr(lists) == "CandidateLists(4 lists, 10 items, 5 dense features)"
    assert lists.names() == ["f0", "f1", "f2", "f3", "f4"]
    assert replace(lists, feature_names=None).names() == ["1", "2", "3", "4", "5"]
    assert lists.column_of("f3") == 3
    assert lists.list_id(1) == "q1"
    assert replace(lists, list_ids=None).list_id(1) == "2"
    assert offsets_of([2, 1]).tolist() == [0, 2, 3]
    labels = np.full(10, np.nan)
    labels[4] = 0
    assert replace(lists, labels=labels).judged_lists().tolist() == [False, False, True, False]
    assert not replace(lists, labels=None).judged_lists().any()


def test_an_unknown_feature_is_refused_with_the_nearest_name():
    with pytest.raises(DataError, match="made: no feature 'F3'; did you mean 'f3'"):
        full_lists().column_of("F3")


def test_first_best_by_input_and_by_feature():
    lists = full_lists()
    by_input = lists.with_first_best("input")
    order = np.argsort(-by_input.first_best, kind="stable")
    assert lists.rows[order].tolist() == list(range(10))
    plain = replace(lists, rows=None).with_first_best("input")
    assert np.argsort(-plain.first_best).tolist() == list(range(10))
    assert np.array_equal(lists.with_first_best("f2").first_best, lists.features.values[:, 2])
    with pytest.raises(DataError, match="no feature 'bm25'"):
        lists.with_first_best("bm25")
    holes = lists.features.values.copy()
    holes[1, 2] = np.nan
    with pytest.raises(DataError, match="first_best holds NaN"):
        replace(lists, features=Dense(holes)).with_first_best("f2")


@given(st.permutations(range(10)), st.integers(1, 3))
def test_input_order_and_back(rows, width):
    lists = replace(full_lists(), rows=np.array(rows))
    values = np.arange(10.0 * width).reshape(10, width)
    by_line = lists.input_order(values)
    for item, row in enumerate(rows):
        assert np.array_equal(by_line[row], values[item])
    assert np.array_equal(lists.from_input_order(by_line), values)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.sampled_from(["dense", "sparse"]))
def test_a_subset_has_every_column_of_its_lists(chosen, layout):
    lists = full_lists(layout)
    part = lists.subset(chosen)
    items = np.concatenate([np.arange(lists.offsets[i], lists.offsets[i + 1]) for i in chosen])
    assert part.lengths.tolist() == [int(lists.lengths[i]) for i in chosen]
    assert np.array_equal(part.features.to_dense(), lists.features.to_dense()[items])
    for name in ("labels", "base_scores", "first_best"):
        assert np.array_equal(getattr(part, name), getattr(lists, name)[items], equal_nan=True)
    assert list(part.item_ids) == [lists.item_ids[i] for i in items]
    assert list(part.texts) == [lists.texts[i] for i in items]
    assert [part.trees[k] for k in range(len(items))] == [lists.trees[i] for i in items]
    assert [part.gold[k] for k in range(len(chosen))] == [lists.gold[i] for i in chosen]
    assert list(part.list_ids) == [lists.list_ids[i] for i in chosen]
    assert list(part.references[1]) == [lists.references[1][i] for i in chosen]
    assert np.array_equal(part.counts["WER"], lists.counts["WER"][items])
    assert part.names() == lists.names()
    # Lines keep their relative order, and are numbered anew.
    assert np.array_equal(np.argsort(part.rows), np.argsort(lists.rows[items], kind="stable"))
    assert sorted(part.rows) == list(range(len(items)))


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_regrouped_lists_keep_every_column(layout):
    lists = full_lists(layout)
    ids = [lists.list_id(i) for i in lists.list_index]
    assert same(lists.regrouped(ids), replace(lists, list_ids=StringColumn.from_strings(dict.fromkeys(ids))))
    other = lists.regrouped(["b" if i in (1, 3, 9) else "a" for i in range(10)])
    items = np.array([0, 2, 4, 5, 6, 7, 8, 1, 3, 9])
    assert list(other.list_ids) == ["a", "b"]
    assert other.offsets.tolist() == [0, 7, 10]
    assert np.array_equal(other.features.to_dense(), lists.features.to_dense()[items])
    assert np.array_equal(other.rows, lists.rows[items])
    assert np.array_equal(other.counts["WER"], lists.counts["WER"][items])
    assert list(other.texts) == [lists.texts[i] for i in items]
    assert list(other.references[0]) == [lists.references[0][0]] * 2
    assert list(other.gold.to_strings()) == [lists.gold[0]] * 2
    assert replace(lists, rows=None).regrouped(list("abcabcabca")).rows.tolist() == [
        0, 3, 6, 9, 1, 4, 7, 2, 5, 8,
    ]  # fmt: skip


def test_labels_are_replaced_and_nothing_else():
    lists = full_lists()
    assert same(lists.replace_labels(np.ones(10)), replace(lists, labels=np.ones(10)))
    assert lists.replace_labels(None).labels is None


def test_a_mask_chooses_as_numbers_do():
    lists = full_lists()
    assert same(lists.subset(np.array([True, False, True, False])), lists.subset([0, 2]))
    assert lists.subset([1]).rows.tolist() == [0]
    assert replace(lists, rows=None).subset([2, 0]).rows is None


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([], "a subset of no lists"),
        (np.zeros(4, bool), "a subset of no lists"),
        (np.ones(5, bool), "a mask over the lists or by numbers"),
        ([4], r"within 0\.\.3"),
        ([-1], r"within 0\.\.3"),
        ([0.5], "by numbers"),
        ([[0]], "by numbers"),
    ],
)
def test_impossible_subsets_are_refused(chosen, message):
    with pytest.raises(DataError, match=message):
        full_lists().subset(chosen)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_fingerprint_changes_with_lists_features_labels_and_names(layout):
    lists = full_lists(layout)
    labels = lists.labels.copy()
    labels[1] += 1
    features = lists.features
    if isinstance(features, Dense):
        values = features.values.copy()
        values[0, 0] += 1
        others = [Dense(values), Dense(features.values.reshape(10, 5)[:, ::-1].copy())]
    elif layout == "mixed":
        rows = replace(features.rows, data=2 * features.rows.data)
        others = [replace(features, values=features.values + 1), replace(features, rows=rows)]
    else:
        ones = np.ones(features.n_values)
        others = [replace(features, data=2 * ones)]
        if layout == "indicators":
            others.append(replace(features, data=ones))
    changed = [
        replace(lists, offsets=np.array([0, 2, 4, 8, 10])),
        replace(lists, labels=labels),
        replace(lists, labels=None),
        replace(lists, feature_names=["f0", "f1", "f2", "f3", "g"]),
        *(replace(lists, features=other) for other in others),
    ]
    prints = [lists.fingerprint(), *(other.fingerprint() for other in changed)]
    assert len(set(prints)) == len(prints)
    assert full_lists(layout).fingerprint() == prints[0]
    assert replace(lists, texts=None, source="elsewhere").fingerprint() == prints[0]


def test_features_without_a_value_have_a_fingerprint():
    empty = Sparse(np.zeros(3, np.int64), np.empty(0, np.int32), None, 2)
    a = CandidateLists(np.array([0, 2]), empty)
    b = CandidateLists(np.array([0, 1, 2]), empty)
    assert a.fingerprint() != b.fingerprint()


class Frame(np.lib.mixins.NDArrayOperatorsMixin):
    """Behaves as a pandas DataFrame or Series with an index of its own: entries are taken by label."""

    def __init__(self, values, columns=()):
        self.values, self.columns = np.asarray(values), columns

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype) if dtype else self.values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values.tolist())

    def __getitem__(self, label):
        raise KeyError(label)


def test_columns_of_a_data_frame_are_the_features_names():
    X, y, qid = Frame([[1, 2], [3, 4], [5, 6]], ["a", "b"]), Frame([0, None, 1]), Frame([2.0, 1.0, 2.0])
    lists = CandidateLists.from_arrays(X, y, qid=qid)
    assert lists.names() == ["a", "b"]
    assert list(lists.list_ids) == ["2", "1"]
    assert np.array_equal(lists.input_order(lists.labels), [0, np.nan, 1], equal_nan=True)
    assert CandidateLists.from_arrays(X, feature_names=["c", "d"]).names() == ["c", "d"]
    assert CandidateLists.from_arrays(Frame(np.eye(2), range(2))).feature_names is None


@pytest.mark.parametrize("qid", [[1.0, np.nan], ["a", None], np.array(["2026-01-01", "NaT"], "M8[D]")])
def test_a_missing_qid_is_refused(qid):
    with pytest.raises(DataError, match=r"^made: the qid of row 2 is missing$"):
        CandidateLists.from_arrays(np.ones((2, 1)), qid=qid, source="made")


def test_values_of_another_length_have_no_order():
    lists = full_lists()
    for change in (lists.input_order, lists.from_input_order, replace(lists, rows=None).from_input_order):
        with pytest.raises(DataError, match=r"^values have shape \(11,\), expected \(10, ...\)$"):
            change(np.ones(11))


def test_more_items_than_kernels_can_number_are_refused():
    with pytest.raises(DataError, match=r"^arrays: 2,147,483,648 items, expected at most 2,147,483,647$"):
        CandidateLists(np.array([0, 2**31]), Dense(np.empty((2**31, 0))))


def test_named_trees():
    lists = full_lists()
    assert lists.tree_names() == ["tree", "question", "passage"]
    assert lists.forest("tree") is lists.trees
    assert lists.forest("passage") is lists.structures["passage"]
    with pytest.raises(DataError, match="made: no trees 'pasage'; did you mean 'passage'"):
        lists.forest("pasage")
    with pytest.raises(DataError, match="no trees 'tree'; the lists have no trees"):
        CandidateLists.from_arrays(np.ones((2, 1))).forest("tree")
    part = lists.subset([2, 0]).forest("question")
    assert [part[k] for k in range(7)] == [lists.forest("question")[k] for k in (4, 5, 6, 7, 0, 1, 2)]
    assert replace(lists, trees=None).tree_names() == ["question", "passage"]


@pytest.mark.parametrize("name", ["tree", "", "1a", "a b", "é", "a.b"])
def test_names_of_trees_are_plain(name):
    lists = full_lists()
    with pytest.raises(DataError, match=f"made: structures: found the name {name!r}, expected a letter"):
        replace(lists, structures={name: lists.trees})
    with pytest.raises(DataError, match=r"structures\[a\] has 4 entries, expected 10"):
        replace(lists, structures={"a": lists.gold})


def test_the_fingerprint_changes_with_trees_not_with_their_symbols():
    lists = full_lists()
    question, passage = lists.structures.values()
    other = Forest.from_strings(["(a b)", *question.to_strings()]).take(np.arange(1, 11))
    assert other == question
    equal = replace(lists, structures={"passage": passage, "question": other})
    assert equal.fingerprint() == lists.fingerprint()
    changed = [
        replace(lists, trees=None),
        replace(lists, trees=passage),
        replace(lists, structures={}),
        replace(lists, structures={"question": passage, "passage": question}),
        replace(lists, structures={"query": question, "passage": passage}),
    ]
    prints = {lists.fingerprint(), *(other.fingerprint() for other in changed)}
    assert len(prints) == 6


def test_trees_from_python():
    lists = CandidateLists.from_arrays(
        None, [1, 0, 1], qid=["a", "b", "a"], trees=["(S a)", "", "(S b)"], structures={"q": ["(Q x)"] * 3}
    )
    assert list(lists.trees.to_strings()) == ["(S a)", "(S b)", ""]
    assert (lists.n_features, lists.forest("q")[2]) == (0, "(Q x)")
    with pytest.raises(DataError, match=r"arrays: q of row 2: found brackets that are not closed: '\(Q'"):
        CandidateLists.from_arrays(np.ones((2, 1)), structures={"q": [None, "(Q"]})
    with pytest.raises(DataError, match="arrays: trees has 1 entries, expected 2"):
        CandidateLists.from_arrays(np.ones((2, 1)), trees=["(S a)"])
    with pytest.raises(DataError, match="arrays: no items"):
        CandidateLists.from_arrays(None)
