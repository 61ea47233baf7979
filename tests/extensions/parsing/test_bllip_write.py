"""The writer of BLLIP's feature files: what it writes reads back the same, what it cannot hold it refuses."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.core.errors import DataError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.extensions.parsing.bllip import Bllip, ids_of
from rerank.formats import load
from rerank.formats.base import save

numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.decimals(-1000, 1000, places=6).map(float),
    st.binary(min_size=8, max_size=8)
    .map(lambda b: float(struct.unpack("<d", b)[0]))
    .filter(lambda v: abs(v) < float("inf")),
)


def edges(draw: st.DrawFn, lengths: list[int]) -> np.ndarray:
    """Matched, gold, test, and NaN for crossing and words: float64 (n_items, 5)."""
    rows = []
    for length in lengths:
        gold = draw(st.integers(0, 40))
        for _ in range(length):
            test = draw(st.integers(0, 40))
            rows.append([draw(st.integers(0, min(gold, test))), gold, test, np.nan, np.nan])
    return np.array(rows, dtype=np.float64)


@st.composite
def parses(draw: st.DrawFn) -> CandidateLists:
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    n_items, width = sum(lengths), draw(st.integers(0, 5))
    values = draw(st.lists(numbers, min_size=n_items * width, max_size=n_items * width))
    X = np.array(values, dtype=np.float64).reshape(n_items, width)
    features: Dense | Sparse = Dense(X)
    if draw(st.booleans()):
        present = X > 0 if draw(st.booleans()) else np.ones_like(X, dtype=bool)
        indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64)
        indices = np.nonzero(present)[1].astype(np.int32)
        features = Sparse(indptr, indices, X[present] if draw(st.booleans()) else None, width)
    return CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        features,
        counts={"PARSEVAL": edges(draw, lengths)},
    )


@given(parses())
@settings(max_examples=100)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, lists: CandidateLists) -> None:
    path = str(tmp_path_factory.getbasetemp() / "round.bllip")
    Bllip().write(lists, path)
    again = load(path)
    assert np.array_equal(again.offsets, lists.offsets)
    assert np.array_equal(again.counts["PARSEVAL"], lists.counts["PARSEVAL"], equal_nan=True)
    assert again.n_features == lists.n_features
    assert np.array_equal(again.features.to_dense(), lists.features.to_dense())
    second = path + "2.bllip"
    Bllip().write(again, second)
    assert Path(second).read_bytes() == Path(path).read_bytes()


def small(**columns: object) -> CandidateLists:
    counts = np.array([[7, 7, 7], [6, 7, 8], [0, 2, 0]], dtype=np.float64)
    X = np.array([[1.0, 0.0, 0.0], [-0.25, 3.0, 0.0], [1e22, 0.1, 0.0]])
    values = {"counts": {"PARSEVAL": counts}, **columns}
    return CandidateLists(np.array([0, 2, 3]), values.pop("features", Dense(X)), **values)


TEXT = "S=2\nG=7 N=2 P=7 W=7 0 2=0, P=8 W=6 0=-0.25 1=3,\nG=2 N=1 P=0 W=0 0=1e+22 1=0.1,\n"


def written(tmp_path: Path, lists: CandidateLists) -> str:
    path = tmp_path / "out.bllip"
    save(lists, str(path))
    return path.read_text()


def test_the_text(tmp_path: Path) -> None:
    """As the extractor's, except for one 0 that shows how many features there are."""
    assert written(tmp_path, small()) == TEXT


def test_by_way_of_a_store(tmp_path: Path) -> None:
    """What the file does not record (crossing brackets, words) is NaN there too."""
    (tmp_path / "in.bllip").write_text(TEXT)
    save(load(tmp_path / "in.bllip"), str(tmp_path / "parses.store"))
    again = load(tmp_path / "parses.store")
    assert np.all(np.isnan(again.counts["PARSEVAL"][:, 3:]))
    assert written(tmp_path, again).splitlines()[2] == TEXT.splitlines()[2]


