"""Arrays of numpy, pandas, polars and Arrow with missing cells are the plain arrays with NaN.

Each container kind is drawn against its twin: ``make fuzz`` goes on from there.
"""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rerank
from rerank.core.errors import DataNote, RerankError
from rerank.data.arrays import cells, real_array
from rerank.data.lists import CandidateLists
from rerank.evaluation.evaluate import evaluate
from rerank.similarity import assign

NAN = float("nan")
DATE = datetime.date(2020, 1, 2)


def _masked(values, dtype=np.float64, junk=9):
    """A masked array with junk where the values are missing."""
    gone = [value is None for value in values]
    return np.ma.masked_array([junk if value is None else value for value in values], gone, dtype=dtype)


WHOLE = {
    "masked int64": lambda v: _masked(v, np.int64),
    "masked float32": lambda v: _masked(v, np.float32),
    "masked objects": lambda v: _masked(v, object, "junk"),
    "pandas Int64": lambda v: pd.Series(v, dtype="Int64"),
    "pandas array Int32": lambda v: pd.array(v, dtype="Int32"),
    "pandas Int64 index": lambda v: pd.Index(v, dtype="Int64"),
    "pandas int64[pyarrow]": lambda v: pd.Series(v, dtype="int64[pyarrow]"),
    "polars Int64": lambda v: pl.Series(v, dtype=pl.Int64),
    "arrow int64": lambda v: pa.array(v, pa.int64()),
    "arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]], pa.int64()),
    "arrow dictionary": lambda v: pa.array(v, pa.int64()).dictionary_encode(),
}
NUMBERS = {
    "masked float64": _masked,
    "list with None": list,
    "list with masked": lambda v: [np.ma.masked if one is None else one for one in v],
    "list with NA": lambda v: [pd.NA if one is None else one for one in v],
    "objects": lambda v: np.array(v, dtype=object),
    "decimals": lambda v: [None if one is None else Decimal(one) for one in v],
    "fractions": lambda v: [None if one is None else Fraction(one) for one in v],
    "pandas float64": lambda v: pd.Series(v, dtype=np.float64),
    "pandas Float64": lambda v: pd.Series(v, dtype="Float64"),
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas category": lambda v: pd.Series(v, dtype=np.float64).astype("category"),
    "pandas sparse": lambda v: pd.Series(v, dtype=pd.SparseDtype(np.float64, np.nan)),
    "pandas double[pyarrow]": lambda v: pd.Series(v, dtype="double[pyarrow]"),
    "polars Float64": lambda v: pl.Series(v, dtype=pl.Float64),
    "arrow float64": lambda v: pa.array(v, pa.float64()),
}
TEXTS = {
    "masked": lambda v: _masked(v, object, "junk"),
    "masked text": lambda v: _masked(v, "U20", "junk"),
    "list with NA": lambda v: [pd.NA if one is None else one for one in v],
    "list with masked": lambda v: [np.ma.masked if one is None else one for one in v],
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas string[pyarrow]": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "pandas category": lambda v: pd.Series(v, dtype="category"),
    "polars": lambda v: pl.Series(v, dtype=pl.String),
    "polars category": lambda v: pl.Series(v, dtype=pl.Categorical),
    "arrow": lambda v: pa.array(v, pa.string()),
    "arrow chunks": lambda v: pa.chunked_array([v[:1], v[1:]], pa.string()),
}
BOOLEANS = {
    "masked": lambda v: _masked(v, bool),
    "pandas": lambda v: pd.Series(v, dtype="boolean"),
    "pandas bool[pyarrow]": lambda v: pd.Series(v, dtype="bool[pyarrow]"),
    "polars": lambda v: pl.Series(v, dtype=pl.Boolean),
    "arrow": lambda v: pa.array(v, pa.bool_()),
}
FRAMES = {
    "mapping": dict,
    "pandas": lambda columns: pd.DataFrame({k: pd.Series(list(cells(v))) for k, v in columns.items()}),
    "polars": lambda columns: pl.DataFrame({k: pl.Series(cells(v)) for k, v in columns.items()}),
    "arrow": lambda columns: pa.table({k: pa.array(cells(v)) for k, v in columns.items()}),
}
# What is no real number, and what numpy would make of some of it is.
REFUSED = {
    "dates": lambda n: np.array(["2020-01-02"] * n, dtype="datetime64[D]"),
    "durations": lambda n: np.array([5] * n, dtype="timedelta64[s]"),
    "complex": lambda n: np.array([1 + 2j] * n),
    "texts": lambda n: np.array(["1"] * n),
    "date objects": lambda n: [1.0] * (n - 1) + [DATE],
    "duration objects": lambda n: np.array([1.0] * (n - 1) + [np.timedelta64(5, "s")], dtype=object),
    "complex objects": lambda n: np.array([1.0] * (n - 1) + [np.complex128(1j)], dtype=object),
    "masked dates": lambda n: np.ma.masked_array(np.zeros(n, "datetime64[D]"), [True] * (n - 1) + [False]),
    "pandas dates": lambda n: pd.Series(pd.to_datetime(["2020-01-02"] * n)),
    "pandas timestamp[pyarrow]": lambda n: pd.Series([DATE] * n, dtype=pd.ArrowDtype(pa.date32())),
    "pandas complex": lambda n: pd.Series([1j] * n),
    "polars dates": lambda n: pl.Series([DATE] * n),
    "polars durations": lambda n: pl.Series([datetime.timedelta(1)] * n),
    "arrow dates": lambda n: pa.array([DATE] * n),
    "arrow times": lambda n: pa.array([datetime.time(1)] * n),
}
CALLS = {
    "X": lambda v: CandidateLists.from_arrays(np.array([[1.0]] * 4) if v is None else _columns(v)),
    "y": lambda v: CandidateLists.from_arrays([[1.0]] * 4, v),
    "data": lambda v: evaluate(v, [1.0, 2.0, 3.0, 4.0], "AP"),
    "scores": lambda v: evaluate([1, 0, 1, 0], v, "AP"),
    "systems": lambda v: evaluate([1, 0, 1, 0], {"a": v, "b": [1.0, 2, 3, 4]}, "AP"),
    "function": lambda v: rerank.metrics.ap([1, 0, 1, 0], v),
    "append": lambda v: rerank.append(CandidateLists.from_arrays([[1.0]] * 4), {"new": v}),
    "run": lambda v: evaluate({"q": dict(zip("abcd", [1, 0, 1, 0], strict=True))}, {"q": _run(v)}, "AP"),
    "list weights": lambda v: rerank.train(_four(), epochs=1, list_weights=v),
    "costs": lambda v: assign([cells(v)] * 4),
    "frame": lambda v: CandidateLists.from_frame({"qid": [1] * 4, "a": v}, features=["a"]),
    "labels of frame": lambda v: CandidateLists.from_frame({"qid": [1] * 4, "a": [1.0] * 4, "label": v}),
}


