"""Leads over the first-best, and scores that keep it: boundaries, ties, rounding, infinities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import keep_first as twin

from rerank.core.errors import ConfigError, DataError
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest, leads_of, margin_of, switched, with_margin
from rerank.data.lists import CandidateLists


def lists_of(sizes, first_best=None):
    n = sum(sizes)
    order = -np.arange(n, dtype=float) if first_best is None else np.asarray(first_best, dtype=float)
    plain = CandidateLists.from_arrays(order[:, None], group=sizes, source="some lists")
    return plain.with_first_best("1")


def choice(lists, scores):
    return first_largest(scores, lists.offsets).tolist()


VALUES = st.sampled_from([-1e308, -3.0, -0.1, 0.0, 0.1, 0.3, 1.0, 1.1, 1e16, 1e308])
MARGINS = st.one_of(st.sampled_from([0.0, 0.1, 0.2, 1.0, 1.1, 1e308, np.inf]), st.floats(0, 5))


@given(st.data(), MARGINS)
def test_the_order_of_the_scores_obeys_the_margin(data, margin):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n = sum(sizes)
    scores, order = (np.array(data.draw(st.lists(VALUES, min_size=n, max_size=n))) for _ in range(2))
    lists = lists_of(sizes, order)
    kept = with_margin(lists, scores, margin)
    assert np.isfinite(kept).all()
    expected = twin.chosen(lists, scores, margin)
    assert choice(lists, kept) == expected
    assert np.flatnonzero(switched(lists, kept)).tolist() == [
        i for i, (a, b) in enumerate(zip(expected, twin.first_best(lists), strict=True)) if a != b
    ]
    others = np.setdiff1d(np.arange(n), twin.first_best(lists))
    np.testing.assert_array_equal(kept[others], scores[others])


def test_the_margin_is_added_to_the_first_best_alone():
    lists = lists_of([3, 2])
    scores = np.array([1.0, 2.0, 0.0, 5.0, 4.0])
    np.testing.assert_array_equal(with_margin(lists, scores, 0.5), [1.5, 2.0, 0.0, 5.5, 4.0])
    np.testing.assert_array_equal(scores, [1.0, 2.0, 0.0, 5.0, 4.0])


def test_an_item_with_the_same_text_is_not_another_choice():
    lists = lists_of([2, 2, 1])
    scores = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
    assert switched(lists, scores).tolist() == [True, True, False]
    texts = StringColumn.from_strings(["so", "so", "so", "", ""])
    assert switched(replace(lists, texts=texts), scores).tolist() == [False, True, False]


def test_a_lead_of_the_margin_itself_does_not_switch():
    lists = lists_of([2, 2, 2], [0, 1, 0, 1, 0, 1])  # the first-best is second
    lead = 0.1 + 0.2
    scores = np.array([lead, 0.0, np.nextafter(lead, 1), 0.0, np.nextafter(lead, 0), 0.0])
    assert choice(lists, with_margin(lists, scores, lead)) == [1, 2, 5]
    kept = with_margin(lists, scores, lead)
    assert kept[1] == np.nextafter(lead, np.inf)  # a tie would fall to the earlier item
    assert kept[3] < kept[2]


def test_rounding_of_the_sum_changes_no_choice():
    lists = lists_of([2])
    scores = np.array([1e16, 1e16 + 4])
    assert choice(lists, with_margin(lists, scores, 3.9)) == [1]  # 1e16 + 3.9 is 1e16 + 4 in floating point
    assert choice(lists, with_margin(lists, scores, 4.0)) == [0]


def test_the_first_best_wins_ties_for_the_top_even_without_a_margin():
    lists = lists_of([3], [0, 0, 1])
    scores = np.zeros(3)
    assert choice(lists, scores) == [0]
    assert choice(lists, with_margin(lists, scores, 0.0)) == [2]
    assert leads_of(lists, scores).lead.tolist() == [0.0]


def test_an_infinite_margin_keeps_every_first_best_with_finite_scores():
    lists = lists_of([1, 3], [0, 0, 0, 9])
    kept = with_margin(lists, np.array([2.0, 7.0, 1.0, -5.0]), np.inf)
    assert kept.tolist() == [3.0, 7.0, 1.0, 8.0]


def test_without_a_first_best_the_error_names_the_option():
    lists = CandidateLists.from_arrays(np.zeros((2, 1)), source="some lists")
    with pytest.raises(DataError, match=r"some lists: .*--first-best input\|FEATURE"):
        with_margin(lists, np.zeros(2), 0.0)


def test_a_nan_score_is_refused():
    with pytest.raises(DataError, match="some lists: item 2 has the score NaN"):
        with_margin(lists_of([2]), np.array([0.0, np.nan]), 0.0)


@pytest.mark.parametrize("margin", [-1e-9, -np.inf, np.nan])
def test_a_margin_is_a_number_of_at_least_0(margin):
    with pytest.raises(ConfigError, match="keep margin: found"):
        with_margin(lists_of([2]), np.zeros(2), margin)


@pytest.mark.parametrize(("text", "margin"), [("none", None), ("0", 0.0), ("1e-3", 0.001), ("inf", np.inf)])
def test_margins_as_typed(text, margin):
    assert margin_of(text) == margin


@pytest.mark.parametrize("text", ["", "auto", "-1", "nan", "1,5"])
def test_malformed_margins_are_refused(text):
    with pytest.raises(ConfigError, match="expected a number of at least 0, inf or none"):
        margin_of(text)
