"""CSV and TSV: columns by name, missing cells, quotes, every fault, a slow twin."""

import csv
import gzip
import random
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.mutated import mutated_files
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_as_slowly, check_fault, same_bits, silent
from reference import table as slow

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.core.files import read as files
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.names import KNOWN
from rerank.formats import load
from rerank.formats.table import TableFormat

STRINGS = StringColumn.from_strings


def read(tmp_path: Path, text: str, name: str = "set.csv", **options: Any) -> CandidateLists:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return load(path, **options)


def quietly(tmp_path: Path, text: str, name: str = "set.csv", **options: Any) -> CandidateLists:
    return silent(read, tmp_path, text, name, **options)


SMALL = "target,model,a,b,gdt\nT1,m1,1,0.5,50\nT1,m2,-2e3,,\nT2,m1,+.5,7,1\n"
NAMED = {"list_column": "target", "label_column": "gdt", "id_column": "model", "missing": "nan"}


def test_columns_by_name(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lists = read(tmp_path, SMALL, **NAMED)
    assert lists.offsets.tolist() == [0, 2, 3]
    assert list(lists.list_ids) == ["T1", "T2"]
    assert list(lists.item_ids) == ["m1", "m2", "m1"]
    assert lists.feature_names == ["a", "b"]
    assert np.array_equal(lists.features.to_dense(), [[1, 0.5], [-2000, np.nan], [0.5, 7]], equal_nan=True)
    assert np.array_equal(lists.labels, [50, np.nan, 1], equal_nan=True)
    assert lists.first_best is None
    assert lists.base_scores is None
    assert lists.texts is None


def test_what_is_guessed_is_reported(tmp_path: Path) -> None:
    text = "label,text,qid,id,x\n1,a,7,i,2\n"
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, text)
    assert [str(note.message).partition("set.csv: ")[2] for note in notes] == [
        "by the header, list_column=qid, label_column=label, id_column=id, text_column=text"
    ]
    assert (list(lists.list_ids), list(lists.item_ids), list(lists.texts)) == (["7"], ["i"], ["a"])
    assert (lists.labels.tolist(), lists.feature_names) == ([1], ["x"])
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, text, list_column="id", label_column="x")
    assert [str(note.message).partition("set.csv: ")[2] for note in notes] == [
        "by the header, text_column=text",
        "columns that are no features are left out: 'label', 'qid'",
    ]
    assert (list(lists.list_ids), lists.item_ids) == (["i"], None)
    assert lists.feature_names == []


def test_known_names_are_no_features(tmp_path: Path) -> None:
    text = "qid,docno,relevance,correct,docid,x\n1,7,2,1,8,0.5\n"
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, text)
    assert [str(note.message).partition("set.csv: ")[2] for note in notes] == [
        "by the header, list_column=qid, label_column=correct, id_column=docid",
        "columns that are no features are left out: 'docno', 'relevance'",
    ]
    assert lists.feature_names == ["x"]
    assert (list(lists.item_ids), lists.labels.tolist()) == (["8"], [1])


def test_names_that_resemble_known_ones_are_reported(tmp_path: Path) -> None:
    expected = r"'lable' \(label\?\), 'em' \(a metric\?\), 'Rank' \(an order\?\), ' Text' \(text\?\)$"
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, "qid,lable,em,Rank,x, Text\n1,1,1,1,2,a\n")
    assert re.search(expected, str(notes[1].message))
    assert lists.feature_names == ["lable", "em", "Rank", "x"]
    with pytest.raises(FormatError, match=r"by --list-column \(is it 'qid '\?\)$"):
        read(tmp_path, "x,qid \n1,2\n")


OTHER = ["0,5", "1_000", "1.000,5", "\u22121", "\u0661", "50%", "0x1p3", "1 000"]
DAMAGED = [
    "2\0", "\x002", "2\x005", "\0", "0x10", "0b1", "0o7", "1e", "1e+", "+-1", "++1", "\uff11", "inf ",
    "\x1b1",
]  # fmt: skip