def _columns(values):
    return values.reshape(-1, 1) if isinstance(values, np.ndarray) else pd.DataFrame({"a": cells(values)})


def _run(values):
    return dict(zip("abcd", list(values), strict=True))


def _four():
    return CandidateLists.from_arrays(np.arange(8.0).reshape(8, 1), [1, 0] * 4, group=[2] * 4)


def _equal(found, expected):
    return np.array_equal(found, np.array([NAN if v is None else float(v) for v in expected]), equal_nan=True)


whole = st.lists(st.none() | st.integers(-1000, 1000), min_size=2, max_size=9)


@given(whole)
def test_numbers_with_missing_ones_are_their_twin_with_nan(values):
    for name, made in (WHOLE | NUMBERS).items():
        found = real_array(made(values), "values")
        assert _equal(found, values), name
        assert cells(made(values)) == values, name
    booleans = [None if value is None else value > 0 for value in values]
    for name, made in BOOLEANS.items():
        assert _equal(real_array(made(booleans), "values"), booleans), name


@given(st.lists(st.none() | st.text("ab 1é", max_size=3), min_size=2, max_size=6))
def test_texts_with_missing_ones(values):
    for name, made in TEXTS.items():
        assert cells(made(values)) == values, name


@given(st.data())
def test_lists_of_any_arrays_are_their_twin(data):
    """Features, labels, scores and ids in every container, and in rows and frames of them."""
    n = data.draw(st.integers(2, 7))
    column = st.lists(st.none() | st.integers(-9, 9), min_size=n, max_size=n)
    labels = data.draw(st.lists(st.none() | st.integers(0, 2), min_size=n, max_size=n))
    a, b = data.draw(column), data.draw(column)
    qid = data.draw(st.lists(st.sampled_from([1, 2, 2**53, 2**53 + 1]), min_size=n, max_size=n))
    scores = data.draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n))
    kinds = st.sampled_from(sorted(WHOLE | NUMBERS))
    make = [(WHOLE | NUMBERS)[name] for name in data.draw(st.lists(kinds, min_size=4, max_size=4))]
    made_qid = WHOLE[
        data.draw(st.sampled_from(sorted(WHOLE.keys() - {"masked float32", "pandas array Int32"})))
    ]
    plain = np.array([[NAN if v is None else v for v in row] for row in zip(a, b, strict=True)], np.float64)
    y = np.array([NAN if label is None else label for label in labels], np.float64)
    twin = CandidateLists.from_arrays(plain, y, qid=[str(one) for one in qid], feature_names=["a", "b"])
    X = {
        "rows": [[np.ma.masked if v is None else v for v in row] for row in zip(a, b, strict=True)],
        "masked rows": [_masked(row) for row in zip(a, b, strict=True)],
        "masked": np.ma.masked_invalid(plain),
        "pandas": pd.DataFrame({"a": make[0](a), "b": pd.Series(b, dtype="Int64")}),
        "polars": pl.DataFrame({"a": pl.Series(a, dtype=pl.Int64), "b": pl.Series(b, dtype=pl.Int8)}),
        "arrow": pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.float64())}),
    }[data.draw(st.sampled_from(["rows", "masked rows", "masked", "pandas", "polars", "arrow"]))]
    names = None if hasattr(X, "columns") else ["a", "b"]
    found = CandidateLists.from_arrays(
        X, _plain_index(make[1](labels)), qid=_plain_index(made_qid(qid)), feature_names=names
    )
    columns = {"qid": made_qid(qid), "label": make[1](labels), "a": make[2](a), "b": make[3](b)}
    framed = CandidateLists.from_frame(columns)
    for lists in (found, framed):
        assert np.array_equal(lists.features.to_dense(), twin.features.to_dense(), equal_nan=True)
        assert np.array_equal(lists.labels, twin.labels, equal_nan=True)
        assert np.array_equal(lists.offsets, twin.offsets)
        assert lists.feature_names == twin.feature_names
        assert list(lists.list_ids) == list(twin.list_ids)
    expected = _outcome(twin, np.array(scores, np.float64))
    assert _outcome(found, make[2](scores)) == expected == _outcome(framed, make[0](scores))


