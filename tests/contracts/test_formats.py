"""What every format must do. A new one joins by being registered: it declares in ``holds`` what it keeps."""

import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, RerankError
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces, key_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.formats import FORMATS, ReadOptions, load
from rerank.formats.base import COLUMNS, WORDS, Format

# Notes are for the formats' own tests, but for what a conversion leaves out.
pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")

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
    "unjudged": CandidateLists(
        np.array([0, 2]),
        Dense(np.ones((2, 1))),
        labels=np.array([1.0, np.nan]),
        list_ids=STRINGS(["a"]),
        item_ids=STRINGS(["1", "2"]),
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

TREES = Forest.from_strings(["(S (NP a) (VP b))", "(S (NP a b))", "(S (VP c))", "(S c)"])
TRACES = Traces(
    np.array([0, 2, 2, 3, 4]),
    np.array([key_of("A", -1), key_of("A", 2, "B"), key_of("", 1), key_of("B", 7)], dtype=np.uint64),
    np.arange(12.0).reshape(4, 3),
    np.array([65, 67, 88, 89], dtype=np.uint8),
)
SCORES = np.array([-1.5, -2.0, -0.5, -3.25])
COUNTS = np.array([[2.0, 2, 2, np.nan, np.nan], [1, 2, 3, np.nan, np.nan]] * 2)
# Every column, with values that each format which holds the column can hold.
FULL = CandidateLists(
    np.array([0, 2, 4]),
    Dense(np.array([[1.0, 2.0], [0.0, -3.5], [1.0, 1e-7], [2.0, 8.0]])),
    labels=2 * COUNTS[:, 0] / (COUNTS[:, 1] + COUNTS[:, 2]),
    base_scores=SCORES,
    first_best=-np.arange(4.0),
    classes=STRINGS(["1", "", "1,3", "2"]),
    list_ids=STRINGS(["1", "2"]),
    item_ids=STRINGS(["d1", "d2", "d1", "d3"]),
    rows=np.array([0, 2, 1, 3]),
    feature_names=["0", "1"],
    texts=TREES.to_strings(),
    prompts=STRINGS(["2+2?", ""]),
    fields={"title": STRINGS(["a", "", "b c", "d"])},
    answers=STRINGS(["4", "", "5", "x, y"]),
    references=(STRINGS(["a b", "c"]),),
    trees=TREES,
    traces=TRACES,
    natives=TRACES.take(np.array([3, 0])),
    structures={"question": TREES.take(np.array([3, 0, 3, 1])), "passage-2": TREES},
    gold=Forest.from_strings(["(S (NP a) (VP b))", "(S (NP c))"]),
    counts={"PARSEVAL": COUNTS},
    unretrieved=Ragged(np.array([1.0, 2.0]), np.array([0, 2, 2])),
    subtopics=STRINGS(["a\td1\t1.0\nb\td9\t2.0", ""]),
    vectors=np.arange(12.0, dtype=np.float32).reshape(4, 3),
    query_vectors=np.arange(6.0).reshape(2, 3),
    source="full",
)

# Examples with classes, as formats that honour classes hold them.
EXAMPLES = CandidateLists.from_arrays(
    np.array([[1.0, 2.0], [0.0, -3.5], [1.0, 1e-7], [2.0, 8.0], [0.0, 0.0]]),
    classes=["1", "", "1,3", "+2", "été"],
)

NAMES = FORMATS.names()
# Of pairs see tests/formats: what is read back are other lists.
WRITERS = [name for name in NAMES if FORMATS.get(name).holds and not FORMATS.get(name).as_pairs]


def make(name: str) -> Format:
    return FORMATS.get(name)()


def reread(name: str, lists: CandidateLists, path: Path) -> CandidateLists:
    """The lists written to ``path`` and read back."""
    make(name).write(lists, str(path))
    honours = FORMATS.get(name).honours
    return load(path, format=name, **({"n_best": int(lists.lengths[0])} if "n_best" in honours else {}))


def has(lists: CandidateLists, column: str) -> bool:
    """Whether the lists have something in a column; names 1, 2, ... and lines in order are nothing."""
    if column == "features":
        return lists.n_features > 0
    if column == "feature_names":
        return lists.names() != [str(j + 1) for j in range(lists.n_features)]
    if column == "rows":
        return lists.rows is not None and bool(np.any(np.diff(lists.rows) < 0))
    return getattr(lists, column) is not None and len(getattr(lists, column)) > 0


def same(column: str, lists: CandidateLists, again: CandidateLists) -> bool:
    """Whether a column is equal in both sets."""
    a, b = getattr(lists, column), getattr(again, column)
    if column == "features":
        return np.array_equal(a.to_dense(), b.to_dense(), equal_nan=True)
    if column == "feature_names":
        return lists.names() == again.names()
    if column == "first_best":  # the ranking counts
        order = [np.lexsort((-values, lists.list_index)) for values in (a, b)]
        return np.array_equal(*order)
    if column == "rows":
        a, b = (np.arange(lists.n_items) if rows is None else rows for rows in (a, b))
    if column == "counts":
        return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)
    if column in ("traces", "natives"):
        return all(np.array_equal(values, b.arrays()[name]) for name, values in a.arrays().items())
    if column == "unretrieved":
        return np.array_equal(a.values, b.values) and np.array_equal(a.offsets, b.offsets)
    return np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else a == b


def test_the_full_set_has_every_column() -> None:
    assert all(getattr(FULL, column) is not None and len(getattr(FULL, column)) for column in COLUMNS[1:])