@pytest.mark.parametrize("mark", [",", "\t"])
@pytest.mark.parametrize("cell", DAMAGED)
def test_a_damaged_number_is_an_error_also_in_the_first_row(tmp_path: Path, cell: str, mark: str) -> None:
    path = tmp_path / {",": "set.csv", "\t": "set.tsv"}[mark]
    for above, line in (("", 2), ("1,1,3,2\n", 3)):
        path.write_text(f"qid,label,x,y\n{above}1,1,{cell},2\n1,0,3,3\n".replace(",", mark), encoding="utf-8")
        with pytest.raises(
            FormatError, match=r"found column 'x' with .*, expected a finite number"
        ) as caught:
            load(path, list_column="qid", label_column="label")
        assert caught.value.line == line


def test_names_with_a_zero_byte_are_no_known_ones(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"\(is it 'qid.x00'\?\)$"):
        read(tmp_path, "qid\0,x\n1,2\n")
    with pytest.warns(DataNote, match=r"'label.x00' \(label\?\)"):
        read(tmp_path, "list,label\0\n1,2\n", list_column="list")


@pytest.mark.parametrize("cell", OTHER)
def test_numbers_of_other_notations_are_errors(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "set.tsv"
    path.write_text(f"qid\tlabel\tx\ty\n1\t1\t\t2\n1\t0\t{cell}\t3\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"found column 'x' with .*, expected a finite number") as caught:
        load(path, list_column="qid", label_column="label")
    assert caught.value.line == 3


@pytest.mark.parametrize("first", ["NA", "-", "nan", "n/a"])
def test_a_column_that_is_mostly_numbers_is_not_dropped(tmp_path: Path, first: str) -> None:
    with pytest.raises(FormatError, match="column 'x' with") as caught:
        quietly(tmp_path, f"qid,x\n1,{first}\n1,2\n1,3\n")
    assert caught.value.line == 2
    assert quietly(tmp_path, "qid,title\n1,word\n1,1984\n").feature_names == []


def test_columns_of_no_numbers_are_left_out_and_named(tmp_path: Path) -> None:
    text = ",qid,name,x,nothing,late\n0,a,n,1,,\n1,a,,2, ,word\n"
    with pytest.warns(
        DataNote, match="no features are left out: 'name', 'nothing', 'late', one without a name"
    ):
        lists = read(tmp_path, text, list_column="qid")
    assert lists.feature_names == ["x"]


def test_rows_apart(tmp_path: Path) -> None:
    text = "qid,id,x,label,text\na,1,1,1,t\nb,2,2,2,u\n\na,3,3,3,v\n"
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, text)
    assert "the lines of 1 list are not contiguous (from line 5)" in str(notes[1].message)
    assert lists.rows.tolist() == [0, 2, 1]
    assert list(lists.item_ids) == ["1", "3", "2"]
    assert list(lists.texts) == ["t", "v", "u"]
    assert lists.labels.tolist() == [1, 3, 2]
    assert lists.features.to_dense().tolist() == [[1], [3], [2]]
    with pytest.raises(FormatError, match="csv:5: found list 'a' again"):
        quietly(tmp_path, text, strict=True)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x", "x.csv.gz"])
def test_separators_and_quotes(tmp_path: Path, name: str) -> None:
    mark = "\t" if name == "x.tsv" else ","
    header = mark.join(("list", "text", '"x ""1"""'))
    text = header + "\r\n" + mark.join(("a", '"p, ""q""\t\r\nr"', ' "1" '.strip())) + "\r\n"
    text += mark.join(('"b"', "\u2028\x0b", " 2 "))
    path = tmp_path / name
    data = ("\ufeff" + text).encode()
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with pytest.warns(DataNote, match="by the header"):
        lists = load(path, format="table" if name == "x" else None)
    assert list(lists.texts) == ['p, "q"\t\r\nr', "\u2028\x0b"]
    assert lists.feature_names == ['x "1"']
    assert lists.features.to_dense().tolist() == [[1], [2]]


def test_layouts_and_dtypes(tmp_path: Path) -> None:
    options = {k: v for k, v in NAMED.items() if k != "missing"}
    text = SMALL.replace("-2e3,,", "-2e3,0,")
    dense = read(tmp_path, text, dtype="float32", **options)
    assert dense.features.to_dense().dtype == np.float32
    sparse = read(tmp_path, text, layout="sparse", **options)
    assert isinstance(sparse.features, Sparse)
    assert np.array_equal(sparse.features.to_dense(), dense.features.to_dense())
    with pytest.raises(DataError, match="too large for float32"):
        read(tmp_path, text.replace("-2e3", "-2e39"), dtype="float32", **options)
    with pytest.raises(ConfigError, match="layout='sparse': absent values of sparse rows are 0"):
        read(tmp_path, SMALL, layout="sparse", **NAMED)


def test_references_and_distinct(tmp_path: Path) -> None:
    (tmp_path / "refs").write_text("zero\none\n")
    text = "qid,text,x\n1,a,1\n1,a,2\n0,b,3\n"
    lists = quietly(tmp_path, text, refs=tmp_path / "refs", distinct=True)
    assert list(lists.references[0]) == ["one", "zero"]
    assert list(lists.texts) == ["a", "b"]
    with pytest.raises(ConfigError, match="distinct compares texts"):
        quietly(tmp_path, "qid,x\n1,2\n", distinct=True)


def test_long_cells_and_many_rows(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    long = "ab" * 200_000
    text = f"qid,text,x\n1,{long},2\n" + "".join(f"{i // 7},t{i},{i}.5\n" for i in range(20_000))
    lists = quietly(tmp_path, text)
    assert lists.n_items == 20_001
    assert max(lists.texts.lengths()) == 400_000
    assert lists.input_order(lists.features.column(0))[1:].tolist() == [i + 0.5 for i in range(20_000)]
    assert csv.field_size_limit() == before
    with pytest.raises(FormatError, match=r"csv:20003: found column 'x' with '1x'"):
        quietly(tmp_path, text + "1,t,1x\n")


FAULTS = {
    "empty cell": ("qid,x,y\n1,2,3\n1,,4\n", 3, "an empty cell in column 'x', expected a number"),
    "header alone": ("qid,x\n", None, "a header alone"),
    "blank first line": ("\nqid,x\n1,2\n", 1, "an empty line"),
    "no list column": ("a,b\n1,2\n", 1, "query_id, target, only a, b, expected the name"),
    "semicolons": ("qid;label;a\nq;1;2\n", 1, "one column, 'qid;label;a', expected commas"),
    "two of a name": ("qid,x,x\n1,2,3\n", 1, "two columns 'x'"),
    "short row": ("qid,x,y\n1,2,3\n1,2\n", 3, "2 cells, expected 3, as the header has"),
    "long row": ("qid,x\n1,2,\n", 2, "3 cells"),
    "word": ("qid,x\n1,2\n1,two\n", 3, "column 'x' with 'two', expected a finite number or an empty cell"),
    "nan": ("qid,x\n1,2\n1,NaN\n", 3, "column 'x' with 'NaN'"),
    "nan first": ("qid,x\n1,nan\n", 2, "column 'x' with 'nan'"),
    "inf": ("qid,x\n1,-inf\n", 2, "column 'x' with '-inf'"),
    "too large": ("qid,x\n1,1e999\n", 2, "column 'x' with '1e999', too large for float64"),
    "underscore": ("qid,x\n1,1\n1,1_0\n", 3, "'1_0'"),
    "digits of another script": ("qid,x\n1,1\n1,\u0661\n", 3, "column 'x' with"),
    "empty": ("qid,x,y\n1,1,1\n1,,\n", 3, "an empty cell in column 'x' (and in 1 more column), expected a"),
    "empty list": ("qid,x\n1,1\n,2\n", 3, "an empty cell for the list"),
    "label": ("qid,x,label\n1,1,good\n", 2, "column 'label' with 'good'"),
    "label after": ("qid,x,label\n1,1,\n1,1,good\n", 3, "column 'label' with 'good'"),
    "open quote": ('qid,x\n1,1\n1,"2\n', 3, "a quote that is never closed, expected cells quoted as in CSV"),
    "behind a quote": ('qid,x\n1,"2"3\n', 2, "text after a closing quote"),
    "carriage returns": ("qid,x\r1,2\r", 1, "a carriage return within a line"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(tmp_path: Path, name: str) -> None:
    text, line, found = FAULTS[name]
    check_fault(tmp_path / "set.csv", line, found, lambda _: read(tmp_path, text))


def test_faults_of_bytes_and_options(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_bytes(b"qid,x\n1,2\n\xff,3\n")
    with pytest.raises(FormatError, match="csv:3: found bytes that are not UTF-8"):
        load(path, list_column="qid")
    with pytest.raises(ConfigError, match=r"no column 'model2' \(--id-column\); did you mean 'model'"):
        read(tmp_path, SMALL, list_column="target", id_column="model2")
    with pytest.raises(ConfigError, match="one column cannot be two of"):
        read(tmp_path, SMALL, list_column="target", id_column="target")
    for header, found in (("qid x", "neither comma nor tab"), ("qid\tx,", "commas and tabs")):
        with pytest.raises(FormatError, match=f":1: found {found}"):
            read(tmp_path, header + "\n1\n", "set", format="table")


def test_casp13(shared_data: Path) -> None:
    path = shared_data / "casp13" / "casp13_merged.csv.gz"
    columns = {"list_column": "target", "label_column": "GDT_TS", "id_column": "model"}
    lists = load(path, **columns, missing="nan")
    assert (lists.n_lists, lists.n_items, lists.n_features) == (76, 11379, 9)
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(lists.item_ids) == [row["model"] for row in rows]
    assert np.array_equal(
        lists.input_order(lists.features.to_dense()),
        [[float(row[name] or "nan") for name in lists.feature_names] for row in rows],
        equal_nan=True,
    )
    assert np.array_equal(lists.labels, [float(row["GDT_TS"] or "nan") for row in rows], equal_nan=True)
    with pytest.raises(
        FormatError,
        match=r"gz:2: found an empty cell in column '3DCNN' .*--missing zero or nan, in training also mean",
    ):
        load(path, **columns)


# Round trips

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def sets(draw: st.DrawFn) -> CandidateLists:
    """Any set that a table holds."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n, m = sum(lengths), len(lengths)
    taken = ("", *(name for names in KNOWN.values() for name in names))
    names = draw(st.lists(TEXTS.filter(lambda s: s not in taken), unique=True))
    names = [name for name in names if not name.startswith("\ufeff")]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    values = rng.choice(draw(st.lists(FLOATS, min_size=3, max_size=8)), (n, len(names)))
    if draw(st.booleans()) and n > 1:
        values[1:][rng.random((n - 1, len(names))) < 0.5] = np.nan
    labels = draw(st.none() | st.lists(FLOATS | st.just(float("nan")), min_size=n, max_size=n).map(np.array))
    strings = st.none() | st.lists(TEXTS, min_size=n, max_size=n).map(STRINGS)
    ids = draw(st.lists(TEXTS.filter(bool), min_size=m, max_size=m, unique=True).map(STRINGS))
    # Lists in order of first appearance, their lines in any order that keeps each list's own.
    spread = rng.permutation(np.repeat(np.arange(m), lengths))
    first = {code: k for k, code in enumerate(dict.fromkeys(spread.tolist()))}
    codes = np.array([first[code] for code in spread.tolist()])
    rows = np.argsort(codes, kind="stable") if draw(st.booleans()) and np.any(np.diff(codes) < 0) else None
    sizes = lengths if rows is None else np.bincount(codes)
    return CandidateLists(
        np.cumsum([0, *sizes]),
        Dense(values),
        labels=labels,
        list_ids=ids,
        item_ids=draw(strings),
        texts=draw(strings),
        answers=draw(strings),
        feature_names=names,
        rows=rows,
    )


@settings(deadline=None, max_examples=50)
@given(sets(), st.sampled_from(["csv", "tsv"]))
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, lists: CandidateLists, suffix: str
) -> None:
    path = str(tmp_path_factory.mktemp("round") / f"set.{suffix}")
    TableFormat().write(lists, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        again = load(
            path,
            missing="nan",
            list_column="list",
            label_column=None if lists.labels is None else "label",
            id_column=None if lists.item_ids is None else "id",
            text_column=None if lists.texts is None else "text",
            answer_column=None if lists.answers is None else "answer",
        )
    assert np.array_equal(again.offsets, lists.offsets)
    assert again.feature_names == lists.feature_names
    assert same_bits(again.features.to_dense(), lists.features.to_dense())
    assert same_bits(again.labels, lists.labels)
    for name in ("list_ids", "item_ids", "texts", "answers"):
        assert getattr(again, name) == getattr(lists, name), name
    assert (again.rows is None) == (lists.rows is None)
    assert again.rows is None or again.rows.tolist() == lists.rows.tolist()


def test_python_reads_what_is_written(tmp_path: Path) -> None:
    texts = ['a,"b"', "c\r\nd\te", " f ", ""]
    lists = CandidateLists(np.array([0, 4]), Dense(np.arange(4.0)[:, None]), texts=STRINGS(texts))
    for name, mark in (("x.csv", ","), ("x.tsv", "\t"), ("x", ",")):
        TableFormat().write(lists, str(tmp_path / name))
        with open(tmp_path / name, newline="") as file:
            rows = list(csv.reader(file, delimiter=mark, strict=True))
        assert rows == [["list", "text", "1"], *(["1", t, repr(float(i))] for i, t in enumerate(texts))]


def test_what_cannot_be_written_is_refused_or_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "x.csv")
    X, two = Dense(np.ones((2, 2))), np.array([0, 1, 2])
    for lists, message in (
        (CandidateLists(two, X, texts=STRINGS([b"a", b"\xff"])), "list '2' holds other bytes"),
        (CandidateLists(two, X, list_ids=STRINGS(["a", "a"])), "two lists have the id 'a', table would"),
        (CandidateLists(two, X, list_ids=STRINGS(["a", ""])), "an empty list id"),
        (CandidateLists(two, X, feature_names=["a", "a"]), "names of their own"),
        (CandidateLists(two, X, feature_names=["a", ""]), "names of their own"),
        (CandidateLists(two, X, feature_names=["a", "label"]), "a meaning for a column 'label'"),
        (CandidateLists(two, Dense(np.array([[1, np.nan], [2, np.nan]]))), "feature '2', which all miss"),
    ):
        with pytest.raises(DataError, match=message):
            TableFormat().write(lists, path)
        assert list(tmp_path.iterdir()) == []
    lists = CandidateLists(two, X, base_scores=np.ones(2), references=(STRINGS(["a", "b"]),))
    with pytest.warns(DataNote, match="holds no base scores, references; left out"):
        TableFormat().write(lists, path)


# Against the slow reader


def check_any(tmp_path: Path, data: bytes, nan: bool) -> None:
    missing = "nan" if nan else None
    check_as_slowly(
        tmp_path / "any.csv", data, lambda text: slow.read(text, ",", nan), check_against, missing=missing
    )


def check_against(lists: CandidateLists, twin: slow.Twin) -> None:
    rows = [row for group in twin.groups.values() for row in group]
    assert list(lists.list_ids) == list(twin.groups)
    assert lists.lengths.tolist() == [len(group) for group in twin.groups.values()]
    assert (list(range(len(rows))) if lists.rows is None else lists.rows.tolist()) == rows
    for column, name in ((lists.item_ids, twin.id), (lists.texts, twin.text)):
        assert (column is None) == (name is None)
        if column is not None:
            assert list(column) == [twin.cells[name][row] for row in rows]
    names = [name for name in twin.features if name != twin.label]
    assert lists.feature_names == names
    expected = np.array([[twin.features[name][row] for name in names] for row in rows]).reshape(len(rows), -1)
    assert same_bits(lists.features.to_dense(), expected)
    labels = None if twin.label is None else np.array(twin.features[twin.label])[rows]
    assert same_bits(lists.labels, labels)


NUMBERS = ["1", "-0.5", "2e-9", "+7", " 3 ", ".25", '"4"', '" 6 "', "123456789012345678901", "-0.123456"]
NUMBERS += ["0.12345678901234567", "1E+05", "5.", "-0", "123456789.12345678"]


def random_file(rng: random.Random) -> bytes:
    names = ["qid", *rng.sample(["label", "id", "text", "a", "b", "name", "x y", ""], rng.randrange(8))]
    rng.shuffle(names)
    gaps = rng.random() < 0.5

    def cell(name: str) -> str:
        if name == "qid":
            return rng.choice(["a", "b", '"c"', "a"])
        if name in ("id", "text", "name"):
            return rng.choice(["", "w", '"q,\n"', "1", "é", "\u2028", '"a""b"', 'a"b', '""', "longer text"])
        if gaps and rng.random() < 0.2:
            return rng.choice(["", " ", '""'])
        return rng.choice(NUMBERS)

    lines = [",".join(cell(name) for name in names) for _ in range(rng.randrange(1, 9))]
    end = rng.choice(["\n", "\r\n"])
    return end.join([",".join(names), *lines, *rng.choice([[], [""], ["", ""]])]).encode()


PIECES = [b",", b'"', b"\n", b"\r", b"nan", b"inf", b"_", b"\xff", b" ", b"x", b"1e400", b"\x00"]


@settings(max_examples=240)
@given(mutated_files(random_file, PIECES, least=0, most=2), st.booleans(), st.sampled_from([8, 24, 64]))
def test_a_mutated_file_reads_the_same_or_fails_at_the_same_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, nan: bool, block: int
) -> None:
    """In blocks of few lines too, so that all but the first may be plain."""
    check_any(tmp_path_factory.getbasetemp(), content, nan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", block)
        check_any(tmp_path_factory.getbasetemp(), content, nan)


def test_blocks_of_any_size_give_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    lines = ["qid,name,x,id,text,label,y,empty"]
    for i, row in enumerate(rng.normal(size=(500, 3)).tolist()):
        cells = [
            repr(row[0]),
            f"d{i}",
            "é" * (i % 5),
            "" if i % 7 == 0 else f" {row[1]:.3f}",
            f"{row[2]:.2e} ",
        ]
        lines.append(",".join([f"q{i // 9}", "w", *cells, " " * (i % 3)]))
    text = "\r\n".join(lines)
    rows = quietly(tmp_path, text)
    monkeypatch.setattr(files, "BLOCK", 700)
    parts = quietly(tmp_path, text)
    assert same_bits(parts.features.to_dense(), rows.features.to_dense())
    assert same_bits(parts.labels, rows.labels)
    for name in ("feature_names", "list_ids", "item_ids", "texts", "rows"):
        assert getattr(parts, name) == getattr(rows, name)
    with pytest.raises(FormatError, match="csv:502: found column 'x' with 'x'"):
        quietly(tmp_path, text + "\r\nq,w,x,,,,,")
    with pytest.raises(FormatError, match="csv:502: found 7 cells"):
        quietly(tmp_path, text + "\r\nq,w,1,,,,")
    with pytest.warns(DataNote) as notes:
        late = read(tmp_path, text + "\r\nq,w,1,,,,2,late")
    assert "left out: 'name', 'empty'" in str(notes[1].message)
    assert late.features.values[:500].tobytes() == rows.features.values.tobytes()
    assert quietly(tmp_path, text + '\r\nq,w,1,"a\n",,,"2",').item_ids[500] == "a\n"


def test_columns_of_text_that_begin_blank_are_taken_out_of_the_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with more rows than are moved at once, and in both types of numbers."""
    rng = np.random.default_rng(6)
    values = np.round(rng.normal(size=(2500, 40)), 3)
    header = ["qid", *(f"x{j}" for j in range(20)), "late", "never", *(f"x{j}" for j in range(20, 40))]
    lines = [",".join(header)]
    for i, row in enumerate(values.tolist()):
        cells = [*map(repr, row[:20]), "w" if i > 1500 else "", " ", *map(repr, row[20:])]
        lines.append(",".join([f"q{i // 3}", *cells]))
    text = "\n".join(lines)
    monkeypatch.setattr(files, "BLOCK", 30_000)
    for dtype in ("float64", "float32"):
        with pytest.warns(DataNote, match="left out: 'late', 'never'$"):
            lists = read(tmp_path, text, dtype=dtype, list_column="qid")
        assert np.array_equal(lists.features.to_dense(), values.astype(dtype))
        assert len(lists.feature_names) == 40
    with pytest.raises(DataError, match="feature value 1e\\+39 is too large for float32"):
        quietly(tmp_path, text + f"\nq,1e39{',1' * 19},w,{',1' * 20}", dtype="float32")


def test_quoted_cells_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BLOCK", 16)
    texts = ["a" * 100, "b\n" * 50, '"' * 70, "", "\r\n,", "c"]
    rows = [["qid", "text", 'x\n"y"' * 20], *([f"q{i // 2}", text, str(i)] for i, text in enumerate(texts))]
    quoted = ("\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)) + "\n"
    lists = quietly(tmp_path, quoted)
    assert list(lists.texts) == texts
    assert lists.feature_names == [rows[0][2]]
    assert lists.features.column(0).tolist() == [0, 1, 2, 3, 4, 5]
    line = quoted.count("\n") + 1
    for row, found in (
        ("q,t\n", "2 cells"),
        ('q,"t', "a quote that is never closed"),
        ("\xe9,,1,", "4 cells"),
    ):
        with pytest.raises(FormatError, match=f"csv:{line}: found {found}"):
            quietly(tmp_path, quoted + row)


def test_an_empty_path(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(b"")
    with pytest.raises(RerankError, match=r"x\.csv: found an empty file"):
        load(tmp_path / "x.csv")