def _plain_index(values):
    """Series with the index of a frame, which from_arrays compares."""
    return values.to_numpy(dtype=object) if isinstance(values, pd.Index) else values


def _outcome(lists, scores):
    try:
        return dict(evaluate(lists, scores, ["RR", "nDCG@3", "label@1"]))
    except RerankError as error:
        return str(error).replace("data frame", "arrays").replace("scores", "")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", REFUSED)
def test_dates_durations_texts_and_complex_numbers_are_no_numbers(kind, call):
    with pytest.raises(RerankError, match="number" if (kind, call) != ("texts", "data") else "no labels"):
        CALLS[call](REFUSED[kind](4))


@pytest.mark.parametrize(
    "made", [WHOLE["masked int64"], WHOLE["pandas Int64"], WHOLE["polars Int64"], WHOLE["arrow int64"]]
)
def test_missing_ids_and_lengths_are_errors(made):
    X, lists = [[1.0], [2.0]], _four()
    with pytest.raises(RerankError, match="the qid of row 2 is missing"):
        CandidateLists.from_arrays(X, qid=made([1, None]))
    with pytest.raises(RerankError, match="group: entry 2 is missing"):
        CandidateLists.from_arrays(X, group=made([2, None]))
    with pytest.raises(RerankError, match="item_ids: the id of row 1 is missing"):
        CandidateLists.from_arrays(X, item_ids=made([None, 1]))
    with pytest.raises(RerankError, match="the class of row 2 is missing"):
        CandidateLists.from_arrays(X, classes=made([3, None]))
    with pytest.raises(RerankError, match="entry 1 is missing"):
        lists.subset(made([None, 1]))
    with pytest.raises(RerankError, match="entry 1 is missing"):
        lists[made([None, 1])]


