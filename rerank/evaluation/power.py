"""The exact test of outcomes of 0 and 1, and the differences that a number of lists can detect."""

from __future__ import annotations

import math

import numpy as np

from rerank.core.types import Floats

POWER = 0.8  # the probability with which a detectable difference is found significant


def unit_of_outcomes(a: Floats, b: Floats) -> float | None:
    """Return the larger outcome if all values are 0 or that, 1 or 100; None if the values are not outcomes.

    Parameters
    ----------
    a, b : float64 (n_lists)
        Per-list values of two systems, NaN if a list does not count.
    """
    values = np.concatenate([a, b])
    values = values[np.isfinite(values)]
    for unit in (1.0, 100.0):
        if len(values) and np.isin(values, (0.0, unit)).all():
            return unit
    return None


def mcnemar_p(wins: int, losses: int) -> float:
    """Return the two-sided p-value of the exact test of McNemar: lists won and lost as fair coins.

    Parameters
    ----------
    wins, losses : int
        Lists in which one system alone succeeds, and in which the other one does.

    References
    ----------
    McNemar: Note on the sampling error of the difference between correlated proportions or percentages.
    Psychometrika 12, 1947.
    """
    if wins == losses:
        return 1.0
    from scipy import stats

    return min(1.0, 2.0 * float(stats.binom.cdf(min(wins, losses), wins + losses, 0.5)))


def detectable_difference(deviation: float, n_lists: int, level: float) -> float | None:
    """Return the smallest difference that a two-sided test of so many lists finds in 80 % of samples.

    It is (t' + t'') times the standard error, with the quantiles of Student's t for 1 - ``level`` two-sided
    and for the power: close for the bootstrap, randomisation and the t-test, and for Wilcoxon's test if
    differences are not far from normal.

    Parameters
    ----------
    deviation : float
        Standard error of the difference, such as its standard deviation over resampled lists.
    n_lists : int
        That count.
    level : float
        1 - the significance level.

    Returns
    -------
    float, optional
        In units of the metric; None for fewer than two lists or without an error.
    """
    if n_lists < 2 or not (math.isfinite(deviation) and deviation > 0):
        return None
    from scipy import stats

    t = stats.t(n_lists - 1)
    return deviation * float(t.ppf(0.5 * (1.0 + level)) + t.ppf(POWER))


def detectable_by_mcnemar(n_differing: int, n_lists: int, level: float) -> float | None:
    """Return the smallest difference of shares that the exact test finds in 80 % of samples.

    Parameters
    ----------
    n_differing : int
        Lists in which one of the systems alone succeeds: the test sees no others.
    n_lists : int
        All lists that count.
    level : float
        1 - the significance level.

    Returns
    -------
    float, optional
        None if not even a system that wins all of these lists would be significant.
    """
    if n_differing == 0:
        return None
    from scipy import optimize, stats

    fewest = np.arange(n_differing // 2 + 1)
    tails = 2.0 * stats.binom.cdf(fewest, n_differing, 0.5)
    critical = int(np.count_nonzero(tails <= 1.0 - level)) - 1  # so many losses are still significant
    if critical < 0:
        return None

    def lacks(share: float) -> float:  # the share of lists won
        losses = stats.binom(n_differing, 1.0 - share)
        wrong_side = losses.sf(n_differing - critical - 1)
        return POWER - float(losses.cdf(critical) + wrong_side)

    share = float(optimize.brentq(lacks, 0.5, 1.0, xtol=1e-12))
    return (2.0 * share - 1.0) * n_differing / n_lists
