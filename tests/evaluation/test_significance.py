"""Significance tests against slow loops, worked cases and degenerate input."""

import warnings

import numpy as np
import pytest
from reference import significance as slow
from scipy import stats

from rerank.core.errors import ConfigError, DataError
from rerank.evaluation import significance
from rerank.evaluation.significance import (
    bootstrap_p,
    bootstrap_sums,
    holm,
    interval,
    paired_t_p,
    randomisation_p,
    randomised_sums,
    wilcoxon_p,
    wins_ties_losses,
)


def ratio(sums: np.ndarray) -> float:
    return float(sums[0] / sums[-1])


@pytest.mark.parametrize("width", [1, 2, 3, 8, 10, 17])
@pytest.mark.parametrize("n", [1, 2, 37])
def test_resampled_sums_are_the_loop_over_lists_to_the_last_bit(width: int, n: int) -> None:
    per_list = np.random.default_rng(width).normal(size=(n, width)) * 10.0 ** np.arange(width)
    assert np.array_equal(bootstrap_sums(per_list, 23, 5), slow.resampled(per_list, 23, 5))


def test_resampled_sums_do_not_depend_on_the_memory_they_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    per_list = np.random.default_rng(0).normal(size=(41, 4))
    whole = bootstrap_sums(per_list, 29, 1)
    swapped = randomised_sums(per_list, per_list[::-1].copy(), 29, 1)
    monkeypatch.setattr(significance, "_DRAWS", 100)  # two samples at a time
    assert np.array_equal(bootstrap_sums(per_list, 29, 1), whole)
    again = randomised_sums(per_list, per_list[::-1].copy(), 29, 1)
    assert all(np.array_equal(a, b) for a, b in zip(again, swapped, strict=True))


def test_a_system_has_the_same_interval_whatever_it_is_compared_with() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(50, 2)), rng.normal(size=(50, 3))
    assert np.array_equal(bootstrap_sums(np.hstack([b, a]), 40, 9)[:, 3:], bootstrap_sums(a, 40, 9))


def test_swapped_sums_are_the_loop_over_lists() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 9, (31, 3)).astype(float), rng.integers(0, 9, (31, 3)).astype(float)
    for found, wanted in zip(randomised_sums(a, b, 17, 4), slow.swapped(a, b, 17, 4), strict=True):
        assert np.array_equal(found, wanted)


def test_the_bootstraps_p_value_is_the_slow_ones() -> None:
    rng = np.random.default_rng(8)
    for shift in (0.0, 0.1, 0.5):
        a = np.stack([rng.random(40), rng.integers(1, 5, 40)], axis=1)
        b = np.stack([a[:, 0] + rng.normal(scale=0.4, size=40) - shift, a[:, 1]], axis=1)
        sums = bootstrap_sums(np.hstack([a, b]), 300, 2)
        d = ratio(a.sum(axis=0)) - ratio(b.sum(axis=0))
        found = bootstrap_p(sums[:, 0] / sums[:, 1], sums[:, 2] / sums[:, 3], d)
        assert found == slow.shift_p(a, b, ratio, 300, 2)


def test_equal_systems_have_a_p_value_of_one() -> None:
    values = np.random.default_rng(0).random(30)
    sampled = bootstrap_sums(values[:, None], 200, 1)[:, 0]
    assert bootstrap_p(sampled, sampled, 0.0) == wilcoxon_p(values - values) == 1.0
    assert wins_ties_losses(values, values, 1) == (0, 30, 0)
    assert paired_t_p(values - values) == 1.0
    assert randomisation_p(sampled, sampled, 0.0) == 1.0


def test_a_system_better_on_every_list_is_significant() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(100)
    b = a - 0.2 - 0.01 * rng.random(100)
    sums = bootstrap_sums(np.stack([a, b], axis=1), 999, 1) / 100
    assert bootstrap_p(sums[:, 0], sums[:, 1], float(np.mean(a - b))) == pytest.approx(1 / 1000)
    assert wins_ties_losses(a, b, 1) == (100, 0, 0)
    assert wins_ties_losses(a, b, -1) == (0, 0, 100)
    first, second = randomised_sums(a[:, None], b[:, None], 999, 1)
    assert randomisation_p(first[:, 0], second[:, 0], float((a - b).sum())) == pytest.approx(1 / 1000)


