"""Gains by bins of lists, and the lists that gained and lost most."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.everything import judged_lists
from small_judging import of_systems

from rerank.evaluation.by_list import binned, by_size, difficulty, extremes, gains, limits_of

BOOTSTRAP = {"samples": 50, "level": 0.9, "seed": 3}
values = st.lists(st.tuples(st.integers(0, 6), st.integers(-3, 3)), min_size=1, max_size=30)


@given(values, st.integers(1, 6))
def test_bins_hold_every_list_once_and_equal_keys_together(pairs, most):
    keys, amounts = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = binned(keys, amounts, most=most, **BOOTSTRAP)
    assert 1 <= len(found) <= most
    assert sum(one.lists for one in found) == len(keys)
    for before, after in pairwise(found):
        assert before.high < after.low
    for one in found:
        inside = amounts[(keys >= one.low) & (keys <= one.high)]
        assert one.lists == len(inside)
        assert one.gain == pytest.approx(inside.mean(), abs=1e-12)
        if one.lists == 1:
            assert one.ci is None
            continue
        rng = np.random.Generator(np.random.PCG64(3))
        draws = rng.integers(len(inside), size=(50, len(inside)), dtype=np.int32)
        np.testing.assert_allclose(one.ci, np.quantile(inside[draws].mean(axis=1), [0.05, 0.95]), atol=1e-9)


def test_bins_are_of_about_equal_size():
    found = binned(np.arange(100.0), np.zeros(100), **BOOTSTRAP)
    assert [one.lists for one in found] == [20] * 5


def test_lists_without_a_number_are_in_no_bin():
    nan = float("nan")
    found = binned(np.array([1.0, nan, 2.0, 1.0]), np.array([1.0, 1.0, nan, 3.0]), **BOOTSTRAP)
    assert [(one.low, one.high, one.lists, one.gain) for one in found] == [(1.0, 1.0, 2, 2.0)]
    assert binned(np.array([nan]), np.array([1.0]), **BOOTSTRAP) == []


def test_extremes_are_sorted_and_leave_out_ties():
    amounts = np.array([0.5, -1.0, 0.0, float("nan"), 0.5, 2.0, -0.25, 1e-12])
    gained, lost = extremes(amounts, 2)
    assert gained.tolist() == [5, 0]
    assert lost.tolist() == [1, 6]
    assert [part.tolist() for part in extremes(np.zeros(3), 5)] == [[], []]


def test_a_smaller_value_is_a_gain_if_it_is_better():
    lists = judged_lists(2)
    rng = np.random.default_rng(2)
    systems = {name: rng.standard_normal(lists.n_items) for name in "ab"}
    results = of_systems(lists, systems, ["WER", "label@1"])
    wer = [results.list_values(name, "WER") for name in "ab"]
    label = [results.list_values(name, "label@1") for name in "ab"]
    np.testing.assert_array_equal(gains(results, "WER", "a", "b"), -(wer[0] - wer[1]))
    np.testing.assert_array_equal(gains(results, "label@1", "a", "b"), label[0] - label[1])
    np.testing.assert_allclose(difficulty(results, "WER", ["a", "b"]), (wer[0] + wer[1]) / 2)


@pytest.mark.parametrize(
    ("amounts", "large"),
    [
        ([0.1, -0.2, 0.3, -0.4, 0.0, np.nan], 0.2),
        ([0.4, np.inf, -np.inf], 0.2),
        ([20.0, -30.0, 50.0, 50.0], 50.0),
        ([-1.0] * 3 + [1e-12], 1.0),
        ([1000.0], 1000.0),
        ([0.01], 0.01),
        ([3e-5, 4e-5], 2e-5),
        ([0.0, np.nan, 1e-12], 0.1),
        ([], 0.1),
    ],
)
def test_limits_are_round_numbers_that_a_quarter_reaches(amounts, large):
    found = limits_of(np.array(amounts))
    assert found == pytest.approx((large / 10, large), rel=1e-12)


def test_lists_by_size():
    amounts = np.array(
        [0.5, 0.2, 0.2 + 1e-13, 0.8 - 0.6, 0.02, 0.019, 0.0, 1e-13, -0.01, -0.02, -0.3, np.nan]
    )
    assert by_size(amounts, (0.02, 0.2)) == [1, 0, 2, 2, 2, 3, 1]
    assert by_size(np.array([np.nan]), (0.01, 0.1)) == [0] * 7


@given(st.lists(st.integers(-300, 300)))
def test_sizes_hold_every_list_once(numbers):
    amounts = np.array(numbers) / 100
    limits = limits_of(amounts)
    found = by_size(amounts, limits)
    assert sum(found[:3]) == (amounts < 0).sum()
    assert found[3] == (amounts == 0).sum()
    assert 4 * (found[0] + found[6] + np.isclose(np.abs(amounts), limits[1]).sum()) >= (amounts != 0).sum()
    assert by_size(-amounts, limits) == found[::-1]
