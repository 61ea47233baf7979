"""The SVMlight reader against a slow twin, and what it makes of every form a file takes."""

import gzip
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fuzz.mutated import mutated_files
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_as_slowly, quietly, same_bits, silent
from reference import svmlight as slow

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.formats import load
from rerank.formats.base import ReadOptions
from rerank.formats.common import KEPT
from rerank.formats.svmlight import SVMLight


def read(tmp_path: Path, data: bytes, **options: object) -> CandidateLists:
    path = tmp_path / "set.txt"
    path.write_bytes(data)
    return silent(load, path, format="svmlight", **options)


def check_against(lists: CandidateLists, twin: slow.Lines, missing: float = 0.0) -> None:
    """All of ``lists`` is what the slow reader read."""
    qids, sizes, rows = twin.grouped()
    assert lists.lengths.tolist() == sizes
    assert (
        lists.list_ids is None
        if qids == [None]
        else [q.decode("utf-8", "surrogateescape") for q in qids] == list(lists.list_ids)
    )
    assert (list(range(len(rows))) if lists.rows is None else lists.rows.tolist()) == rows
    assert same_bits(lists.labels, np.array(twin.labels)[rows])
    ids = [twin.ids[row].decode("utf-8", "surrogateescape") for row in rows]
    assert (list(lists.item_ids) if lists.item_ids is not None else [""] * len(ids)) == ids
    assert (lists.item_ids is None) == (not any(ids))
    assert lists.n_features == twin.n_features
    dense = np.full((len(rows), twin.n_features), missing)
    for i, row in enumerate(rows):
        for column, value in twin.features[row].items():
            dense[i, column] = value
    assert same_bits(lists.features.to_dense(), dense)


def check_any(tmp_path: Path, data: bytes, **options: object) -> None:
    """The reader and the slow one read the same, or fail at the same line; wide sets are read as sparse."""
    layout = str(options.get("layout", "auto"))

    def check(lists: CandidateLists, twin: slow.Lines) -> None:
        if twin.n_features > 5000:
            lists = quietly(tmp_path / "any.txt", **{**options, "layout": "sparse"}, format="svmlight")
        check_layout(lists, twin, layout if twin.n_features <= 5000 else "sparse")
        if twin.n_features <= 5000:
            check_against(lists, twin)

    zero_based = bool(options.get("zero_based"))
    check_as_slowly(
        tmp_path / "any.txt",
        data,
        lambda data: slow.read(data, zero_based=zero_based),
        check,
        **options,
        format="svmlight",
    )


def check_layout(lists: CandidateLists, twin: slow.Lines, layout: str) -> None:
    n_values = sum(map(len, twin.features))
    dense = 2 * n_values >= len(twin.labels) * twin.n_features if layout == "auto" else layout == "dense"
    assert isinstance(lists.features, Dense if dense else Sparse)
    if isinstance(lists.features, Sparse):
        ones = all(value == 1.0 for row in twin.features for value in row.values())
        assert (lists.features.data is None) == ones
        assert lists.features.n_values == n_values


def random_file(rng: random.Random) -> bytes:
    """A valid file with everything in it that the format allows."""
    width = rng.choice([1, 3, 8, 40, 300])
    density = rng.choice([0.05, 0.3, 0.7, 1.0])
    with_qid = rng.random() < 0.8
    ones = rng.random() < 0.2
    blanks = rng.choice([[b" "], [b" ", b"\t", b"  ", b" \t "]])
    newline = rng.choice([b"\n", b"\r\n"])
    lines = []
    for _ in range(rng.choice([1, 2, 5, 30])):
        if rng.random() < 0.1:
            lines.append(rng.choice([b"", b"  ", b"# a comment line", b" \t# 1 qid:3 1:1"]))
        tokens = [rng.choice([b"0", b"1", b"2", b"+1", b"-1", b"0.5", b"1e0"])]
        if with_qid:
            tokens.append(
                b"qid:" + rng.choice([b"1", b"2", b"robust04-301", b"18446744073709551615", b"a:b"])
            )
        columns = [c for c in range(1, width + 1) if rng.random() < density]
        if rng.random() < 0.1:
            rng.shuffle(columns)
        tokens += [b"%d:%s" % (c, b"1" if ones else random_number(rng)) for c in columns]
        line = tokens[0] + b"".join(rng.choice(blanks) + token for token in tokens[1:])
        comments = [
            b"",
            b"#docid = GX%d inc = 1" % rng.randrange(99),
            b" # a b ",
            b"#",
            b" #docid =",
            b"#\xff\xfe",
        ]
        lines.append(line + rng.choice(comments) + rng.choice([b"", b" "]))
    end = newline if rng.random() < 0.7 else b""
    bom = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    data = bom + newline.join(lines) + end
    return data if slow.any_item(data.removeprefix(bom)) else data + b"\n1 1:1"


