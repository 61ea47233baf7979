"""Tests whether a difference between two rankings could be chance, and which differences they detect.

Everything is computed from per-list statistics, whatever the metric. Resampled sums are added in a
fixed order by one kernel, so results depend neither on the number of jobs nor on a BLAS.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from rerank.core import memory, progress
from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count
from rerank.core.types import ArrayLike, Floats, Ints
from rerank.metrics.judging import SEED as SEED
from rerank.native.evaluation import _resample

# Per-list values closer than this are a tie: they differ by rounding, not by ranking.
TOLERANCE = 1e-9
# Draws held in memory at once.
_DRAWS = 1 << 22
# Differences up to which Wilcoxon's test counts all signs if some are tied, as scipy's does.
_EXACT = 13
POWER = 0.8  # the probability with which a detectable difference is found significant


def bootstrap_sums(per_list: Floats, samples: int, seed: int | np.random.SeedSequence) -> Floats:
    """Return sums of statistics over resampled lists.

    Draw b of list t is
    ``Generator(PCG64(seed)).integers(n_lists, size=(samples, n_lists), dtype=int32)[b, t]``.

    Parameters
    ----------
    per_list : float64 (n_lists, width)
        Statistics of any number of systems and metrics side by side, resampled by the same draws.
    samples : int
    seed : int or SeedSequence

    Returns
    -------
    float64 (samples, width)
    """
    n = _checked_size(per_list, samples, per_list.shape[1])
    rng = np.random.Generator(np.random.PCG64(seed))
    step = max(1, _DRAWS // n)
    sizes = [min(step, samples - start) for start in range(0, samples, step)]
    shown = progress.over(sizes, "resampling lists", len(sizes), "block")
    return _sums(per_list, (rng.integers(n, size=(size, n), dtype=np.int32) for size in shown), samples)


def randomised_sums(
    a: Floats, b: Floats, samples: int, seed: int | np.random.SeedSequence
) -> tuple[Floats, Floats]:
    """Return sums of statistics when each list's two rankings are swapped at random.

    List t is swapped in sample s if
    ``Generator(PCG64(seed)).integers(2, size=(samples, n_lists), dtype=int32)[s, t]`` is 1.

    Parameters
    ----------
    a, b : float64 (n_lists, width)
    samples : int
    seed : int or SeedSequence

    Returns
    -------
    two float64 (samples, width)
        Of the rankings in a's place and of those in b's.

    Raises
    ------
    ConfigError
        If ``samples`` is below 1.
    DataError
        If the shapes differ, or there is no list.
    """
    if a.shape != b.shape:
        raise DataError(f"statistics of shapes {a.shape} and {b.shape} cannot be swapped")
    n = _checked_size(a, samples, 4 * a.shape[1])
    rng = np.random.Generator(np.random.PCG64(seed))
    both = np.concatenate([a, b])
    here = np.arange(n, dtype=np.int32)
    step = max(1, _DRAWS // n)
    kept, swapped = [], []
    starts = range(0, samples, step)
    for start in progress.over(starts, "swapping lists at random", len(starts), "block"):
        size = min(step, samples - start)
        coin = rng.integers(2, size=(size, n), dtype=np.int32)
        kept.append(_sums(both, [here + n * coin], size))
        swapped.append(_sums(both, [here + n * (1 - coin)], size))
    return np.concatenate(kept), np.concatenate(swapped)


def _sums(rows: Floats, draws: Iterable[Ints], samples: int) -> Floats:
    """Sums of ``rows`` over each row of the draws: float64 (samples, width)."""
    width = rows.shape[1]
    even = np.zeros((rows.shape[0], width + width % 2))  # the kernel takes columns in pairs
    even[:, :width] = rows
    out = np.empty((samples, even.shape[1]))
    start = 0
    for drawn in draws:
        _resample.resampled_sums(even, drawn, out[start : start + len(drawn)])
        start += len(drawn)
    return out[:, :width]


def _checked_size(rows: Floats, samples: int, width: int) -> int:
    """The number of lists; an error if there is none, or no room for samples of ``width`` numbers."""
    if rows.ndim != 2 or not 1 <= len(rows) < 2**30:
        raise DataError(f"statistics must be (n_lists, width) with at least one list, got {rows.shape}")
    if samples < 1:
        raise ConfigError(f"samples must be at least 1, got {samples}")
    what = f"{samples:,} samples of {count(width, 'statistic')}"
    memory.require(16 * samples * (width + 1), what, "fewer samples need less (--samples)")
    return len(rows)


def interval(sampled: Floats, level: float) -> tuple[float, float] | None:
    """Return the percentile interval of resampled values (samples); None if none is a number.

    Raises
    ------
    ConfigError
        If ``level`` is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1, got {level}")
    values = sampled[np.isfinite(sampled)]
    if len(values) == 0:
        return None
    values.sort()
    at = np.array([(1 - level) / 2, (1 + level) / 2]) * (len(values) - 1)
    # As np.quantile has it, which would import masked arrays: more than a small evaluation costs.
    low, high, t = values[np.floor(at).astype(int)], values[np.ceil(at).astype(int)], at % 1
    first, last = np.where(t < 0.5, low + (high - low) * t, high - (high - low) * (1 - t)).tolist()
    return first, last


