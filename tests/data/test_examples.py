from dataclasses import replace

import numpy as np
import pytest
from reference.make import full_lists
from scipy.sparse import csr_array

from rerank.data.columns.strings import StringColumn
from rerank.data.examples import Examples
from rerank.data.matrix import Dense
from rerank.errors import DataError

X = np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize(
    ("y", "classes", "labels"),
    [
        ([1, -1, 1, -1], ("-1", "1"), [1, 0, 1, 0]),
        (["b", "a", "c", "a"], ("a", "b", "c"), [1, 0, 2, 0]),
        ([True, False, True, True], ("False", "True"), [1, 0, 1, 1]),
        (np.array([b"x", b"\xff", b"x", b"x"]), ("x", "\udcff"), [0, 1, 0, 0]),
        (np.array(["b", "a", "a", "b"], dtype=object), ("a", "b"), [1, 0, 0, 1]),
    ],
)
def test_whole_numbers_and_names_are_classes_in_sorted_order(y, classes, labels):
    made = Examples.from_arrays(X, y)
    assert made.classes == classes
    assert made.labels.tolist() == labels
    assert made.labels.dtype == np.int64
    assert made.n_classes == len(classes)


def test_floats_are_numbers_unless_classes_are_given():
    made = Examples.from_arrays(X, [0.5, 1, 2, -1])
    assert made.classes is None
    assert made.n_classes == 0
    assert made.labels.tolist() == [0.5, 1, 2, -1]
    assert "numbers as labels" in repr(made)
    given = Examples.from_arrays(csr_array(X), [1.0, -1.0, 1.0, 1.0], classes=[1, -1], ids="abcd")
    assert given.classes == ("1", "-1")
    assert given.labels.tolist() == [0, 1, 0, 0]
    assert list(given.ids) == list("abcd")


def test_a_test_set_takes_the_classes_of_its_training_set():
    train = Examples.from_arrays(X, list("abca"))
    assert Examples.from_arrays(X, list("ccca"), classes=train.classes).labels.tolist() == [2, 2, 2, 0]
    with pytest.raises(DataError, match="label 'd' is none of the classes a, b, c"):
        Examples.from_arrays(X, list("ccda"), classes=train.classes)


def test_judged_items_of_lists_become_examples():
    lists = full_lists()
    made = Examples.from_lists(lists)
    assert len(made) == made.n_examples == 9
    assert np.array_equal(made.labels, lists.labels[1:])
    assert np.array_equal(made.features.values, lists.features.values[1:])
    assert list(made.ids) == list(lists.item_ids)[1:]
    assert made.source == "made"
    graded = Examples.from_lists(lists, classes=[2, 1, 0])
    assert graded.labels.tolist() == (2 - lists.labels[1:]).tolist()
    assert graded.classes == ("2", "1", "0")
    with pytest.raises(DataError, match="is none of the classes 0"):
        Examples.from_lists(lists, classes=[0])


@pytest.mark.parametrize("labels", [None, np.full(10, np.nan)])
def test_lists_without_a_judgement_are_refused(labels):
    with pytest.raises(DataError, match="made: no item is judged"):
        Examples.from_lists(replace(full_lists(), labels=labels))


def test_take_keeps_what_belongs_together():
    part = Examples.from_arrays(X, list("abca"), ids="wxyz").take(np.array([3, 1]))
    assert part.features.values.tolist() == [[6, 7], [2, 3]]
    assert part.labels.tolist() == [0, 1]
    assert part.classes == ("a", "b", "c")
    assert list(part.ids) == ["z", "x"]
    assert repr(part) == "Examples(2 examples, 2 features, 3 classes)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": np.zeros(3)}, "labels has 3 entries, expected 4"),
        ({"labels": np.zeros(4, np.float32)}, "contiguous float64 vector"),
        ({"labels": np.zeros((4, 1))}, "contiguous float64 vector"),
        ({"labels": np.zeros(8)[::2]}, "contiguous float64 vector"),
        ({"labels": np.array([0, 1, np.nan, 0])}, "the label of example 2 is nan"),
        ({"labels": np.array([0, np.inf, 1, 0])}, "the label of example 1 is inf"),
        ({"labels": np.zeros(4), "classes": ("a",)}, "contiguous int64 vector"),
        ({"labels": np.array([0, 1, 2, 0]), "classes": ("a", "b")}, r"labels must be within 0\.\.1"),
        ({"labels": np.array([0, -1, 0, 0]), "classes": ("a", "b")}, r"labels must be within 0\.\.1"),
        ({"labels": np.zeros(4, np.int64), "classes": ()}, "labels must be within"),
        ({"labels": np.zeros(4, np.int64), "classes": ("a", "a")}, "two classes have the same name"),
        ({"labels": np.zeros(4), "ids": StringColumn.from_strings("ab")}, "ids has 2 entries, expected 4"),
        ({"labels": np.zeros(4), "features": Dense(np.full((4, 1), np.inf))}, "value is inf"),
        ({"labels": np.zeros(0), "features": Dense(np.zeros((0, 1)))}, "no examples"),
    ],
)
def test_invariants(arguments, message):
    with pytest.raises(DataError, match=message):
        Examples(**{"features": Dense(X), **arguments})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[1], [0], [1], [0]], "expected one dimension"),
        ([1, 0, 1], "labels has 3 entries, expected 4"),
        (np.array(["a", 1, "b", 2], dtype=object), "mixes values"),
        (np.zeros(4, complex), "numbers or names, got complex128"),
        ([0.0, np.nan, 1.0, 1.0], "the label of example 1 is nan"),
    ],
)
def test_labels_that_cannot_be_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        Examples.from_arrays(X, y)