def test_large_sets_are_written_block_by_block(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n, width = 3000, 60
    X = np.where(rng.random((n, width)) < 0.8, rng.normal(size=(n, width)), 0.0)
    counts = np.column_stack([rng.integers(0, 5, n), np.full(n, 9), rng.integers(5, 9, n)])
    offsets = np.arange(0, n + 1, 30)
    lists = CandidateLists(offsets, Dense(X), counts={"PARSEVAL": counts.astype(np.float64)})
    written(tmp_path, lists)
    again = load(tmp_path / "out.bllip")
    assert np.array_equal(again.features.to_dense(), X)
    assert np.array_equal(again.counts["PARSEVAL"][:, :3], counts)


def test_names_that_are_ids_are_kept(tmp_path: Path) -> None:
    lists = small(feature_names=["0", "7", "900"])
    assert written(tmp_path, lists).splitlines()[1] == "G=7 N=2 P=7 W=7 0 900=0, P=8 W=6 0=-0.25 7=3,"
    assert load(tmp_path / "out.bllip").n_features == 901


@pytest.mark.parametrize(
    ("names", "ids", "known"),
    [
        (None, [0, 1, 2], True),
        (["1", "2", "3"], [0, 1, 2], True),
        (["0", "1", "2"], [0, 1, 2], True),
        (["0", "5", "99999999"], [0, 5, 99999999], True),
        (["0", "5", "100000000"], [0, 1, 2], False),
        (["0", "5", "4"], [0, 1, 2], False),
        (["0", "05", "6"], [0, 1, 2], False),
        (["NLogP 0", "5", "6"], [0, 1, 2], False),
    ],
)
def test_ids_of_names(names: list[str] | None, ids: list[int], known: bool) -> None:
    found, says_all = ids_of(names, 3)
    assert found.tolist() == ids
    assert says_all == known


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    lists = small(
        labels=np.array([1.0, 2.0, 3.0]),
        first_best=np.array([1.0, 2.0, 3.0]),
        base_scores=np.zeros(3),
        list_ids=StringColumn.from_strings(["1", "b"]),
        texts=StringColumn.from_strings(["x", "y", "z"]),
        feature_names=["a", "b", "c"],
    )
    columns = "labels, base scores, first-stage order, list ids, feature names, texts"
    left = f"bllip holds no {columns}; left out"
    with pytest.warns(DataNote, match=left):
        written(tmp_path, lists)


def test_a_set_as_read_needs_no_note(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "in.bllip").write_text(TEXT)
    assert written(tmp_path, load(tmp_path / "in.bllip")).startswith("S=2\nG=7 N=2 P=7 W=7 0")
    assert not recwarn.list


def test_what_it_cannot_hold_it_refuses(tmp_path: Path) -> None:
    lists = small()
    good = lists.counts["PARSEVAL"]

    def refused(message: str, bad: CandidateLists) -> None:
        with pytest.raises(DataError, match=message):
            written(tmp_path, bad)
        assert list(tmp_path.iterdir()) == []

    def with_cell(row: int, column: int, value: float) -> CandidateLists:
        counts = good.copy()
        counts[row, column] = value
        return replace(lists, counts={"PARSEVAL": counts})

    refused("needs counts of PARSEVAL .*found none", replace(lists, counts={}))
    refused("found BLEU", replace(lists, counts={"BLEU": good}))
    refused("item 0 has 8 matched", with_cell(0, 0, 8))
    refused("item 2 has -1 matched", with_cell(2, 0, -1))
    refused("item 1 has 6 matched, 7 gold, 7.5 test", with_cell(1, 2, 7.5))
    refused("item 1 has 6 matched, 7 gold, nan test", with_cell(1, 2, np.nan))
    refused("item 1 has 6 matched, 7 gold, 1e.30 test", with_cell(1, 2, 1e30))
    refused("list '1' has several numbers of gold", with_cell(1, 1, 9))
    X = lists.features.values.copy()
    X[1, 1] = np.nan
    refused("cannot hold missing values", replace(lists, features=Dense(X)))
