import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import full_lists
from reference import classes as reference

from rerank.core.errors import DataError
from rerank.data.classes import ClassLabels, class_values
from rerank.data.columns.class_sets import class_set, plain_number
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.store import read_store, write_store

NAMES = st.one_of(
    st.sampled_from(["1", "+1", "1.0", "-1", "0", "-0", "+0.0", "00.50", ".5", "2", "10", "a", "1e0", "é"]),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(lambda d: format(d, "f")),
)


def examples(*texts):
    lists = CandidateLists.from_arrays(np.ones((len(texts), 2)), classes=["x"] * len(texts), source="made")
    return replace(lists, classes=StringColumn.from_strings(texts))


def sets_of(labels):
    return [labels.codes[a:b].tolist() for a, b in itertools.pairwise(labels.offsets.tolist())]


@given(st.lists(st.lists(NAMES, max_size=4), min_size=1, max_size=8))
def test_codes_are_those_of_the_twin(sets):
    plain = [{reference.plain(name) for name in names} for names in sets]
    texts = [" ,".join(names) for names, kept in zip(sets, plain, strict=True) if len(kept) == len(names)]
    if not texts:
        return
    labels = ClassLabels.of(examples(*texts))
    names, expected = reference.labels(texts)
    assert sets_of(labels) == expected
    assert len(labels.names) == len(names)
    assert labels.offsets.dtype == np.int64
    assert labels.codes.dtype == np.int32
    if names and not isinstance(names[0], str):
        assert [reference.number(name) for name in labels.names] == names
        assert class_values(labels.names).tolist() == [float(value) for value in names]
    else:
        assert list(labels.names) == names
    indicator = labels.indicator()
    assert [np.flatnonzero(row).tolist() for row in indicator] == expected


@given(NAMES)
def test_numbers_are_compared_exactly(name):
    expected, plain = reference.number(name), plain_number(name)
    assert (plain is None) == (expected is None)
    if plain is not None:
        assert reference.number(plain) == expected
        assert plain_number(plain) == plain


def test_large_numbers_are_not_rounded():
    labels = ClassLabels.of(examples("9007199254740993", "9007199254740992", "1" * 5000))
    assert labels.names == ("9007199254740992", "9007199254740993", "1" * 5000)
    with pytest.raises(DataError, match="expected classes that are numbers"):
        class_values(labels.names)


def test_names_of_words_are_compared_as_text():
    labels = ClassLabels.of(examples("b", "1", "+1", "B, b"))
    assert labels.names == ("+1", "1", "B", "b")
    assert sets_of(labels) == [[3], [1], [0], [2, 3]]


@pytest.mark.parametrize("text", ["", " ", ",", " , ,"])
def test_blanks_and_commas_are_no_class(text):
    labels = ClassLabels.of(examples("1", text))
    assert labels.lengths.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1", "class '1' twice in '1,1'"),
        ("1, +1.0", "class '[+]1.0' twice"),
        ("a,b,a", "class 'a' twice"),
        ("1,,2", "an empty class name in '1,,2'"),
        ("1,", "an empty class name"),
        ("a\tb", "control character"),
        ("REJECT", "a class 'REJECT'"),
    ],
)
def test_wrong_sets_are_refused_with_their_place(text, message):
    with pytest.raises(ValueError, match=message):
        class_set(text)
    with pytest.raises(DataError, match=f"made: example 2: found .*{message}"):
        ClassLabels.of(examples("1", text, text))


def test_classes_of_a_model():
    labels = ClassLabels.of(examples("2", "+1.00,3"), known=("3", "1", "2.0", "4"))
    assert labels.names == ("3", "1", "2.0", "4")
    assert sets_of(labels) == [[2], [0, 1]]
    labels = ClassLabels.of(examples("1"), known=("1", "+1", "a"))
    assert sets_of(labels) == [[0]]
    with pytest.raises(DataError, match=r"made: example 1: found class '1.0', expected a class of the model"):
        ClassLabels.of(examples("1.0"), known=("1", "a"))
    with pytest.raises(
        DataError, match="example 2: found class '5', expected a class of the model: known: 1, 2"
    ):
        ClassLabels.of(examples("1", "5"), known=("1", "2"))
    with pytest.raises(DataError, match="found class 'setosa'"):
        ClassLabels.of(examples("setosa"), known=("1", "2"))