def bootstrap_p(sampled_a: ArrayLike, sampled_b: ArrayLike, difference: float) -> float | None:
    """Return the two-sided p-value of the paired bootstrap, by shifting.

    It is (#{|d_b − mean(d)| >= |difference|} + 1) / (B + 1) over the differences d_b of B resampled values,
    and None if none of them or the difference is a number. sacrebleu counts |d_b| − mean(|d|) >
    |difference| instead: about half of this, and 1 / (B + 1) for two equal systems.

    Parameters
    ----------
    sampled_a, sampled_b : float64 (samples)
        Values of both systems over the same resampled lists.
    difference
        The value of a minus that of b on the lists themselves.

    References
    ----------
    Noreen (1989), Computer-intensive methods for testing hypotheses; Koehn (2004), Statistical significance
    tests for machine translation evaluation.
    """
    d = _differences(sampled_a, sampled_b)
    return _p(d - d.mean() if len(d) else d, difference)


def randomisation_p(sampled_a: ArrayLike, sampled_b: ArrayLike, difference: float) -> float | None:
    """Return the two-sided p-value of approximate randomisation: (#{|d_s| >= |difference|} + 1) / (S + 1).

    Parameters
    ----------
    sampled_a, sampled_b : float64 (samples)
        Values of both systems with lists swapped at random.
    difference
        The value of a minus that of b on the lists themselves.
    """
    return _p(_differences(sampled_a, sampled_b), difference)


def _differences(sampled_a: ArrayLike, sampled_b: ArrayLike) -> Floats:
    """The differences of two systems that are numbers."""
    d = np.asarray(sampled_a, dtype=np.float64) - np.asarray(sampled_b, dtype=np.float64)
    return d[np.isfinite(d)]


def _p(sampled: Floats, difference: float) -> float | None:
    """The share of differences as large as the one observed, None without any or if that is no number."""
    if len(sampled) == 0 or not np.isfinite(difference):
        return None
    # Sums in another order differ in the last bits: differences equal except for these count as equal.
    bound = abs(difference) * (1 - 1e-12)
    return (int(np.count_nonzero(np.abs(sampled) >= bound)) + 1) / (len(sampled) + 1)


def wilcoxon_p(differences: ArrayLike) -> float | None:
    """Return the two-sided p-value of Wilcoxon's signed-rank test (zeros dropped); 1 if all are zero."""
    d = _rounded(differences)
    if len(d) == 0:
        return None
    if not d.any():
        return 1.0
    sizes = np.abs(d[d != 0])
    if len(d) <= _EXACT and (len(sizes) < len(d) or len(np.unique(sizes)) < len(sizes)):
        return _exact_wilcoxon_p(d[d != 0])
    from scipy import stats

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns that its approximation is rough for few lists
        return float(stats.wilcoxon(d).pvalue)


def _exact_wilcoxon_p(differences: Floats) -> float:
    """The p-value over all signs of differences that may be tied, as scipy finds it by trying them all.

    The sums of positive ranks, doubled so that they are whole, are counted rank by rank.
    """
    from scipy.stats import rankdata

    ranks = (2 * rankdata(np.abs(differences))).astype(np.int64)
    counts = np.zeros(int(ranks.sum()) + 1, dtype=np.int64)
    counts[0] = 1
    for rank in ranks:
        counts[rank:] += counts[:-rank].copy()
    sums = np.arange(len(counts))
    smaller = np.minimum(sums, sums[::-1])
    observed = smaller[int(ranks[differences > 0].sum())]
    return int(counts[smaller <= observed].sum()) / 2 ** len(ranks)


def paired_t_p(differences: ArrayLike) -> float | None:
    """Return the two-sided p-value of the paired t-test; 1 if all are zero, None for fewer than two lists."""
    d = _rounded(differences)
    if len(d) < 2:
        return None
    if not d.any():
        return 1.0
    if np.ptp(d) == 0:
        return 0.0
    from scipy import stats

    return float(stats.ttest_1samp(d, 0.0).pvalue)


def _rounded(differences: ArrayLike) -> Floats:
    """Differences that are numbers, rounded so that noise breaks no ties among them."""
    d = np.asarray(differences, dtype=np.float64)
    return np.round(d[np.isfinite(d)], 12) + 0.0


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values after Holm's step-down correction; None stays None and counts as no test."""
    values = np.array([p for p in p_values if p is not None], dtype=np.float64)
    order = np.argsort(values, kind="stable")
    tests_left = np.arange(len(values), 0, -1)
    values[order] = np.maximum.accumulate(np.minimum(1.0, values[order] * tests_left))
    corrected = iter(values.tolist())
    return [None if p is None else next(corrected) for p in p_values]


def wins_ties_losses(a: Floats, b: Floats, better: int) -> tuple[int, int, int]:
    """Return the numbers of lists that a wins, ties and loses; values within TOLERANCE are a tie.

    Parameters
    ----------
    a, b : float64 (n_lists)
        Per-list values, NaN if a list does not count.
    better : {1, -1}
        Whether larger or smaller values are better.
    """
    d = better * (a - b)
    d = d[np.isfinite(d)]
    wins, losses = int(np.count_nonzero(d > TOLERANCE)), int(np.count_nonzero(d < -TOLERANCE))
    return wins, len(d) - wins - losses, losses


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