def test_intervals_are_percentiles_and_leave_out_what_is_no_number() -> None:
    sampled = np.array([np.nan, *np.arange(101.0), np.nan])
    assert interval(sampled, 0.9) == (pytest.approx(5.0), pytest.approx(95.0))
    assert interval(np.array([np.nan]), 0.9) is None
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(ConfigError, match="between 0 and 1"):
            interval(sampled, level)
    assert bootstrap_p([np.nan], [1.0], 1.0) is None
    assert bootstrap_p([1.0], [1.0], np.nan) is None


def test_wilcoxon_and_t_are_scipys_and_survive_little_data() -> None:
    d = np.random.default_rng(2).normal(0.2, 1.0, 60)
    assert wilcoxon_p(d) == pytest.approx(stats.wilcoxon(d).pvalue)
    assert paired_t_p(d) == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert wilcoxon_p([]) is None
        assert wilcoxon_p([np.nan]) is None
        assert wilcoxon_p([0.0, 0.0]) == wilcoxon_p([2.0]) == 1.0
        assert wilcoxon_p([0.0, 0.3]) == 1.0
        assert paired_t_p([0.5]) is None
        assert paired_t_p([0.5, 0.5]) == 0.0


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_wilcoxon_of_few_tied_lists_is_scipys(n: int) -> None:
    for seed in range(4):
        d = np.random.default_rng([n, seed]).integers(-3, 5, n) / 4
        if d.any():
            assert wilcoxon_p(d) == stats.wilcoxon(d).pvalue, d


def test_exactly_two_and_one_difference_by_hand() -> None:
    # t = 2 / (sqrt(2) / sqrt(2)) = 2 with one degree of freedom: p = 1 - 2 atan(2) / pi.
    assert paired_t_p([1.0, 3.0]) == pytest.approx(1 - 2 * np.arctan(2.0) / np.pi)
    assert paired_t_p([1.0, np.nan, 3.0]) == paired_t_p([1.0, 3.0])
    assert paired_t_p([1.0]) is None
    assert paired_t_p([]) is None
    assert wilcoxon_p([1.0, 2.0]) == 0.5  # 2 of 4 sign patterns are as extreme
    assert wilcoxon_p([1.0]) == 1.0
    assert holm([0.02, 0.03]) == [0.04, 0.04]
    assert holm([0.02]) == [0.02]
    assert interval(np.array([1.0, 3.0]), 0.5) == (1.5, 2.5)
    assert interval(np.array([2.0]), 0.95) == (2.0, 2.0)


def test_differences_of_rounding_are_ties() -> None:
    d = np.array([0.3, -0.3, 0.1 + 0.2 - 0.3])
    assert wilcoxon_p(d) == wilcoxon_p([0.3, -0.3, 0.0])
    assert wins_ties_losses(np.array([0.1 + 0.2, 1.0, np.nan]), np.array([0.3, 0.0, 1.0]), 1) == (1, 1, 0)


def test_holm_steps_down() -> None:
    # By hand: .01 x 3, then .02 x 2 (at least the one before), then .9 x 1.
    assert holm([0.02, 0.01, 0.9]) == [pytest.approx(0.04), pytest.approx(0.03), 0.9]
    assert holm([0.02, None, 0.015]) == [pytest.approx(0.03), None, pytest.approx(0.03)]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([None]) == [None]


def test_holm_equals_its_definition() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 30):
        p_values = np.round(rng.random(n), 1).tolist()
        places = np.argsort(p_values, kind="stable").tolist()
        steps = [min(1.0, p_values[i] * (n - done)) for done, i in enumerate(places)]
        assert holm(p_values) == [max(steps[: places.index(i) + 1]) for i in range(n)]


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="samples"):
        bootstrap_sums(np.zeros((2, 2)), 0, 1)
    with pytest.raises(DataError, match="at least one list"):
        bootstrap_sums(np.zeros((0, 2)), 10, 1)
    with pytest.raises(DataError, match="cannot be swapped"):
        randomised_sums(np.zeros((2, 2)), np.zeros((3, 2)), 10, 1)
