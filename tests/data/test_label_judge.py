"""The judge of the chosen items' labels is the metric label@1."""

import math

import numpy as np
import pytest
from make import lists as lists_of

from rerank.core.errors import DataError
from rerank.data.judge import SelectingJudge, filled_labels, label_judge, value_of
from rerank.metrics.base import parse
from rerank.native.learners import _mert

NAN = math.nan


CASES = {
    "judged": ([3.0, 1.0, 2.0], [0.0, 5.0]),
    "one item": ([2.0],),
    "unjudged items": ([NAN, 4.0, 1.0], [NAN, -3.0, -2.0], [NAN, 7.0]),
    "unjudged lists": ([NAN, NAN], [1.0, 0.0], [NAN]),
    "nothing judged": ([NAN], [NAN, NAN]),
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_metric(case):
    lists = lists_of([*CASES[case]])
    ours, metric = label_judge(lists), parse("label@1").prepare(lists)
    assert isinstance(ours, SelectingJudge)
    assert (ours.name, ours.signature, ours.better) == (metric.name, metric.signature, metric.better)
    assert repr(ours.sum_form) == repr(metric.sum_form)
    np.testing.assert_array_equal(ours.per_item, metric.per_item)
    rng = np.random.default_rng(0)
    for _ in range(5):
        scores = rng.integers(0, 3, lists.n_items).astype(float)  # with ties
        rows = ours.per_list(scores)
        np.testing.assert_array_equal(rows, metric.per_list(scores))
        np.testing.assert_array_equal(ours.score_from_sums(rows), metric.score_from_sums(rows))
        np.testing.assert_array_equal(value_of(ours, scores), value_of(metric, scores))


def test_kernels_compute_the_mean_from_its_form():
    judge = label_judge(lists_of([[3.0, 1.0], [NAN, 5.0]]))
    sums = judge.per_item[[0, 3]].sum(axis=0)
    assert _mert.value_of(sums, judge.sum_form.number, *judge.sum_form.parameters) == 4.0


def test_an_unjudged_item_is_worth_nothing_or_as_little_as_the_worst():
    filled = filled_labels(lists_of([[NAN, 4.0], [NAN, -3.0, -1.0], [NAN]]))
    np.testing.assert_array_equal(filled, [0.0, 4.0, -3.0, -3.0, -1.0, 0.0])


def test_labels_are_needed_and_must_have_a_mean():
    lists = lists_of([[1.0, 2e150]])
    with pytest.raises(DataError, match=r"^some lists: label 2e\+150 is too large for a mean of labels$"):
        label_judge(lists)
    with pytest.raises(DataError, match=r"^some lists: no labels to measure against$"):
        label_judge(lists.replace_labels(None))