@pytest.mark.parametrize("name", NAMES)
def test_declares_what_it_is(name: str) -> None:
    kind = FORMATS.get(name)
    assert kind.name == name
    assert kind.summary
    assert "\n" not in kind.summary
    assert all(suffix.startswith(".") for suffix in kind.suffixes)
    assert kind.holds <= set(COLUMNS)
    assert kind.honours <= set(ReadOptions.settings)


@pytest.mark.parametrize("name", NAMES)
def test_a_format_that_is_only_read_refuses_to_write(tmp_path: Path, name: str) -> None:
    if not FORMATS.get(name).holds:
        with pytest.raises(DataError, match="read only"):
            make(name).write(FULL, str(tmp_path / "set"))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_format_holds_reads_back_and_the_rest_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a note with a long path would be shortened
    holds = FORMATS.get(name).holds
    with pytest.warns(DataNote) if holds != set(COLUMNS) else nullcontext([]) as notes:
        again = reread(name, FULL, Path("set"))
    assert np.array_equal(again.offsets, FULL.offsets)
    assert [column for column in COLUMNS if column in holds and not same(column, FULL, again)] == []
    reports = [str(n.message) for n in notes if str(n.message).endswith("; left out")]
    left = [column for column in COLUMNS if column not in holds]
    read = [column for column in left if getattr(again, column) is not None]
    assert [column for column in read if same(column, FULL, again)] == [], "kept, but not declared in holds"
    lost = ", ".join(WORDS.get(column, column.replace("_", " ")) for column in left)
    assert reports == ([f"set: {name} holds no {lost}; left out"] if left else [])


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("ids", [None, ["a", "b", "a", "c", "c"]])
@pytest.mark.parametrize("name", [name for name in WRITERS if "classes" in FORMATS.get(name).honours])
def test_classes_read_back(tmp_path: Path, name: str, ids: list[str] | None, layout: str) -> None:
    lists = EXAMPLES if layout == "dense" else replace(EXAMPLES, features=EXAMPLES.features.compressed())
    lists = lists if ids is None else lists.regrouped(ids)
    assert make(name).keeps(lists, "classes")
    make(name).write(lists, str(tmp_path / "set"))
    again = load(tmp_path / "set", format=name, classes=True)
    for column in ("classes", "features", "labels", "list_ids", "rows"):
        assert same(column, lists, again), column
    assert again.offsets.tolist() == lists.offsets.tolist()


@pytest.mark.parametrize("name", NAMES)
def test_formats_without_classes_refuse_the_option(name: str) -> None:
    if "classes" not in FORMATS.get(name).honours:
        with pytest.raises(ConfigError, match="cannot honour classes=True"):
            load("absent", format=name, classes=True)


@pytest.mark.parametrize("source", WRITERS)
@pytest.mark.parametrize("target", WRITERS)
def test_a_conversion_keeps_or_reports_every_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, target: str
) -> None:
    monkeypatch.chdir(tmp_path)  # short names: a long message is cut
    lists = reread(source, FULL, Path("from"))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", DataNote)
        try:
            again = reread(target, lists, Path("to"))
        except DataError:  # it lacks what the target needs
            return
    left = [str(n.message) for n in notes if str(n.message).endswith("; left out")]
    reported = left[0].partition(" holds no ")[2].removesuffix("; left out").split(", ") if left else []
    given = [column for column in COLUMNS if has(lists, column)]
    lost = [c for c in given if getattr(again, c) is None or not same(c, lists, again)]
    assert reported == [WORDS.get(column, column.replace("_", " ")) for column in lost]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("case", LISTS)
def test_other_lists_read_back_or_are_refused(tmp_path: Path, name: str, case: str) -> None:
    lists, path = LISTS[case], tmp_path / "set"
    refusal = ""
    try:
        again = reread(name, lists, path)
    except DataError as error:
        refusal = str(error)
    if refusal:
        assert str(path) in refusal
        assert "\n" not in refusal
        assert list(tmp_path.iterdir()) == []
        return
    assert np.array_equal(again.offsets, lists.offsets)
    given = [column for column in COLUMNS if getattr(lists, column) is not None]
    kept = [column for column in given if make(name).keeps(lists, column)]
    assert [column for column in kept if not same(column, lists, again)] == []


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_lists_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    contents = []
    for run in ("a", "b"):
        path = tmp_path / run
        make(name).write(FULL, str(path))
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        contents.append([(f.relative_to(path).as_posix(), f.read_bytes()) for f in files if f.is_file()])
    assert contents[0] == contents[1]


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
    path.mkdir() if name == "store" else path.write_bytes(b"")
    with pytest.raises(RerankError) as caught:
        load(str(path), format=name)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_leaves_the_target_and_nothing_else(tmp_path: Path, name: str) -> None:
    path = tmp_path / "set"
    for _ in range(2):
        assert reread(name, FULL, path).n_items == FULL.n_items
        assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(RerankError):
        make(name).write(FULL, str(tmp_path / "no" / "folder" / "set"))


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
        "answer_column": "answer",
        "answer_pattern": "boxed",
        "answer_match": "exact",
        "filter": "none",
        "qrels": "qrels",
        "subset": "en",
        "structures": "models",
        "native": "native.pdb",
        "residues": "A:1-9",
        "match": "sequence",
        "ids": "ids",
        "strip": ("traces",),
    }
    for option, value in changes.items():
        if option not in FORMATS.get(name).honours:
            with pytest.raises(ConfigError, match=option):
                make(name).read(str(tmp_path / "set"), ReadOptions(**{option: value}))