def random_number(rng: random.Random) -> bytes:
    kind = rng.randrange(6)
    value = rng.uniform(-1, 1) * 10.0 ** rng.randint(-12, 12)
    if kind == 0:
        return b"%d" % rng.randint(-5, 1000)
    if kind == 1:
        return b"%.6f" % value
    if kind == 2:
        return repr(value).encode()
    if kind == 3:
        return b"%.8f" % rng.random()
    if kind == 4:
        return rng.choice(
            [b".5", b"5.", b"-0", b"+3", b"1E5", b"00012", b"1e-320", b"123456789012345678901234567890"]
        )
    return b"%.17e" % value


@pytest.mark.parametrize("seed", range(150))
def test_reads_what_the_slow_reader_reads(tmp_path: Path, seed: int) -> None:
    data = random_file(random.Random(seed))
    layout = ("auto", "dense", "sparse")[seed % 3]
    check_any(tmp_path, data, layout=layout)


PIECES = [
    b" ",
    b"\n",
    b"#",
    b":",
    b"1",
    b"0",
    b".",
    b"-",
    b"e",
    b"qid:",
    b"\0",
    b"x",
    b"\t",
    b"\r",
    b"nan",
    b"\x0b",
]
PIECES += [b"1:1 ", b"9" * 12]


@given(content=mutated_files(random_file, PIECES), layout=st.sampled_from(["auto", "dense", "sparse"]))
@settings(max_examples=150)
def test_a_mutated_file_reads_the_same_or_fails_at_the_same_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, layout: str
) -> None:
    if layout == "dense" and b"999999" in content:
        layout = "auto"
    check_any(tmp_path_factory.getbasetemp(), content, layout=layout)


