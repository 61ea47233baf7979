"""The reader and writer of Moses' N-best lists against a slow twin, and every form that files take."""

import gzip
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_as_slowly, same_bits, silent
from reference import moses as slow

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.formats import load
from rerank.formats.moses import Moses


def read(tmp_path: Path, data: bytes, **options: object) -> CandidateLists:
    path = tmp_path / "set"
    path.write_bytes(data)
    return silent(load, path, format="moses", **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property."""
    return tmp_path_factory.mktemp("nbest")


def strings(column: StringColumn | None) -> list[bytes]:
    assert column is not None
    return [column.bytes_at(i) for i in range(len(column))]


def check_against(lists: CandidateLists, twin: slow.Lines, nothing: float = 0.0) -> None:
    """All of ``lists`` is what the slow reader read."""
    ids, sizes, rows = twin.grouped()
    assert strings(lists.list_ids) == ids
    assert lists.lengths.tolist() == sizes
    assert (list(range(len(rows))) if lists.rows is None else lists.rows.tolist()) == rows
    assert strings(lists.texts) == [twin.texts[row] for row in rows]
    assert same_bits(lists.base_scores, np.array(twin.totals)[rows])
    assert lists.first_best.tolist() == [-row for row in rows]
    assert lists.feature_names == twin.columns()
    table = np.array(twin.table(nothing)).reshape(len(rows), lists.n_features)
    assert same_bits(lists.features.to_dense(), table[rows])
    assert lists.labels is None


def random_file(rng: random.Random) -> bytes:
    """Lines of one of the forms that tools write."""
    form = rng.choice(["old", "new", "marian", "sparse", "unnamed", "cdec"])
    n_ids = rng.randint(1, 5)
    out = []
    for _ in range(rng.randint(1, 12)):
        words = [
            rng.choice(["a", "été", "\u2028", "|", "x|||y", "&#124;", ""]) for _ in range(rng.randint(0, 4))
        ]

        def value() -> str:
            return rng.choice(
                ["0", "-1", "+2.5", "1e-3", "-0.0", ".5", f"{rng.uniform(-99, 99):.{rng.randint(0, 9)}f}"]
            )

        def values(n: int) -> str:
            return rng.choice([" ", "  ", "\t"]).join(value() for _ in range(n))

        features = {
            "old": lambda: f"d: {values(3)} lm: {values(1)} w: {values(1)}",
            "new": lambda: f"LM0= {values(1)} Dist0= {values(2)}  WordPenalty0= {values(1)}",
            "marian": lambda: f"WordScores= {values(rng.randint(0, 5))} F0= {values(1)} F1={value()}",
            "sparse": lambda: " ".join(
                f"s_{k}= {values(1 if k else 2)}" for k in rng.sample(range(40), rng.randint(0, 3))
            ),
            "unnamed": lambda: values(3),
            "cdec": lambda: f"LM={value()} Glue=1 PassThrough={value()}",
        }[form]()
        tail = " ||| 0-0 1-1" if form == "new" else ""
        bar = rng.choice([" ||| ", "||| "]) if form == "old" else " ||| "
        out.append(f"{rng.randrange(n_ids)}{bar}{' '.join(words)} ||| {features} ||| {value()}{tail}")
    ends = rng.choice(["\n", "\r\n"])
    return (ends.join(out) + rng.choice(["", ends])).encode()


def read_slowly(data: bytes) -> tuple[int | None, slow.Lines | None]:
    try:
        return 0, slow.read(data)
    except slow.BadLineError as error:
        return error.line, None


@pytest.mark.parametrize("seed", range(60))
def test_reads_what_the_slow_reader_reads(tmp_path: Path, seed: int) -> None:
    data = random_file(random.Random(seed))
    twin = slow.read(data)
    check_against(read(tmp_path, data), twin)
    check_against(read(tmp_path, data, layout="dense"), twin)
    check_against(read(tmp_path, data, layout="sparse"), twin)
    check_against(read(tmp_path, data, missing="nan"), twin, float("nan"))


@given(seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=150, deadline=None)
def test_a_mutated_file_reads_the_same_or_fails_at_the_same_line(
    folder: Path, seed: int, data: st.DataObject
) -> None:
    content = random_file(random.Random(seed))
    at = data.draw(st.integers(0, len(content)))
    cut = data.draw(st.integers(0, 3))
    new = data.draw(
        st.sampled_from([b"", b" ", b"|", b" ||| ", b"=", b":", b"1", b"nan", b"x", b"\r", b"\n", b"\0"])
    )
    content = content[:at] + new + content[at + cut :]
    check_as_slowly(folder / "set", content, slow.read, check_against, format="moses")


def test_a_bad_number_is_reported_before_a_fault_of_the_whole_file(folder: Path) -> None:
    """Found by mutation (seed 3260): numbers alone on line 1, the first of them bad, names on line 2."""
    content = random_file(random.Random(3260))
    content = content[:22] + content[25:]
    assert content.startswith(b"2 ||| a x|||y | ||| s_ -1 ||| 1e-3\n")
    assert read_slowly(content)[0] == 1
    with pytest.raises(FormatError, match=":1: found value 's_', expected a number"):
        read(folder, content)
    for later in (b"a_0= 1 2 a_0_0= 1", b"1 2"):
        content = b"0 ||| a ||| f= 1 ||| 0\n0 ||| b ||| " + later + b" ||| 0\n0 ||| c ||| f= x ||| 0\n"
        with pytest.raises(FormatError) as caught:
            read(folder, content)
        assert caught.value.line == read_slowly(content)[0]


def test_a_sign_without_a_name_is_no_name_of_numbers_alone(folder: Path) -> None:
    content = b"0 ||| a ||| -1 2 ||| 0\n0 ||| b ||| : -1 2 ||| 0\n"
    assert read_slowly(content)[0] == 2
    with pytest.raises(FormatError) as caught:
        read(folder, content)
    assert caught.value.line == 2


LINE = b"0 ||| a b ||| tm= 1 2 lm= 3 ||| -4\n"
BAD = [
    (b"", "found an empty file, expected lines 'id ||| text ||| features ||| score'"),
    (b"0 ||| a\n", ":1: found 2 columns, expected id ||| text ||| features ||| score"),
    (
        b"0 ||| a ||| tm= 1 ||| x\n",
        ":1: found no total score (a column that is a number), expected id ||| text ||| features ||| score",
    ),
    (b"0 ||| a ||| tm= 1 ||| NaN\n", ":1: found total score 'NaN', expected a finite number"),
    (LINE + b"\n" + LINE, ":2: found an empty line, expected 4 separated by ' ||| ', as on line 1"),
    (LINE + b"0 ||| a ||| tm= 1 2\n", ":2: found 3 columns, expected 4 separated by ' ||| ', as on line 1"),
    (LINE + b"0 ||| a ||| b ||| tm= 1 2 ||| 1\n", ":2: found total score 'tm= 1 2', expected a number"),
    (
        LINE + b" ||| a ||| tm= 1 2 lm= 3 ||| 1\n",
        ":2: found an empty id, expected the id of a list, then |||",
    ),
    (LINE + b"0 ||| a ||| tm= 1 lm= 3 ||| 1\n", ":2: found 1 value of 'tm', expected as many as before"),
    (LINE + b"0 ||| a ||| tm= 1 2 lm= ||| 1\n", ":2: found no value of 'lm', expected a number"),
    (
        LINE + b"0 ||| a ||| tm= 1 2 lm= 3 tm= 1 2 ||| 1\n",
        ":2: found feature 'tm' twice, expected each feature once per line",
    ),
    (LINE + b"0 ||| a ||| tm= 1 inf lm= 3 ||| 1\n", ":2: found value 'inf', expected a finite number"),
    (
        LINE + b"0 ||| a ||| tm= 1 1e999 lm= 3 ||| 1\n",
        ":2: found value '1e999', too large for float64, expected a finite number",
    ),
    (LINE + b"0 ||| a ||| tm= 1 2 lm= 3x ||| 1\n", ":2: found value '3x', expected a number"),
    (LINE + b"0 ||| a ||| = 1 ||| 1\n", ":2: found '=', a feature without a name, expected name= value"),
    (
        LINE + b"0 ||| a ||| lm=1 2 ||| 1\n",
        ":2: found '2' after the value of another feature, expected name= value",
    ),
    (LINE + b"0 ||| a ||| lm=x ||| 1\n", ":2: found value 'x', expected a number"),
    (
        LINE + b"0 ||| a ||| 1 2 3 ||| 1\n",
        ":2: found a number without a name, expected name= value, as before",
    ),
    (b"0 ||| a ||| 1 2 ||| 1\n" + LINE, ":2: found a feature with a name, expected numbers alone, as before"),
    (
        b"0 ||| a ||| 1 2 ||| 1\n0 ||| a ||| 1 2 3 ||| 1\n",
        ":2: found 3 values without a name, expected as many as before",
    ),
    (b"0 ||| a ||| 1 2 ||| 1\n0 ||| a ||| ||| 1\n", ":2: found no features, expected 2, as in other lines"),
    (LINE + b"0 ||| a ||| tm= 1 2 ||| \n", ":2: found no total score, expected a number"),
    (LINE + b"0 ||| a ||| tm= 1 2 ||| 1 2\n", ":2: found total score '1 2', expected a number"),
    (
        LINE + b"0 ||| a ||| tm_1= 1 ||| 1\n",
        ":2: found a second feature 'tm_1', expected columns of different names",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD)
def test_bad_files_are_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, data)
    joint = "" if message.startswith(":") else ": "
    assert str(caught.value) == f"{tmp_path / 'set'}{joint}{message}"


def test_a_bad_line_is_named_by_file_and_line_beyond_the_padded_end(tmp_path: Path) -> None:
    lines = [b"%d ||| text ||| f= %d ||| 0" % (i // 7, i) for i in range(5000)]
    for bad in (0, 1, 2500, 4998, 4999):
        wrong = [*lines]
        wrong[bad] = wrong[bad].replace(b"f= ", b"f= x")
        with pytest.raises(FormatError, match=f":{bad + 1}: found value 'x{bad}', expected a number"):
            read(tmp_path, b"\n".join(wrong))


def test_forms_of_features(tmp_path: Path) -> None:
    old = read(tmp_path, b"0||| a ||| d: 0 -7.6 lm: -4 w: -9 ||| -1\n")
    assert old.feature_names == ["d_0", "d_1", "lm", "w"]
    assert old.features.to_dense().tolist() == [[0, -7.6, -4, -9]]
    assert strings(old.list_ids) == [b"0"]
    new = read(tmp_path, b"0 ||| a ||| Distortion0= -1 LM0= -2 LM1= -3 ||| -1 ||| 0-0 ||| 0=0\n")
    assert new.feature_names == ["Distortion0", "LM0", "LM1"]
    alone = read(tmp_path, b"s1 ||| a ||| -1 2 ||| -1\n")
    assert alone.feature_names is None
    assert alone.features.to_dense().tolist() == [[-1, 2]]
    marian = read(
        tmp_path,
        b"0 ||| a b ||| 0-0 1-1 ||| WordScores= -1 -2 -3 ||| F0= -6 F1= 1 ||| -5\n"
        b"0 |||  ||| ||| WordScores= ||| F0=-7 F1=2 ||| -6\n",
    )
    assert marian.feature_names == ["WordScores_sum", "WordScores_mean", "F0", "F1"]
    assert marian.features.to_dense().tolist() == [[-6, -2, -6, 1], [0, 0, -7, 2]]
    assert strings(marian.texts) == [b"a b", b""]
    assert marian.base_scores.tolist() == [-5, -6]


def test_texts_are_the_bytes_between_the_bars(tmp_path: Path) -> None:
    data = (
        b"\xef\xbb\xbf0 |||  a\xe2\x80\xa8b  ||| f= 1 ||| 1\r\n"
        b"0 |||  ||| f= 1 ||| 1\n"
        b"0 ||| ||| f= 1 ||| 1\n"
        b"0 ||| |||x a||| ||| f= 1 ||| 1\r\n"
        b"0 ||| \xff\x00\x0b\r ||| f= 1 ||| 1"
    )
    assert strings(read(tmp_path, data).texts) == [
        b" a\xe2\x80\xa8b ", b"", b"", b"|||x a|||", b"\xff\x00\x0b\r",
    ]  # fmt: skip


def test_lists_that_are_not_contiguous_are_brought_together_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_bytes(
        b"".join(b"%s ||| %d ||| f= %d ||| 0\n" % (i, k, k) for k, i in enumerate([b"b", b"a", b"b"]))
    )
    with pytest.warns(DataNote, match=r"set: the lines of 1 list are not contiguous \(from line 3\)"):
        lists = load(path, format="moses")
    assert strings(lists.list_ids) == [b"b", b"a"]
    assert lists.rows.tolist() == [0, 2, 1]
    assert strings(lists.texts) == [b"0", b"2", b"1"]
    assert lists.features.to_dense().tolist() == [[0], [2], [1]]
    with pytest.raises(FormatError, match="set:3: found id 'b' again, expected the lines of a list together"):
        load(path, format="moses", strict=True)


def test_files_are_merged_by_id(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(
        b"0 ||| x ||| f= 1 g= 5 ||| 1\n0 ||| y ||| f= 2 ||| 2\n1 ||| z ||| f= 3 ||| 3\n"
    )
    (tmp_path / "b").write_bytes(
        b"1 ||| v ||| h= 4 ||| 4\n0 ||| x ||| g= 5 f= 1 ||| 1\n2 ||| w ||| f= 6 ||| 6\n"
    )
    paths = [str(tmp_path / name) for name in "ab"]
    lists = load(paths[0], format="moses", merge=paths[1:], strict=True)  # apart in two files is no fault
    assert strings(lists.texts) == [b"x", b"y", b"x", b"z", b"v", b"w"]
    assert lists.feature_names == ["f", "g", "h"]
    assert lists.features.to_dense().tolist() == [
        [1, 5, 0],
        [2, 0, 0],
        [1, 5, 0],
        [3, 0, 0],
        [0, 0, 4],
        [6, 0, 0],
    ]
    assert lists.rows.tolist() == [0, 1, 4, 2, 3, 5]
    (tmp_path / "ref").write_bytes(b"r0\nr1\nr2\n")
    with pytest.warns(DataNote, match="1 of 6 items repeat a text of their list; left out"):
        lists = load(paths[0], format="moses", merge=paths[1], distinct=True, refs=tmp_path / "ref")
    assert strings(lists.texts) == [b"x", b"y", b"z", b"v", b"w"]
    assert lists.offsets.tolist() == [0, 2, 4, 5]
    assert lists.rows.tolist() == [0, 1, 2, 3, 4]
    assert strings(lists.references[0]) == [b"r0", b"r1", b"r2"]
    (tmp_path / "b").write_bytes(b"1 ||| v ||| f= 4 5 ||| 4\n")
    with pytest.raises(FormatError, match="b:1: found 2 values of 'f', expected as many as before"):
        load(paths[0], format="moses", merge=paths[1])
    (tmp_path / "b").write_bytes(b"1 ||| v ||| f= 4 ||| 4\n1 ||| v ||| f= 4y ||| 4\n")
    with pytest.raises(FormatError, match="b:2: found value '4y', expected a number"):
        load(paths[0], format="moses", merge=paths[1])


def test_distinct_keeps_the_first_of_a_list(tmp_path: Path) -> None:
    rng = random.Random(3)
    texts = ["", "a", "b", "ab", "abcdefghijk", "abcdefghijl"]
    rows = [(rng.randrange(40), rng.choice(texts)) for _ in range(500)]
    data = "".join(f"{i} ||| {t} ||| f= {k} ||| {k}\n" for k, (i, t) in enumerate(rows)).encode()
    lists = read(tmp_path, data, distinct=True)
    kept = [k for k, row in enumerate(rows) if row not in rows[:k]]
    assert lists.input_order(lists.features.column(0)).tolist() == kept
    assert lists.input_order(lists.base_scores).tolist() == kept
    assert [(int(lists.list_id(i)), t) for i, t in zip(lists.list_index, lists.texts, strict=True)] == sorted(
        (rows[k] for k in kept), key=lambda row: ([r[0] for r in rows].index(row[0]), rows.index(row))
    )
    plain = read(tmp_path, data)
    assert plain.n_items == 500
    assert Counter(plain.texts) == Counter(t for _, t in rows)


def test_thousands_of_names_are_sparse(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [rng.sample(range(5000), 40) for _ in range(300)]
    data = "".join(
        f"{i // 10} ||| t ||| lm= {i} " + " ".join(f"wt_{c}={c}.5" for c in row) + " ||| 0\n"
        for i, row in enumerate(rows)
    ).encode()
    lists = read(tmp_path, data)
    assert isinstance(lists.features, Sparse)
    check_against(lists, slow.read(data))


def test_long_ids_names_and_texts(tmp_path: Path) -> None:
    long = b"y" * 9000
    data = b"".join(
        b"%s%d ||| %s ||| %s%d= %d ||| 0\n" % (long, i, long * 8, long, i % 3, i) for i in range(40)
    )
    check_against(read(tmp_path, data), slow.read(data))


def test_options(tmp_path: Path) -> None:
    data = b"0 ||| a ||| f= 1 ||| 0\n0 ||| b ||| g= 0.1 ||| 0\n"
    assert read(tmp_path, data, dtype="float32").features.to_dense().dtype == np.float32
    with pytest.raises(FormatError, match=":2: found value '1e39', too large for float32"):
        read(tmp_path, data.replace(b"0.1", b"1e39"), dtype="float32")
    with pytest.raises(ConfigError, match="layout='sparse': absent values"):
        read(tmp_path, data, layout="sparse", missing="nan")
    with pytest.raises(ConfigError, match="cannot honour dtype='float32'"):
        read(tmp_path, data, layout="sparse", dtype="float32")
    many = b"0 ||| a ||| " + b" ".join(b"f%d= 1" % k for k in range(9)) + b" ||| 0\n"
    with pytest.raises(DataError, match="float32 needs layout=dense"):
        read(tmp_path, many + b"0 ||| b ||| ||| 0\n" * 9, dtype="float32")


def test_found_by_content_and_reported(tmp_path: Path) -> None:
    for name in ("dev.nbest", "dev.txt", "dev"):
        (tmp_path / name).write_bytes(LINE)
        with pytest.warns(DataNote, match=f"{name}: read as moses"):
            assert load(tmp_path / name).n_items == 1
    (tmp_path / "dev.moses").write_bytes(LINE)
    assert load(tmp_path / "dev.moses").n_items == 1


def round_trip(tmp_path: Path, lists: CandidateLists, **options: object) -> CandidateLists:
    Moses().write(lists, str(tmp_path / "out"))
    return load(tmp_path / "out", format="moses", **options)


def of(X: object, **columns: object) -> CandidateLists:
    """One list, every column that the writer wants given."""
    features = X if isinstance(X, Sparse) else Dense(np.array(X, dtype=np.float64, order="C"))
    n = features.n_items
    columns = {
        "texts": StringColumn.from_strings(f"t{i}" for i in range(n)),
        "base_scores": np.arange(n) / 3.0,
        "list_ids": StringColumn.from_strings(["q"]),
    } | columns
    return CandidateLists(np.array([0, n]), features, **columns)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("seed", range(40))
def test_round_trip(tmp_path: Path, seed: int) -> None:
    lists = read(tmp_path, random_file(random.Random(seed)))
    again = round_trip(tmp_path, lists, layout="dense" if isinstance(lists.features, Dense) else "sparse")
    for column in ("texts", "list_ids", "feature_names"):
        assert getattr(again, column) == getattr(lists, column)
    assert same_bits(again.base_scores, lists.base_scores)
    assert same_bits(again.features.to_dense(), lists.features.to_dense()) or isinstance(
        lists.features, Sparse
    )
    assert np.array_equal(again.features.to_dense(), lists.features.to_dense())
    assert np.array_equal(again.first_best, lists.first_best)
    assert (again.rows is None) == (lists.rows is None)
    assert again.rows is None or np.array_equal(again.rows, lists.rows)


NAMES = ["lm", "tm_0", "tm_1", "tm_2", "a_0", "b_0", "b_1", "b", "c_1", "c_0", "x=y", "x:", "_0", "_1", "1"]


def test_any_names_round_trip(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(4, len(NAMES)))
    lists = of(X, feature_names=NAMES)
    again = round_trip(tmp_path, lists)
    assert again.feature_names == NAMES
    assert same_bits(again.features.to_dense(), X)
    assert b" tm= " in (tmp_path / "out").read_bytes()
    assert b" b_0= " in (tmp_path / "out").read_bytes()


def test_sparse_columns_keep_their_places(tmp_path: Path) -> None:
    sparse = Sparse(np.array([0, 2, 2, 3]), np.array([2, 5, 1], np.int32), np.array([1.5, 2.0, 3.0]), 8)
    for features in (sparse, Sparse(sparse.indptr, sparse.indices, None, 8)):
        again = round_trip(tmp_path, of(features), layout="sparse")
        assert again.names() == [str(j + 1) for j in range(8)]
        assert again.features.to_dense().tolist() == features.to_dense().tolist()


def test_missing_values_are_left_out(tmp_path: Path) -> None:
    X = [[1.0, np.nan, 2.0], [np.nan, 3.0, 4.0]]
    with pytest.raises(DataError, match="features with missing values in another order"):
        Moses().write(of(X), str(tmp_path / "out"))
    lists = of(np.array(X)[:, [0, 2, 1]], feature_names=["a", "b_0", "b_1"])
    again = round_trip(tmp_path, lists, missing="nan")
    assert same_bits(again.features.to_dense(), lists.features.to_dense())
    with pytest.raises(DataError, match="features with missing values"):
        Moses().write(of([[1.0, np.nan]]), str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_no_features(tmp_path: Path) -> None:
    again = round_trip(tmp_path, of(np.empty((2, 0))))
    assert (again.n_items, again.n_features) == (2, 0)
    assert (tmp_path / "out").read_bytes() == b"q ||| t0 ||| ||| 0\nq ||| t1 ||| ||| 0.3333333333333333\n"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"texts": StringColumn.from_strings(["a\nb"])}, r"a text with a newline or ' \|\|\| ', 'a\\nb'"),
        ({"texts": StringColumn.from_strings(["|||"])}, "a text with a newline"),
        ({"texts": StringColumn.from_strings(["a ||| b"])}, "a text with a newline"),
        ({"list_ids": StringColumn.from_strings([" a"])}, "the list id ' a'"),
        ({"list_ids": StringColumn.from_strings([""])}, "the list id ''"),
        ({"list_ids": StringColumn.from_strings(["a|||"])}, "the list id"),
        ({"base_scores": np.array([np.nan])}, "items without a score"),
        ({"feature_names": ["a b"]}, "a feature named 'a b'"),
        ({"feature_names": [""]}, "a feature named ''"),
        ({"feature_names": ["WordScores"]}, "a feature named 'WordScores'"),
    ],
)
def test_what_would_not_read_back_is_refused(
    tmp_path: Path, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Moses().write(of([[1.0]], **columns), str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


def test_names_and_ids_that_are_there_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two features of one name"):
        Moses().write(of([[1.0, 2.0]], feature_names=["a", "a"]), str(tmp_path / "out"))
    lists = CandidateLists(
        np.array([0, 1, 2]), Dense(np.ones((2, 1))), list_ids=StringColumn.from_strings(["a", "a"])
    )
    with pytest.raises(DataError, match="two lists have the id 'a'"):
        Moses().write(lists, str(tmp_path / "out"))


def test_texts_near_the_bars_are_written(tmp_path: Path) -> None:
    texts = StringColumn.from_strings(
        ["a|||", "|||b", "a|||b ||", " x ", "\tx\t", "", "\r", "\ufeff|", "||||"]
    )
    again = round_trip(tmp_path, of(np.ones((len(texts), 1)), texts=texts, feature_names=["f"]))
    assert again.texts == texts


def test_what_is_left_out_is_reported(tmp_path: Path) -> None:
    lists = CandidateLists(np.array([0, 1]), Dense(np.ones((1, 1))), labels=np.ones(1))
    with pytest.warns(DataNote) as notes:
        Moses().write(lists, str(tmp_path / "out"))
    assert [str(n.message).partition(": ")[2] for n in notes] == [
        "the lists have no texts; texts are empty",
        "the lists have no base scores; scores are 0",
        "moses holds no labels; left out",
    ]
    backwards = of([[1.0], [2.0]], first_best=np.array([0.0, 1.0]))
    with pytest.warns(DataNote, match="moses holds no first-stage order"):
        Moses().write(backwards, str(tmp_path / "out"))


def test_lists_in_another_order_than_their_lines(tmp_path: Path) -> None:
    lists = CandidateLists(
        np.array([0, 1, 3]),
        Dense(np.array([[1.0], [2.0], [3.0]])),
        list_ids=StringColumn.from_strings(["a", "b"]),
        texts=StringColumn.from_strings("xyz"),
        base_scores=np.zeros(3),
        rows=np.array([2, 0, 1]),
    )
    with pytest.warns(DataNote, match="not in the order of their lines; written one after the other"):
        again = round_trip(tmp_path, lists)
    assert strings(again.list_ids) == [b"a", b"b"]
    assert strings(again.texts) == [b"x", b"y", b"z"]


SHARED = {
    "moses-europarl/dev": (50, 5000, 15, 6.5),
    "moses-europarl/test": (50, 5000, 15, 6.5),
    "asr-pocketsphinx/dev": (200, 9978, 8, None),
    "asr-pocketsphinx/test": (200, 9973, 8, None),
    "syscomb-wmt10/dev": (1245, 11205, 16, None),
    "syscomb-wmt10/test": (1244, 11196, 16, None),
}


@pytest.mark.parametrize("name", SHARED)
def test_shared_sets(shared_data: Path, tmp_path: Path, name: str) -> None:
    path = shared_data / f"{name}.nbest.gz"
    lists = load(path, format="moses", refs=shared_data / f"{name}.ref.gz")
    assert (lists.n_lists, lists.n_items, lists.n_features) == SHARED[name][:3]
    if name.endswith("test"):  # much like dev
        return
    twin = slow.read(gzip.decompress(path.read_bytes()))
    check_against(lists, twin)
    references = gzip.decompress((shared_data / f"{name}.ref.gz").read_bytes()).split(b"\n")[:-1]
    assert strings(lists.references[0]) == references
    with pytest.warns(DataNote, match="references"):
        again = round_trip(tmp_path, lists)
    check_against(again, twin)


@pytest.mark.parametrize(("name", "n_distinct"), [("moses-europarl", 3740), ("syscomb-wmt10", 9420)])
def test_distinct_strings_of_shared_sets(shared_data: Path, name: str, n_distinct: int) -> None:
    total = 0
    for part in ("dev", "test"):
        with pytest.warns(DataNote, match="repeat a text of their list"):
            total += load(shared_data / name / f"{part}.nbest.gz", format="moses", distinct=True).n_items
    assert total == n_distinct
