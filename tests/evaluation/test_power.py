"""McNemar's exact test and detectable differences, against scipy and the definition of power."""

import numpy as np
import pytest
from scipy import stats
from small_judging import compare_all

from rerank.data.lists import CandidateLists
from rerank.evaluation.significance import (
    detectable_by_mcnemar,
    detectable_difference,
    mcnemar_p,
    unit_of_outcomes,
)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (0, 6), (7, 7), (12, 3), (250, 199)])
def test_mcnemar_is_the_exact_binomial_test(wins, losses):
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert mcnemar_p(wins, losses) == pytest.approx(expected)


@pytest.mark.parametrize("differing", [6, 7, 20, 101])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_at_the_detectable_share_mcnemar_has_its_power(differing, level):
    found = detectable_by_mcnemar(differing, 200, level)
    significant = [w for w in range(differing + 1) if mcnemar_p(w, differing - w) <= 1 - level]
    if not significant:
        assert found is None
        return
    share = 0.5 * (found * 200 / differing + 1)
    assert stats.binom.pmf(significant, differing, share).sum() == pytest.approx(0.8)


def test_five_differing_lists_can_show_nothing():
    assert mcnemar_p(5, 0) > 0.05
    assert detectable_by_mcnemar(5, 100, 0.95) is None
    assert detectable_by_mcnemar(0, 100, 0.95) is None


@pytest.mark.parametrize(("n", "tolerance"), [(5, 0.05), (20, 0.01), (400, 0.005)])
def test_the_t_test_has_its_power_at_the_detectable_difference(n, tolerance):
    found = detectable_difference(0.03, n, 0.95)
    critical = stats.t(n - 1).ppf(0.975)
    power = stats.nct(n - 1, found / 0.03).sf(critical)
    assert power == pytest.approx(0.8, abs=tolerance)


def test_nothing_is_detectable_without_an_error_or_with_one_list():
    assert detectable_difference(0.0, 100, 0.95) is None
    assert detectable_difference(float("nan"), 100, 0.95) is None
    assert detectable_difference(0.1, 1, 0.95) is None


def test_outcomes_are_zero_and_one_of_one_unit():
    nan = float("nan")
    assert unit_of_outcomes(np.array([0.0, 1.0, nan]), np.array([1.0, 1.0, nan])) == 1.0
    assert unit_of_outcomes(np.array([0.0, 100.0]), np.zeros(2)) == 100.0
    assert unit_of_outcomes(np.array([0.0, 0.5]), np.zeros(2)) is None
    assert unit_of_outcomes(np.array([1.0, 100.0]), np.zeros(2)) is None
    assert unit_of_outcomes(np.array([nan]), np.array([nan])) is None


@pytest.fixture
def outcomes():
    """Twenty lists: the first system is right in 15 of them, the second in 6 of these and 2 others."""
    lists = CandidateLists.from_arrays(np.zeros((40, 1)), [1.0, 0.0] * 20, group=[2] * 20)
    right = np.array([True] * 15 + [False] * 5)
    other = np.array([True] * 6 + [False] * 9 + [True] * 2 + [False] * 3)
    return lists, {name: np.stack([r, ~r], axis=1).ravel() for name, r in (("a", right), ("b", other))}


def test_compare_reports_both(outcomes):
    lists, systems = outcomes
    found = compare_all(lists, systems, ["P@1", "RR"])
    (pair,) = found.pairs["P@1"]
    assert (pair.wins, pair.losses) == (9, 2)
    assert pair.p_mcnemar == pytest.approx(stats.binomtest(9, 11).pvalue)
    assert pair.detectable_mcnemar == pytest.approx(detectable_by_mcnemar(11, 20, 0.95))
    d = np.array([1.0] * 9 + [-1.0] * 2 + [0.0] * 9)
    draws = np.random.Generator(np.random.PCG64(found.judging.seed)).integers(
        20, size=(1000, 20), dtype=np.int32
    )
    order = np.argsort(np.r_[np.arange(6, 15), 15, 16, np.arange(6), np.arange(17, 20)])
    sampled = d[order][draws].mean(axis=1)
    assert pair.detectable == pytest.approx(detectable_difference(sampled.std(), 20, 0.95))
    assert found.pairs["RR"][0].p_mcnemar is None
    assert found.pairs["RR"][0].detectable == pytest.approx(pair.detectable / 2)


def test_the_report_names_mcnemar_only_for_outcomes(outcomes):
    lists, systems = outcomes
    text = compare_all(lists, systems, ["P@1"]).text()
    assert "McNemar" in text
    assert ".065" in text
    assert "detectable: smallest difference that tests of these lists at 0.05 find in 80% of samples" in text
    assert "McNemar" not in compare_all(lists, systems, ["RR"]).text()


def test_equal_systems_detect_nothing(outcomes):
    lists, systems = outcomes
    (pair,) = compare_all(lists, {"a": systems["a"], "b": systems["a"]}, ["P@1"]).pairs["P@1"]
    assert (pair.p_mcnemar, pair.detectable, pair.detectable_mcnemar) == (1.0, None, None)
