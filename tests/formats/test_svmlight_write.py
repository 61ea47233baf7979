"""The SVMlight writer: what it writes reads back the same, what it cannot hold it refuses."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.core.errors import DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.formats import load
from rerank.formats.svmlight import SVMLight

finite = st.floats(allow_nan=False, allow_infinity=False)
numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.decimals(-1000, 1000, places=6).map(float),
    st.just(-0.0),
    finite,
    st.binary(min_size=8, max_size=8)
    .map(lambda b: float(struct.unpack("<d", b)[0]))
    .filter(lambda v: abs(v) < float("inf")),
)
names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\n\r\t# ", min_codepoint=33), min_size=1, max_size=8
)


@st.composite
def candidate_lists(draw: st.DrawFn) -> CandidateLists:
    n_lists = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, 3), min_size=n_lists, max_size=n_lists))
    n_items, width = sum(lengths), draw(st.integers(0, 5))
    values = draw(st.lists(numbers, min_size=n_items * width, max_size=n_items * width))
    X = np.array(values, dtype=np.float64).reshape(n_items, width)
    features: Dense | Sparse = Dense(X)
    if draw(st.booleans()):
        present = X > 0 if draw(st.booleans()) else np.ones_like(X, dtype=bool)
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        indices = np.nonzero(present)[1].astype(np.int32)
        features = Sparse(indptr, indices, X[present] if draw(st.booleans()) else None, width)
    ids = None
    if draw(st.booleans()):
        ids = draw(st.lists(names, min_size=n_items, max_size=n_items))
    return CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        features,
        labels=np.array(draw(st.lists(numbers, min_size=n_items, max_size=n_items))),
        list_ids=StringColumn.from_strings(
            draw(st.lists(names, min_size=n_lists, max_size=n_lists, unique=True))
        ),
        item_ids=None if ids is None else StringColumn.from_strings(ids),
    )


@given(candidate_lists())
@settings(max_examples=50, deadline=None)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, lists: CandidateLists) -> None:
    path = str(tmp_path_factory.getbasetemp() / "round.txt")
    SVMLight().write(lists, path)
    again = load(path, strict=True)
    assert np.array_equal(again.offsets, lists.offsets)
    assert again.list_ids == lists.list_ids
    assert again.item_ids == lists.item_ids
    assert again.rows is None
    assert again.labels.tobytes() == lists.labels.tobytes()
    assert again.n_features == lists.n_features
    dense, expected = again.features.to_dense(), lists.features.to_dense()
    assert np.array_equal(dense, expected)
    if isinstance(lists.features, Dense):
        assert np.array_equal(np.signbit(dense), np.signbit(expected))


def small(**columns: object) -> CandidateLists:
    X = columns.pop("X", np.array([[1.0, 0.0], [0.5, 0.0], [2.0, 0.0]]))
    values = {"labels": np.array([1.0, 0.0, 2.0]), **columns}
    features = X if isinstance(X, Sparse) else Dense(X)
    return CandidateLists(np.array([0, 2, 3]), features, **values)


def written(tmp_path: Path, lists: CandidateLists) -> str:
    path = tmp_path / "out.txt"
    SVMLight().write(lists, str(path))
    return path.read_text()


def test_the_text_is_short(tmp_path: Path) -> None:
    X = np.array([[1.0, -0.25, 1e22], [0.1, 1e-5, -0.0], [1e15, 123456.789012, 6.520804200793011e-08]])
    lists = small(X=X, item_ids=StringColumn.from_strings(["a", "", "b c"]))
    assert written(tmp_path, lists) == (
        "1 qid:1 1:1 2:-0.25 3:1e+22 # a\n"
        "0 qid:1 1:0.1 2:0.00001 3:-0\n"
        "2 qid:2 1:1000000000000000 2:123456.789012 3:6.520804200793011e-08 # b c\n"
    )


def test_a_sparse_set_leaves_zeros_out_but_names_its_last_feature(tmp_path: Path) -> None:
    features = Sparse(np.array([0, 1, 2, 2]), np.array([0, 2], np.int32), np.array([3.0, 0.0]), 4)
    assert written(tmp_path, small(X=features)) == "1 qid:1 1:3 4:0\n0 qid:1\n2 qid:2\n"
    assert load(tmp_path / "out.txt").n_features == 4
    ones = Sparse(np.array([0, 1, 2, 2]), np.array([0, 3], np.int32), None, 4)
    assert written(tmp_path, small(X=ones)) == "1 qid:1 1:1\n0 qid:1 4:1\n2 qid:2\n"


def test_lines_come_in_the_order_of_the_input(tmp_path: Path) -> None:
    text = "1 qid:b 1:1 # x\n2 qid:a 1:2 # y\n3 qid:b 1:3 # z\n"
    path = tmp_path / "in.txt"
    path.write_text(text)
    with pytest.warns(DataNote, match="not contiguous"):
        lists = load(path)
    assert written(tmp_path, lists) == text


def test_one_list_without_an_id_gets_none(tmp_path: Path) -> None:
    lists = CandidateLists.from_arrays(np.array([[1.0], [2.0]]), [0, 1])
    assert written(tmp_path, lists) == "0 1:1\n1 1:2\n"


def test_missing_values_are_left_out(tmp_path: Path) -> None:
    lists = small(X=np.array([[np.nan, 1.0], [0.0, np.nan], [1.0, 0.0]]))
    assert written(tmp_path, lists) == "1 qid:1 2:1\n0 qid:1 1:0\n2 qid:2 1:1 2:0\n"
    again = load(tmp_path / "out.txt", missing="nan")
    assert np.array_equal(again.features.to_dense(), lists.features.to_dense(), equal_nan=True)


def test_many_lines_pass_the_buffer_in_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(3000, 60)), 4)
    lists = CandidateLists.from_arrays(X, rng.integers(0, 3, 3000), group=[30] * 100)
    assert 3000 * 60 * 40 > 1 << 22
    written(tmp_path, lists)
    assert np.array_equal(load(tmp_path / "out.txt").features.to_dense(), X)


def ids(*strings: str) -> StringColumn:
    return StringColumn.from_strings(strings)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"labels": None}, "cannot hold items without a label"),
        ({"labels": np.array([1, np.nan, 0])}, "cannot hold items without a label"),
        ({"list_ids": ids("a b", "c")}, "cannot hold the list id 'a b'"),
        ({"list_ids": ids("a", "c#")}, "cannot hold the list id 'c#'"),
        ({"list_ids": ids("a", "")}, "cannot hold the list id ''"),
        ({"list_ids": ids("a", "a")}, "two lists have the id 'a'"),
        ({"item_ids": ids("a", "b\nc", "d")}, "would read the item id 'b\\\\nc' back as another one"),
        ({"item_ids": ids("a", "b\0c", "d")}, "would read the item id 'b\\\\x00c' back"),
        ({"item_ids": ids("a", " b", "d")}, "would read the item id ' b' back"),
        ({"item_ids": ids("a", "b", "d\r")}, "would read the item id 'd\\\\r' back"),
        ({"item_ids": ids("docx", "docid", "docid = 7")}, "would read the item id 'docid = 7' back"),
        ({"X": np.array([[1.0, np.nan]] * 3)}, "cannot hold a last feature that is missing everywhere"),
        (
            {"X": Sparse(np.array([0, 1, 1, 1]), np.array([0], np.int32), np.array([np.nan]), 2)},
            "cannot hold both zeros and missing values left out",
        ),
    ],
)
def test_what_would_not_read_back_is_refused(
    tmp_path: Path, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        written(tmp_path, small(**columns))
    assert "format store holds it" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_same_lists_give_the_same_bytes_compressed(tmp_path: Path) -> None:
    for suffix in ("gz", "bz2", "xz", "zst"):
        if suffix == "zst":
            pytest.importorskip("zstandard")
        paths = [tmp_path / f"{name}.txt.{suffix}" for name in "ab"]
        for path in paths:
            SVMLight().write(small(), str(path))
        assert paths[0].read_bytes() == paths[1].read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert load(paths[0]).fingerprint() == load(paths[1]).fingerprint()
