"""Lists from data frames and back: pandas, polars, Arrow and mappings give the same lists."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rerank.core.errors import ConfigError, DataNote, RerankError
from rerank.data.frames import numbers
from rerank.data.lists import CandidateLists

FRAME = pd.DataFrame(
    {
        "qid": ["a", "b", "a", "b"],
        "docid": [1, 2, 3, 4],
        "label": [1.0, None, 0.0, 1.0],
        "bm25": [3.0, 1.0, 2.0, 5.0],
        "clicks": pd.array([1, None, 3, 4], dtype="Int64"),
        "seen": [True, False, True, True],
        "text": ["x", "y", None, "ü"],
        "answer": [7, None, 8, 7],  # numbers, but no feature
    }
)
FORMS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
    "mapping": FRAME.to_dict("list"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_frame_gives_the_same_lists(form):
    lists = CandidateLists.from_frame(FORMS[form])
    assert lists.feature_names == ["bm25", "clicks", "seen"]
    assert list(lists.list_ids) == ["a", "b"]
    assert list(lists.item_ids) == ["1", "3", "2", "4"]
    assert list(lists.texts) == ["x", "", "y", "ü"]
    assert list(lists.answers) == ["7", "8", "", "7"]
    assert np.array_equal(lists.labels, [1.0, 0.0, np.nan, 1.0], equal_nan=True)
    expected = [[3, 1, 1], [2, 3, 1], [1, np.nan, 0], [5, 4, 1]]
    assert np.array_equal(lists.features.to_dense(), expected, equal_nan=True)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_lists_become_frames_and_lists_again(library):
    lists = CandidateLists.from_frame(FRAME)
    frame = lists.to_frame(library)
    assert list(frame.columns) == ["list", "id", "text", "answer", "label", "bm25", "clicks", "seen"]
    assert list(frame["id"]) == ["1", "2", "3", "4"]  # the caller's rows
    again = CandidateLists.from_frame(frame)
    assert again.fingerprint() == lists.fingerprint()
    assert np.array_equal(again.rows, lists.rows)
    plain = CandidateLists.from_arrays([[1.0], [2.0]], group=[1, 1]).to_frame(library)
    assert (list(plain.columns), list(plain["list"])) == (["list", "1"], ["1", "2"])


def test_columns_by_name_and_what_is_left_out():
    frame = FRAME.rename(columns={"qid": "topic", "label": "grade"})
    with pytest.warns(DataNote, match="left out: 'grade'"):
        lists = CandidateLists.from_frame(
            frame.assign(grade=["x"] * 4), list_column="topic", features=None, id_column="docid"
        )
    assert lists.labels is None
    lists = CandidateLists.from_frame(
        frame, list_column="topic", label_column="grade", features=["clicks", "bm25"]
    )
    assert lists.feature_names == ["clicks", "bm25"]
    with pytest.warns(DataNote, match=r"left out: 'target' \(a name of another role\)"):
        lists = CandidateLists.from_frame(FRAME.assign(target=1))
    assert "target" not in lists.feature_names
    with pytest.warns(DataNote, match=r"'labl' \(label\?\)"):
        CandidateLists.from_frame(FRAME.assign(labl=[1, 0, 0, 1]))


def test_examples_with_classes_need_no_lists():
    frame = pd.DataFrame({"kind": ["x", "y"], "label": [1, 2], "a": [1.0, 2.0]})
    with pytest.warns(DataNote, match="'label'"):
        lists = CandidateLists.from_frame(frame, classes_column="kind")
    assert (list(lists.classes), lists.n_lists, lists.feature_names) == (["x", "y"], 2, ["a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FRAME.drop(columns="qid"), "found no column of lists, expected one of qid, list"),
        (lambda: FRAME.rename(columns={"qid": "Query"}), "(is it 'Query'?)"),
        (lambda: FRAME.set_index("qid"), "'qid' is the index, expected a column; call .reset_index() first"),
        (lambda: FRAME.assign(label=["good", "bad", "bad", "good"]), "column 'label' of labels holds 'good'"),
        (lambda: FRAME.assign(x=["0.5", "1", "2", "3"]), "column 'x' holds texts such as '0.5'"),
        (lambda: FRAME.assign(qid=["a", None, "a", "b"]), "the qid of row 2 is missing"),
        (lambda: FRAME.assign(docid=["a", None, "a", "b"]), "the id of row 2 is missing"),
        (lambda: pd.concat([FRAME, FRAME[["bm25"]]], axis=1), "two columns 'bm25'"),
        (lambda: pl.from_pandas(FRAME).lazy(), "found a LazyFrame, expected a frame; call .collect() first"),
        (lambda: "train.csv", "found str, expected a data frame of pandas or polars"),
        (lambda: FRAME[:0], "no items"),
    ],
)
def test_frames_that_are_no_lists_are_one_line(make, message):
    with pytest.raises(RerankError) as caught:
        CandidateLists.from_frame(make())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"list_column": "quid"}, "no column 'quid' (list_column); did you mean 'qid'?"),
        ({"features": ["bm52"]}, "no column 'bm52' (features); did you mean 'bm25'?"),
        ({"features": "bm25"}, "features: found the text 'bm25', expected a list of column names"),
        ({"features": ["text"]}, "column 'text' is given"),
        ({"features": ["bm25", "label"], "label_column": "label"}, "label_column and features"),
    ],
)
def test_columns_that_do_not_fit_are_one_line(options, message):
    with pytest.raises(RerankError) as caught:
        CandidateLists.from_frame(FRAME.drop(columns="docid"), text_column="text", **options)
    assert message in str(caught.value)


def test_rows_with_other_labels_are_refused():
    """A shuffled Series belongs to other rows; pandas itself would align it."""
    X, y = FRAME[["bm25"]], FRAME["bm25"]
    lists = CandidateLists.from_arrays(X, y, qid=FRAME["qid"])
    assert lists.labels.tolist() == [3.0, 2.0, 1.0, 5.0]
    for other in (y[::-1], y.reset_index(drop=True).rename(lambda i: i + 1)):
        with pytest.raises(RerankError, match="X and y have different indexes"):
            CandidateLists.from_arrays(X, other, qid=FRAME["qid"])
        assert CandidateLists.from_arrays(X, other.to_numpy(), qid=FRAME["qid"]).n_items == 4
    filtered = FRAME[FRAME["qid"] == "b"]
    lists = CandidateLists.from_arrays(filtered[["bm25"]], filtered["label"], qid=filtered["qid"].to_numpy())
    assert lists.n_items == 2


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([True, None], dtype="boolean"), [1.0, np.nan]),
        (pd.Series([1, pd.NA], dtype=object), [1.0, np.nan]),
        (pl.Series([1, None]), [1.0, np.nan]),
        (pa.chunked_array([[1, None]]), [1.0, np.nan]),
        (np.array([1.5, 2.5], dtype=np.float32), [1.5, 2.5]),
        ([1, 2], [1.0, 2.0]),
        (pd.Series(["1", "2"]), None),
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), None),
        (pd.Series(["a", "b"], dtype="category"), None),
    ],
)
def test_numbers_of_columns(column, expected):
    found = numbers(column)
    assert (found is None) == (expected is None)
    assert expected is None or np.array_equal(found, expected, equal_nan=True)


def test_columns_have_the_names_of_arrays_too():
    columns = {
        "q": ["a", "a", "b"],
        "grade": [1, 0, 2],
        "name": ["x", "y", "z"],
        "t": ["u", "v", "w"],
        "f": [1, 2, 3],
    }
    found = CandidateLists.from_frame(columns, qid="q", y="grade", item_ids="name", texts="t")
    named = CandidateLists.from_frame(
        columns, list_column="q", label_column="grade", id_column="name", text_column="t"
    )
    for one in (found, named):
        assert (one.n_lists, one.labels.tolist(), list(one.item_ids)) == (2, [1, 0, 2], ["x", "y", "z"])
        assert (list(one.texts), one.feature_names) == (["u", "v", "w"], ["f"])
    with pytest.raises(ConfigError, match="qid and list_column name the same"):
        CandidateLists.from_frame(columns, qid="q", list_column="q")
    with pytest.raises(ConfigError, match="unknown argument 'qids'; did you mean 'qid'"):
        CandidateLists.from_frame(columns, qids="q")
    of_classes = CandidateLists.from_frame({"c": ["a", "b"], "f": [1.0, 2.0]}, classes="c")
    assert list(of_classes.classes) == ["a", "b"]