def test_examples_are_named_by_the_callers_row():
    lists = CandidateLists.from_arrays(np.ones((3, 1)), qid=[1, 2, 1], classes=["a", "b", "c"])
    with pytest.raises(DataError, match="example 3: found class 'c'"):
        ClassLabels.of(lists, known=("a", "b"))


def test_lists_without_classes_are_refused():
    with pytest.raises(DataError, match="found no classes"):
        ClassLabels.of(CandidateLists.from_arrays(np.ones((2, 1)), [0, 1]))


def test_classes_from_arrays():
    X = np.ones((6, 1))
    given = ["a", 1, 2.0, np.float64(0.5), True, b"\xff"]
    lists = CandidateLists.from_arrays(X, classes=given)
    assert list(lists.classes) == ["a", "1", "2", "0.5", "1", "\udcff"]
    assert lists.n_lists == 6
    lists = CandidateLists.from_arrays(
        X, classes=[(), {"b", "a"}, "a, b", np.array([3, 1]), [2], "x"], group=[6]
    )
    assert list(lists.classes) == ["", "a,b", "a,b", "3,1", "2", "x"]
    assert lists.n_lists == 1
    lists = CandidateLists.from_arrays(X, classes=np.arange(6), qid=[1, 2, 1, 2, 1, 2])
    assert list(lists.classes) == ["0", "2", "4", "1", "3", "5"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([1], "classes has 1 entries, expected 2"),
        ("ab", "classes has 2 entries, expected 2|classes has str"),
        (np.eye(2), r"classes has shape \(2, 2\).*flatnonzero"),
        (3, "classes has int"),
        ([None, 1], "the class of row 1 is missing"),
        ([1, float("nan")], "the class of row 2 is missing"),
        ([1, [2, None]], "the class of row 2 is missing"),
        ([["a,b"], 1], "a class of row 1 is empty or contains a comma"),
        ([["a", " "], 1], "a class of row 1 is empty"),
    ],
)
def test_wrong_classes_of_arrays_are_refused(classes, message):
    with pytest.raises(DataError, match=message):
        CandidateLists.from_arrays(np.ones((2, 1)), classes=classes)


def test_labels_and_classes_exclude_each_other():
    with pytest.raises(DataError, match="y or classes, not both"):
        CandidateLists.from_arrays(np.ones((2, 1)), [1, 2], classes=[1, 2])


def test_the_column_is_carried(tmp_path):
    lists = CandidateLists.from_arrays(np.arange(4.0)[:, None], classes=["a", "b", ("c", "d"), ()])
    assert list(lists.subset([2, 0]).classes) == ["c,d", "a"]
    assert list(lists.regrouped(["x", "y", "x", "y"]).classes) == ["a", "c,d", "b", ""]
    assert list(joined([lists.subset([0]), lists.subset([3])]).classes) == ["a", ""]
    write_store(lists, tmp_path / "s")
    assert list(read_store(tmp_path / "s").classes) == list(lists.classes)
    other = CandidateLists.from_arrays(np.arange(4.0)[:, None], classes=["a", "b", "c", ()])
    assert lists.fingerprint() != other.fingerprint()
    with pytest.raises(DataError, match="found no classes"):
        joined([lists, CandidateLists.from_arrays(np.ones((1, 1)))])
    with pytest.raises(DataError, match="classes has 2 entries, expected 4"):
        replace(lists, classes=StringColumn.from_strings(["a", "b"]))
    assert full_lists().classes is not None
