"""Parquet: types of columns, nulls, other programs' files, faults; needs pyarrow."""

import builtins
import io
import sys

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.strings import StringColumn

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.filterwarnings("ignore:.*by the header:rerank.core.errors.DataNote")


def table(**more):
    columns = {"list": ["a", "a", "b"], "label": [1, 0, 2], "x": [0.5, 1.5, 2.5]} | more
    return pa.table({name: column for name, column in columns.items() if column is not None})


def written(tmp_path, content, **how):
    path = str(tmp_path / "t.parquet")
    pq.write_table(content, path, **how)
    return path


def read(tmp_path, content, **options):
    return rerank.load(written(tmp_path, content), **options)


def test_types_of_columns(tmp_path):
    lists = read(
        tmp_path,
        table(
            id=pa.array([7, 8, 9]),
            text=pa.array(["été", None, ""]).dictionary_encode(),
            i=pa.array([1, 2, 3], pa.int8()),
            b=pa.array([True, False, True]),
            d=pa.array(["1.25", "2.5", "-3"]).cast(pa.decimal128(10, 2)),
            f=pa.array([1.5, 2.5, 3.5], pa.float32()),
            n=pa.array([1, 2, 1]).dictionary_encode(),
            u=pa.array([2**63, 1, 0], pa.uint64()),
            h=pa.array(np.array([0.5, 1, 2], np.float16)),
        ),
    )
    assert lists.names() == ["x", "i", "b", "d", "f", "n", "u", "h"]
    assert lists.features.values.tolist() == [
        [0.5, 1, 1, 1.25, 1.5, 1, 2.0**63, 0.5],
        [1.5, 2, 0, 2.5, 2.5, 2, 1, 1],
        [2.5, 3, 1, -3, 3.5, 1, 0, 2],
    ]
    assert list(lists.item_ids) == ["7", "8", "9"]
    assert list(lists.texts) == ["été", "", ""]
    assert [lists.list_id(i) for i in range(2)] == ["a", "b"]
    assert lists.labels.tolist() == [1, 0, 2]


def test_what_is_no_number_is_left_out_and_lists_of_numbers_are_refused(tmp_path):
    other = table(
        s=["p", "q", "r"], t=pa.array([1, 2, 3], pa.timestamp("s")), m=[[{"a": 1}], [], None], z=pa.nulls(3)
    )
    with pytest.warns(DataNote, match="columns that are no features are left out: 's', 't', 'm', 'z'"):
        assert read(tmp_path, other).names() == ["x"]
    with pytest.raises(
        FormatError, match=r"found column 'e' of type list<.*double>, expected one number in a row"
    ):
        read(tmp_path, table(e=[[1.0, 2.0], [3.0], []]))


@pytest.mark.parametrize("text", ["1.5", "2\0", "0x10", "1_000", "\uff11"])
def test_texts_that_spell_numbers_are_refused(tmp_path, text):
    for texts in ([None, text, "x"], pa.array([None, text, "x"]).dictionary_encode()):
        with pytest.raises(FormatError, match=r"found texts such as .* in column 'lm', expected numbers"):
            read(tmp_path, table(lm=texts))
    with pytest.warns(DataNote, match="'seed'"):
        read(tmp_path, table(seed=[text] * 3))


def test_nulls_and_nan_are_missing_values(tmp_path):
    content = table(x=[0.5, None, 2.5], y=[np.nan, 1.0, 2.0], label=[2.0, None, 0.0], list=["a", "a", "a"])
    with pytest.raises(FormatError) as caught:
        read(tmp_path, content)
    assert str(caught.value).endswith(
        "t.parquet:1: found a missing value in column 'y' (and in 1 more column), expected a number "
        "(--missing zero or nan, in training also mean, list-mean or indicator accepts missing values)"
    )
    lists = read(tmp_path, content, missing="nan")
    np.testing.assert_array_equal(lists.features.values, [[0.5, np.nan], [np.nan, 1], [2.5, 2]])
    np.testing.assert_array_equal(lists.labels, [2, np.nan, 0])
    assert read(tmp_path, content, missing="zero").features.values.tolist() == [[0.5, 0], [0, 1], [2.5, 2]]
    model = rerank.train(lists, learner="ranksvm", missing="list-mean")
    model.save(str(tmp_path / "m"))
    found = rerank.predict(str(tmp_path / "m"), written(tmp_path, content), out=str(tmp_path / "s"))
    np.testing.assert_array_equal(found.scores, model.score(lists))


def test_ids_of_lists_are_texts_in_the_order_of_their_first_rows(tmp_path):
    numbers = table(list=pa.array([3.0, 1.0, 3.0]))
    with pytest.warns(DataNote, match=r"the lines of 1 list are not contiguous \(from line 3\)"):
        lists = read(tmp_path, numbers)
    assert list(lists.list_ids) == ["3", "1"]
    assert lists.rows.tolist() == [0, 2, 1]
    assert lists.features.values[:, 0].tolist() == [0.5, 2.5, 1.5]
    encoded = read(tmp_path, table(list=pa.array(["a", "a", "b"]).dictionary_encode()))
    assert encoded.lengths.tolist() == [2, 1]


