"""What every format must do. A new one joins by being registered, and by a line in the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.errors import ConfigError, DataError, RerankError
from rerank.formats import FORMATS, ReadOptions, load
from rerank.formats.base import Format


@dataclass(frozen=True)
class Holds:
    """What a format can hold; the default is what a text of labels and features holds."""

    labels: bool = True
    unjudged: bool = False
    features: bool = True
    list_ids: bool = True
    item_ids: bool = True
    rows: bool = True
    writes: bool = True
    folder: bool = False


# What a format has to say of a set is for its own tests.
pytestmark = pytest.mark.filterwarnings("ignore::rerank.errors.DataNote")

HOLDS = {
    "bllip": Holds(
        writes=False
    ),  # writes only sets with counts of PARSEVAL: tests/formats/test_bllip_write.py
    "fairseq": Holds(writes=False),
    "flat": Holds(writes=False),  # lists of one length only, see tests/formats/test_flat.py
    "moses": Holds(labels=False, item_ids=False),
    "svmlight": Holds(),
    "jsonl": Holds(unjudged=True, rows=False),
    "table": Holds(unjudged=True),
    "trec": Holds(writes=False),  # writes only sets with first-stage scores: tests/formats/test_trec.py
    "parses": Holds(writes=False),  # writes only sets with trees: tests/formats/test_parses.py
    "store": Holds(unjudged=True, folder=True),
}

STRINGS = StringColumn.from_strings
LISTS = {
    "ids": CandidateLists(
        np.array([0, 3, 4]),
        Dense(np.array([[0.5, 1.0], [0.25, -3.0], [1e-7, 0.0], [123456.789, 2.0]])),
        labels=np.array([0.0, 1.0, 2.0, 0.5]),
        list_ids=STRINGS(["q-1", "18446744073709551616"]),
        item_ids=STRINGS(["d1", "été", "a -> b", "d4"]),
    ),
    "ties": CandidateLists(
        np.array([0, 4]),
        Dense(np.ones((4, 3))),
        labels=np.zeros(4),
        list_ids=STRINGS(["same"]),
        item_ids=STRINGS(["x", "x", "x", "x"]),
    ),
    "one-item lists": CandidateLists(
        np.array([0, 1, 2, 3]),
        Dense(np.array([[1.0], [0.0], [-1.0]])),
        labels=np.array([1.0, 0.0, 3.0]),
        list_ids=STRINGS(["a", "b", "c"]),
        item_ids=STRINGS(["1", "2", "3"]),
    ),
    "sparse": CandidateLists(
        np.array([0, 2, 3]),
        Sparse(np.array([0, 1, 1, 3]), np.array([4, 0, 6], np.int32), np.array([0.1, 2.0, -5.0]), 9),
        labels=np.array([1.0, 0.0, 0.0]),
        list_ids=STRINGS(["a", "b"]),
        item_ids=STRINGS(["1", "2", "3"]),
    ),
    "rows": CandidateLists(
        np.array([0, 2, 4]),
        Dense(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])),
        labels=np.array([0.0, 1.0, 2.0, 3.0]),
        list_ids=STRINGS(["a", "b"]),
        item_ids=STRINGS(["1", "2", "3", "4"]),
        rows=np.array([0, 2, 1, 3]),
    ),
}

NAMES = FORMATS.names()
WRITERS = [name for name in NAMES if name not in HOLDS or HOLDS[name].writes]


def make(name: str) -> Format:
    return FORMATS.get(name)()


@pytest.mark.parametrize("name", NAMES)
def test_has_a_line_in_the_table_and_says_what_it_is(name: str) -> None:
    assert name in HOLDS, "add the format to HOLDS"
    kind = FORMATS.get(name)
    assert kind.name == name
    assert kind.summary
    assert "\n" not in kind.summary
    assert all(suffix.startswith(".") for suffix in kind.suffixes)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("case", LISTS)
def test_round_trip(tmp_path: Path, name: str, case: str) -> None:
    lists, holds = LISTS[case], HOLDS[name]
    path = str(tmp_path / "set")
    make(name).write(lists, path)
    again = load(str(path), format=name)
    assert np.array_equal(again.offsets, lists.offsets)
    if holds.labels:
        assert np.array_equal(again.labels, lists.labels)
    if holds.features:
        assert again.n_features == lists.n_features
        assert np.array_equal(again.features.to_dense(), lists.features.to_dense())
    if holds.list_ids:
        assert again.list_ids == lists.list_ids
    if holds.item_ids:
        assert again.item_ids == lists.item_ids
    if holds.rows:
        first, second = (np.arange(x.n_items) if x.rows is None else x.rows for x in (lists, again))
        assert np.array_equal(first, second)


@pytest.mark.filterwarnings("ignore::rerank.errors.DataNote")
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_lists_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    contents = []
    for run in ("a", "b"):
        path = tmp_path / run
        make(name).write(LISTS["ids"], str(path))
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        contents.append([(f.relative_to(path).as_posix(), f.read_bytes()) for f in files if f.is_file()])
    assert contents[0] == contents[1]


@pytest.mark.parametrize("name", WRITERS)
def test_unjudged_items_are_held_or_refused(tmp_path: Path, name: str) -> None:
    lists = CandidateLists.from_arrays(np.ones((2, 1)), [1.0, np.nan], qid=["a", "a"])
    path = tmp_path / "set"
    if HOLDS[name].unjudged:
        make(name).write(lists, str(path))
        assert np.array_equal(load(str(path), format=name).labels, lists.labels, equal_nan=True)
    elif HOLDS[name].labels:
        with pytest.raises(DataError):
            make(name).write(lists, str(path))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_one_line(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "none")
    with pytest.raises(RerankError) as caught:
        load(path, format=name)
    assert path in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "empty"
    path.mkdir() if HOLDS[name].folder else path.write_bytes(b"")
    with pytest.raises(RerankError) as caught:
        load(str(path), format=name)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::rerank.errors.DataNote")
@pytest.mark.parametrize("name", WRITERS)
def test_a_write_leaves_the_target_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / "set"
    for case in ("ids", "ties"):
        make(name).write(LISTS[case], str(path))
        assert list(tmp_path.iterdir()) == [path]
        assert load(str(path), format=name).n_items == LISTS[case].n_items
    with pytest.raises(RerankError):
        make(name).write(LISTS["ids"], str(tmp_path / "no" / "folder" / "set"))


@pytest.mark.parametrize("name", NAMES)
def test_an_option_is_honoured_or_refused(tmp_path: Path, name: str) -> None:
    changes = {
        "strict": True,
        "missing": "nan",
        "zero_based": True,
        "feature_names": str(tmp_path / "names"),
        "layout": "dense",
        "dtype": "float32",
        "refs": ("refs",),
        "distinct": True,
        "merge": ("more",),
        "n_best": 2,
        "list_column": "list",
        "label_column": "label",
        "id_column": "id",
        "text_column": "text",
        "qrels": "qrels",
        "ids": "ids",
        "strip": ("traces",),
    }
    for option, value in changes.items():
        if option not in FORMATS.get(name).honours:
            with pytest.raises(ConfigError, match=option):
                make(name).read(str(tmp_path / "set"), ReadOptions(**{option: value}))