def test_ids_are_exact_and_texts_may_be_missing():
    huge = 2**53 + 1
    for made in (WHOLE["pandas Int64"], WHOLE["polars Int64"], WHOLE["arrow int64"]):
        lists = CandidateLists.from_arrays(
            [[1.0]] * 3, qid=made([huge, huge - 1, huge]), item_ids=made([1, 2, huge])
        )
        assert list(lists.list_ids) == [str(huge), str(huge - 1)]
        assert list(lists.item_ids) == ["1", str(huge), "2"]
        answers = CandidateLists.from_arrays([[1.0]] * 2, answers=made([huge, None])).answers
        assert list(answers) == [str(huge), ""]
    assert CandidateLists.from_arrays([[1.0]] * 2, qid=["a", "nan"]).n_lists == 2  # a name
    with pytest.raises(RerankError, match="the qid of row 2 is missing"):
        CandidateLists.from_arrays([[1.0]] * 2, qid=["a", NAN])


def test_labels_that_are_masked_are_unjudged_wherever_they_are_given():
    labels = np.ma.masked_array([1, 0, 9, 0, 1, 9], mask=[0, 0, 1, 0, 0, 1])
    scores = [3.0, 2, 4, 1, 2, 3]
    expected = evaluate([1, 0, NAN, 0, 1, NAN], scores, ["label@1", "AP"])
    assert evaluate(labels, scores, ["label@1", "AP"]) == expected
    rows = evaluate(labels.reshape(2, 3), np.reshape(scores, (2, 3)), "AP")
    assert rows == evaluate([[1, 0, NAN], [0, 1, NAN]], [scores[:3], scores[3:]], "AP")
    lists = CandidateLists.from_arrays([[1.0]] * 6)
    base = np.ma.masked_array(np.ones(6), labels.mask)
    made = CandidateLists(lists.offsets, lists.features, labels=labels.astype(np.float64), base_scores=base)
    assert np.isnan(made.labels).tolist() == np.isnan(made.base_scores).tolist() == labels.mask.tolist()
    with pytest.raises(RerankError, match="the score of item 2 is NaN"):
        rerank.metrics.ap([1, 0, 1], np.ma.masked_array([1.0, 2, 3], [0, 0, 1]))
    filled = []
    for scores in (np.ma.masked_array([1.0, 2, 3], [0, 0, 1]), [1.0, 2, NAN]):
        with pytest.warns(DataNote, match="no score for 1 item"):
            filled.append(evaluate([1, 0, 1], scores, "AP", missing="nan"))
    assert filled[0] == filled[1]
    lists = CandidateLists.from_arrays(np.ma.masked_array([[1.0], [2.0]], [[0], [1]]), [1, 0])
    with pytest.raises(RerankError, match="1 of 2 values are missing"):
        rerank.train(lists, epochs=1)