def test_many_batches_are_read_as_one_and_files_of_others_too(tmp_path):
    rng = np.random.default_rng(0)
    n = 70_000
    content = pa.table(
        {
            "qid": np.repeat(np.arange(n // 10), 10),
            "relevance": rng.integers(0, 3, n),
            "f": rng.normal(size=n),
        }
    )
    for how in ({"compression": "gzip"}, {"compression": "none", "row_group_size": 999}):
        path = written(tmp_path, content, **how)
        lists = rerank.load(path)
        assert lists.n_lists == n // 10
        np.testing.assert_array_equal(lists.features.values[:, 0], content["f"].to_numpy())
        np.testing.assert_array_equal(lists.labels, content["relevance"].to_numpy())
    small = rerank.load(path, dtype="float32")
    np.testing.assert_array_equal(small.features.values[:, 0], content["f"].to_numpy().astype(np.float32))


@pytest.mark.filterwarnings("ignore:.*are not contiguous:rerank.core.errors.DataNote")
def test_a_round_trip_is_exact(tmp_path):
    values = np.array([[np.nan, 1e-308, 3], [np.nan, -0.0, 1 / 3], [np.nan, 1e308, np.nan]])
    lists = rerank.CandidateLists(
        np.array([0, 2, 3]),
        rerank.data.matrix.Dense(values),
        labels=np.array([np.nan, 1.5, 0.1]),
        list_ids=StringColumn.from_strings(["q 1", 'q"2,']),
        item_ids=StringColumn.from_strings(["a", " b ", "c\n"]),
        texts=StringColumn.from_strings(["", "x\ty", "été"]),
        feature_names=["all miss", "b", "c,d"],
        rows=np.array([0, 2, 1]),
    )
    for name in ("t.parquet", "t.parquet.gz"):
        path = str(tmp_path / name)
        rerank.save(lists, path)
        again = rerank.load(path, missing="nan", list_column="list", label_column="label")
        assert again.features.values.tobytes() == values.tobytes()
        assert again.fingerprint() == lists.fingerprint()
        assert list(again.list_ids) == list(lists.list_ids)
        assert list(again.item_ids) == list(lists.item_ids)
        assert list(again.texts) == list(lists.texts)
        assert again.rows.tolist() == [0, 2, 1]
    first = (tmp_path / "t.parquet").read_bytes()
    rerank.save(lists, str(tmp_path / "t.parquet"))
    assert (tmp_path / "t.parquet").read_bytes() == first
    frame = pq.read_table(tmp_path / "t.parquet")
    assert frame["all miss"].null_count == 3
    strange = StringColumn.from_strings([b"\xff", b"a", b"b"])
    with pytest.raises(
        DataError, match="parquet must be UTF-8, and the texts hold other bytes; format store"
    ):
        rerank.save(rerank.CandidateLists(np.array([0, 3]), lists.features, texts=strange), path)
    with pytest.raises(DataError, match="a table has a meaning for a column 'label'; rename the feature"):
        rerank.save(rerank.CandidateLists.from_arrays([[1.0]], feature_names=["label"]), path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"x": [1.0, np.inf, 2.0]},
            "t.parquet:2: found column 'x' with inf, expected a finite number or null",
        ),
        ({"list": ["a", None, "b"]}, "t.parquet:2: found null in column 'list', expected an id"),
        ({"list": ["a", "a", ""]}, "t.parquet:3: found an empty id of the list, expected the list's id"),
        ({"id": ["1", "2", None]}, "t.parquet:3: found null in column 'id', expected an id"),
        (
            {"label": ["good", "bad", "good"]},
            "found labels of type string in column 'label', expected numbers, or",
        ),
        ({"list": None, "lst": [1, 1, 2]}, r"no column named qid.*by --list-column \(is it 'lst'\?\)"),
        ({"text": [[1], [2], [3]]}, r"found column 'text' of type list<.*>, expected texts or numbers"),
    ],
)
def test_faults_name_the_row_and_the_column(more, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, table(**more))


def test_damaged_files_are_one_line(tmp_path):
    path = written(tmp_path, table())
    content = (tmp_path / "t.parquet").read_bytes()
    for cut in (0, 3, 4, 20, len(content) // 2, len(content) - 1):
        (tmp_path / "t.parquet").write_bytes(content[:cut])
        with pytest.raises(
            FormatError, match=r"t.parquet: found damaged data \(.*\), expected a Parquet file$"
        ):
            rerank.load(path)
    with pytest.raises(FormatError, match=r"t\.parquet: found 0 rows, expected a row at least"):
        read(tmp_path, table().slice(0, 0))
    with pytest.raises(rerank.RerankError, match=r"none\.parquet: no such file or folder"):
        rerank.load(str(tmp_path / "none.parquet"))


def test_a_small_file_of_very_many_rows_is_refused_unless_the_variable_allows_it(tmp_path, monkeypatch):
    ones = np.ones(3_000_000)
    path = written(tmp_path, pa.table({"qid": ones.astype(int), "label": ones, "x": ones}))
    with pytest.raises(FormatError, match=r"found 72 MB or more in .* of Parquet data, expected at most 67"):
        rerank.load(path)
    monkeypatch.setenv("RERANK_INFLATED", "100M")
    assert rerank.load(path).n_items == 3_000_000


def test_standard_streams_hold_parquet(tmp_path, monkeypatch):
    lists = read(tmp_path, table())
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    rerank.save(lists, "-", format="parquet")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(out.getvalue())))
    assert rerank.load("-", format="parquet").fingerprint() == lists.fingerprint()


def test_classes(tmp_path):
    examples = read(tmp_path, table(list=None, label=["1", "1, 3", None]), classes=True)
    assert list(examples.classes) == ["1", "1,3", ""]
    assert examples.n_lists == 3


def test_without_pyarrow_the_error_names_the_extra(tmp_path, monkeypatch):
    path = written(tmp_path, table())
    found = builtins.__import__

    def absent(name, *args, **more):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return found(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(
        ConfigError, match=r"^format parquet needs the extra rerank\[parquet\]: pip install 'rerank"
    ):
        rerank.load(path)