def large_file(rng: random.Random, n_lines: int, density: float) -> list[bytes]:
    lines = []
    for i in range(n_lines):
        columns = [c for c in range(1, 41) if rng.random() < density]
        values = b" ".join(b"%d:%s" % (c, random_number(rng)) for c in columns)
        lines.append(b"%d qid:q%d %s # item %d" % (i % 3, i // 25 % 300, values, i))
    return lines


@pytest.mark.parametrize("density", [0.95, 0.2])
def test_threads_change_nothing(tmp_path: Path, density: float) -> None:
    data = b"\n".join(large_file(random.Random(5), 9000, density))
    assert len(data) > 2 * (1 << 18)
    path = tmp_path / "large.txt"
    path.write_bytes(data)
    with pytest.warns(DataNote, match="not contiguous"):
        lists = [load(path, threads=threads) for threads in (1, 2, 3)]
    check_against(lists[0], slow.read(data))
    for other in lists[1:]:
        assert other.fingerprint() == lists[0].fingerprint()
        assert other.list_ids == lists[0].list_ids
        assert other.item_ids == lists[0].item_ids
        assert np.array_equal(other.rows, lists[0].rows)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_first_bad_line_is_named_whatever_the_threads(tmp_path: Path, layout: str) -> None:
    lines = large_file(random.Random(6), 9000, 0.9)
    for bad in (8990, 7001, 4000):
        lines[bad] = lines[bad].replace(b"qid:", b"qud:")
        path = tmp_path / "bad.txt"
        path.write_bytes(b"\n".join(lines))
        for threads in (1, 2, 3):
            with pytest.raises(FormatError) as caught:
                load(path, threads=threads, layout=layout)
            assert caught.value.line == bad + 1
            assert caught.value.found == "no qid"


def test_a_wrong_guess_of_the_width_is_corrected(tmp_path: Path) -> None:
    """The widest index is in the middle of an unsorted line, so no line ends in it."""
    data = b"1 1:1 2:2\n0 2:7 900:3 1:4\n1 5:1 3:2"
    check_any(tmp_path, data)
    check_any(tmp_path, data, layout="dense")
    check_any(tmp_path, data, layout="sparse")
    assert isinstance(read(tmp_path, data).features, Sparse)


def test_a_head_that_is_dense_does_not_make_the_rest_dense(tmp_path: Path) -> None:
    head = [b"1 " + b" ".join(b"%d:%d" % (c, c + i % 7) for c in range(1, 41)) for i in range(2000)]
    rest = [b"0 %d:2" % (1 + i % 40) for i in range(30000)]
    for lines in (head + rest, rest + head):
        data = b"\n".join(lines) + b"\n"
        assert len(data) > 1 << 18
        check_any(tmp_path, data)
        assert isinstance(read(tmp_path, data).features, Sparse)


def test_values_that_are_not_one_only_at_the_end(tmp_path: Path) -> None:
    lines = [b"1 %d:1 %d:1.0" % (1 + i % 9, 20 + i % 50) for i in range(500)]
    assert read(tmp_path, b"\n".join(lines)).features.data is None
    check_any(tmp_path, b"\n".join(lines))
    check_any(tmp_path, b"\n".join([*lines, b"0 3:2"]))


def test_a_long_unsorted_row_is_sorted(tmp_path: Path) -> None:
    columns = random.Random(1).sample(range(1, 100000), 5000)
    data = b"1 " + b" ".join(b"%d:%d" % (c, c % 100) for c in columns) + b"\n0 1:1"
    features = read(tmp_path, data).features
    assert isinstance(features, Sparse)
    assert features.indices[: len(columns)].tolist() == [c - 1 for c in sorted(columns)]
    assert features.data[: len(columns)].tolist() == [c % 100 for c in sorted(columns)]


def test_missing_nan(tmp_path: Path) -> None:
    data = b"1 qid:1 2:5 4:0\n0 qid:1\n2 qid:1 3:1 1:2"
    lists = read(tmp_path, data, missing="nan")
    check_against(lists, slow.read(data), missing=float("nan"))
    assert lists.has_missing
    narrow = read(tmp_path, data, missing="nan", dtype="float32")
    assert narrow.features.values.dtype == np.float32
    assert np.array_equal(narrow.features.values, lists.features.values, equal_nan=True)


def rows_with_missing(seed: int, width: int, unsorted: bool) -> tuple[bytes, np.ndarray]:
    """Lines with tokens for missing values, with absent ones as well, and what is meant."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    values = np.where(rng.random((n, width)) < 0.4, np.nan, rng.integers(-9, 10, (n, width)) / 4)
    tokens = ["NULL", "null", "nan", "NaN", "NAN", "Null"]
    lines = []
    for row in values:
        cells = [
            f"{j + 1}:{rng.choice(tokens) if np.isnan(x) else format(x, 'g')}"
            for j, x in enumerate(row)
            if not np.isnan(x) or rng.random() < 0.5 or j == width - 1
        ]
        lines.append(" ".join(["1 qid:1", *(rng.permutation(cells) if unsorted else cells)]))
    return ("\n".join(lines) + rng.choice(["", "\n", " # a\n", "\r\n"])).encode(), values


@pytest.mark.parametrize("unsorted", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_a_missing_value_may_be_written_out(tmp_path: Path, seed: int, unsorted: bool) -> None:
    data, values = rows_with_missing(seed, 1 + seed % 12, unsorted)
    for dtype in ("float64", "float32"):
        found = read(tmp_path, data, missing="nan", dtype=dtype).features.to_dense()
        assert np.array_equal(found, values.astype(dtype), equal_nan=True)


@pytest.mark.parametrize("value", ["NULL", "nan"])
def test_missing_values_of_columns_far_apart(tmp_path: Path, value: str) -> None:
    data = f"1 7:1 30000000:{value}\n0 7:{value} 2000000:3\n".encode()
    lists = read(tmp_path, data, missing="nan")
    assert lists.feature_names == ["7", "2000000", "30000000"]
    expected = [[1, np.nan, np.nan], [np.nan, 3, np.nan]]
    assert np.array_equal(lists.features.to_dense(), expected, equal_nan=True)


@pytest.mark.parametrize(
    "data", [b"1 1:0.5 2:NULL 3:1\n", b"1 3:1 2:null 1:1", b"1 1:1\n" * 9 + b"1 9:NaN\n"]
)
@pytest.mark.parametrize("layout", ["auto", "dense", "sparse"])
def test_a_missing_value_without_the_option_names_it(tmp_path: Path, data: bytes, layout: str) -> None:
    value = re.search(rb"[Nn]\w+", data)[0].decode()
    number = data[: data.index(value.encode()) - 1].split()[-1].decode()
    with pytest.raises(FormatError) as caught:
        read(tmp_path, data, layout=layout)
    assert str(caught.value).endswith(
        f"found value of feature {number}: '{value}', expected a number "
        f"(use {KEPT}, if it is a missing value)"
    )


@pytest.mark.parametrize("token", ["nul", "NULLs", "na", "nans", "-nan", "n", "NULL1", "nan:1", "null,"])
def test_other_words_are_no_missing_values(tmp_path: Path, token: str) -> None:
    for data in (f"1 1:{token} 2:1", f"1 2:1 1:{token}"):
        with pytest.raises(FormatError, match=re.escape(f"value of feature 1: '{token}'")):
            read(tmp_path, data.encode(), missing="nan")


@pytest.mark.parametrize(
    "data", [b"1 1:NULL 1:2", b"1 1:2 1:NULL", b"1 2:1 1:NULL 1:NULL", b"1 2:NULL 1:1 2:3"]
)
def test_a_feature_twice_is_a_fault_also_if_it_is_missing(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(FormatError, match="twice"):
        read(tmp_path, data, missing="nan")


def test_float32_is_the_rounded_number(tmp_path: Path) -> None:
    data = b"1 1:0.1 2:3.4028235677973362e38\n0 2:1e-50 1:7"
    values = read(tmp_path, data, dtype="float32").features.values
    assert values.tolist() == np.array([[0.1, 3.4028235e38], [7, 0]], dtype=np.float32).tolist()
    with pytest.raises(FormatError) as caught:
        read(tmp_path, b"1 1:1\n1 1:3.4028235677973366e38", dtype="float32")
    assert str(caught.value).endswith(
        "set.txt:2: found value of feature 1: '3.4028235677973366e38', too large for float32, "
        "expected a finite number"
    )


def test_options_that_exclude_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="layout='sparse': absent values"):
        read(tmp_path, b"1 1:1", layout="sparse", missing="nan")
    with pytest.raises(ConfigError, match="cannot honour dtype='float32'"):
        read(tmp_path, b"1 1:1", layout="sparse", dtype="float32")
    with pytest.raises(DataError, match="float32 needs layout=dense"):
        read(tmp_path, b"1 1:1\n2 500:1", dtype="float32")


def test_a_dense_array_beyond_memory_is_one_line(tmp_path: Path, memory_left: Callable[[int], None]) -> None:
    memory_left(10**9)
    with pytest.raises(RerankError) as caught:
        read(tmp_path, b"1 1:1\n" * 200 + b"1 900000:1", layout="dense")
    assert str(caught.value) == (
        "needs 1.4 GB for a dense matrix of 201 x 900,000; 1 GB are available; "
        "sparse features need memory for the values present only (--layout sparse)"
    )


def test_zero_based(tmp_path: Path) -> None:
    lists = read(tmp_path, b"1 0:3 2:4\n0 1:5", zero_based=True)
    assert lists.features.to_dense().tolist() == [[3, 0, 4], [0, 5, 0]]
    assert read(tmp_path, b"1 qid:1\n0 qid:2", zero_based=True).n_features == 0


def test_no_feature_at_all(tmp_path: Path) -> None:
    for layout in ("auto", "dense", "sparse"):
        lists = read(tmp_path, b"1 qid:1\n0 qid:1 # x", layout=layout)
        assert lists.n_features == 0
        assert lists.labels.tolist() == [1, 0]


def test_lists_that_are_not_contiguous_are_brought_together_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "apart.txt"
    path.write_bytes(b"# head\n1 qid:b 1:1 #x\n2 qid:a 1:2 #y\n3 qid:b 1:3 #z\n")
    with pytest.warns(DataNote, match=r"apart.txt: the lines of 1 list are not contiguous \(from line 4\)"):
        lists = load(path)
    assert list(lists.list_ids) == ["b", "a"]
    assert lists.rows.tolist() == [0, 2, 1]
    assert list(lists.item_ids) == ["x", "z", "y"]
    with pytest.raises(FormatError) as caught:
        load(path, strict=True)
    assert str(caught.value) == f"{path}:4: found 'qid:b' again, expected the lines of a list together"


def test_items_without_a_comment_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    path.write_bytes(b"1 qid:1 1:1 # a\n1 qid:1 1:2\n1 qid:1 1:3 #\n")
    with pytest.warns(DataNote, match="2 of 3 items have no comment; their ids are empty"):
        assert list(load(path).item_ids) == ["a", "", ""]


@pytest.mark.parametrize(
    ("comment", "item_id"),
    [
        (b"#docid = GX008-86-4444840 inc = 1 prob = 0.086622", "GX008-86-4444840"),
        (b"#docid=7612", "7612"),
        (b"# docid\t=\tx y\r", "x"),
        (b"#docid =", "docid ="),
        (b"#docidx = 3", "docidx = 3"),
        (b"# teh -> the  ", "teh -> the"),
        (b"## #x", "# #x"),
        (b"# \xc3\xa9t\xc3\xa9", "été"),
    ],
)
def test_comments_are_item_ids(tmp_path: Path, comment: bytes, item_id: str) -> None:
    assert list(read(tmp_path, b"1 qid:1 1:2 " + comment).item_ids) == [item_id]
    assert list(read(tmp_path, b"1 qid:1 1:2" + comment + b"\n").item_ids) == [item_id]


LARGE = "2147483647"
BAD_LINES = [
    (b"qid:1 1:2", "'qid:1' instead of the label", "a label (a number) first"),
    (b"1:2 2:3", "'1:2' instead of the label", "a label (a number) first"),
    (b"x qid:1 1:2", "label 'x'", "a number"),
    (b"nan qid:1 1:2", "label 'nan'", "a finite number"),
    (b"-inf qid:1 1:2", "label '-inf'", "a finite number"),
    (b"1e400 qid:1 1:2", "label '1e400', too large for float64", "a finite number"),
    (b"1 qid: 1:2", "an empty qid", "qid:ID"),
    (b"1 qid:\x01 1:2", "a control character in 'qid:\\x01'", "qid:ID"),
    (b"1 1:2", "no qid", "qid:ID, as on line 2"),
    (b"1 1:2 qid:7", "'qid:7' after a feature", "qid:ID directly after the label"),
    (b"1 qid:1 qid:2 1:2", "a second qid 'qid:2'", "one qid per line"),
    (b"1 qid:1 1:2 qid:1", "a second qid 'qid:1'", "one qid per line"),
    (b"1 qid:1 cost:2 1:2", "'cost:2'", "index:value (SVMlight's cost: and sid: are not supported)"),
    (b"1 qid:1 sid:2 1:2", "'sid:2'", "index:value (SVMlight's cost: and sid: are not supported)"),
    (b"1 qid:1 12", "'12'", "index:value"),
    (b"1 qid:1 1:2 junk", "'junk'", "index:value"),
    (b"1 qid:1 1: 2", "no value for feature 1", "index:value"),
    (b"1 qid:1 1:", "no value for feature 1", "index:value"),
    (b"1 qid:1 a:2", "index 'a'", "a whole number"),
    (b"1 qid:1 1.5:2", "index '1.5'", "a whole number"),
    (b"1 qid:1 :2", "index ''", "a whole number"),
    (b"1 qid:1 -1:2", "index '-1'", "an index of 1 or more"),
    (b"1 qid:1 0:2", "index 0", "indices from 1 (use --zero-based if the file counts from 0)"),
    (b"1 qid:1 2147483648:2", "index '2147483648'", f"an index of at most {LARGE}"),
    (b"1 qid:1 99999999999999999999:2", "index '99999999999999999999'", f"an index of at most {LARGE}"),
    (b"1 qid:1 1:2x", "value of feature 1: '2x'", "a number"),
    (b"1 qid:1 1:2:3", "value of feature 1: '2:3'", "a number"),
    (b"1 qid:1 1:1,5", "value of feature 1: '1,5'", "a number"),
    (b"1 qid:1 1:0x10", "value of feature 1: '0x10'", "a number"),
    (b"1 qid:1 1:NaN", "value of feature 1: 'NaN'", f"a number (use {KEPT}, if it is a missing value)"),
    (b"1 qid:1 1:-Infinity", "value of feature 1: '-Infinity'", "a finite number"),
    (b"1 qid:1 1:1e999", "value of feature 1: '1e999', too large for float64", "a finite number"),
    (b"1 qid:1 1:2 2:3 1:4", "feature 1 twice", "each feature once per line"),
    (b"1 qid:1 2:2 2:2", "feature 2 twice", "each feature once per line"),
    (b"1 qid:1 3:2 1:1 3:2 x", "feature 3 twice", "each feature once per line"),
    (b"1 qid:1 1:2 # a\0b", "a NUL byte", "text"),
    (b"# a\0b", "a NUL byte", "text"),
    (b"1 qid:1 1:2\0", "value of feature 1: '2\\x00'", "a number"),
    (b"\x89PNG\x1a", "label '\\\\x89PNG\\x1a'", "a number"),
    (b"1 qid:1 " + b"y" * 60, "'" + "y" * 37 + "...'", "index:value"),
]


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize(("line", "found", "expected"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_named(tmp_path: Path, layout: str, line: bytes, found: str, expected: str) -> None:
    for end in (b"", b"\n", b"\r\n2 qid:2 1:1 2:2\n"):
        data = b"# sets\n0 qid:1 1:1 2:2 3:3\n" + line + end
        with pytest.raises(FormatError) as caught:
            read(tmp_path, data, layout=layout)
        assert str(caught.value) == f"{tmp_path / 'set.txt'}:3: found {found}, expected {expected}"


def test_a_qid_if_no_other_line_has_one(tmp_path: Path) -> None:
    for data, found in (
        (b"1 1:2\n1 qid:4 1:2", "2: found 'qid:4', expected no qid, as on line 1"),
        (b"1 1:2\n1 1:2 qid:4", "2: found 'qid:4' after a feature, expected qid:ID directly after the label"),
        (b"1 1:2 qid:4", "1: found 'qid:4' after a feature, expected qid:ID directly after the label"),
    ):
        with pytest.raises(FormatError) as caught:
            read(tmp_path, data)
        assert str(caught.value).endswith(found)


@pytest.mark.parametrize(
    ("data", "found"),
    [(b"", "an empty file"), (b"\n# only\n \r\n", "no item line"), (b"\xef\xbb\xbf", "an empty file")],
)
def test_a_file_without_items(tmp_path: Path, data: bytes, found: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, data)
    path = tmp_path / "set.txt"
    assert str(caught.value) == f"{path}: found {found}, expected lines 'label qid:ID index:value ...'"


def test_a_zero_based_file_may_not_hold_negative_indices(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="found index '-1', expected an index of 0 or more"):
        read(tmp_path, b"1 -1:2", zero_based=True)


@pytest.mark.parametrize(
    "name",
    [
        *(f"ohsumed/Fold{k}/vali.txt.gz" for k in range(1, 6)),  # all lists: other parts have the same ones
        "lightgbm-rank/train.txt.gz",
        "lightgbm-rank/test.txt.gz",
        "fastrank-news/trec_news_2018.train",
        "fastrank-news/trec_news_2018.test",
    ],
)
def test_shared_sets(shared_data: Path, name: str) -> None:
    data = (shared_data / name).read_bytes()
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    twin = slow.read(data)
    apart = twin.first_again() is not None
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        lists = SVMLight().read(str(shared_data / name), ReadOptions())
    assert len(notes) == apart
    check_against(lists, twin)
    check_layout(lists, twin, "auto")
