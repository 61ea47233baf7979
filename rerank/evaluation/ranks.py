"""Average ranks of systems over several data sets: Friedman's test and Nemenyi's critical difference.

References
----------
Demšar: Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import count
from rerank.core.types import Floats

LEAST_SYSTEMS = 3
LEAST_SETS = 2
_DECIMALS = 9  # values that are equal to so many decimals are a tie


@dataclass(frozen=True)
class Ranks:
    """Systems ranked on several sets by one metric.

    Attributes
    ----------
    average : mapping of str to float
        The mean rank of each system, from the best; 1 is the first place, ties share the mean of theirs.
    sets : tuple of str
    friedman, p : float, optional
        Friedman's chi-square, corrected for ties, and its p-value; None if all systems are tied everywhere.
    iman_davenport, p_f : float, optional
        The F statistic that is derived from it and less conservative; infinite if all ranks agree.
    critical_difference : float
        Average ranks that differ by at least this differ significantly by Nemenyi's test.
    alpha : float
        Its significance level, over all pairs.
    groups : tuple of tuples of str
        The largest groups of two or more systems that do not differ.
    """

    average: Mapping[str, float]
    sets: tuple[str, ...]
    friedman: float | None
    p: float | None
    iman_davenport: float | None
    p_f: float | None
    critical_difference: float
    alpha: float
    groups: tuple[tuple[str, ...], ...]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite statistic is None."""
        plain = asdict(self)
        if self.iman_davenport is not None and math.isinf(self.iman_davenport):
            plain["iman_davenport"] = None
        return plain


def ranks_of(values: Mapping[str, Mapping[str, float]], better: int, alpha: float = 0.05) -> Ranks:
    """Return the average ranks of systems over sets, with tests.

    Parameters
    ----------
    values : mapping of str to mapping of str to float
        The value of each system, by set and system.
    better : {1, -1}
        Whether larger or smaller values are better.
    alpha : float
        The significance level.

    Raises
    ------
    ConfigError
        If there are fewer than three systems or two sets, or alpha is not between 0 and 1.
    DataError
        If sets have other systems, or a value is not a number.
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha must lie between 0 and 1, got {alpha}")
    sets = tuple(values)
    systems = list(values[sets[0]]) if sets else []
    if len(systems) < LEAST_SYSTEMS or len(sets) < LEAST_SETS:
        raise ConfigError(
            f"ranks need {LEAST_SYSTEMS} systems and {LEAST_SETS} sets at least, found "
            f"{count(len(systems), 'system')} and {count(len(sets), 'set')}"
        )
    from scipy import stats

    table = _table(values, systems)
    ranks = stats.rankdata(-better * np.round(table, _DECIMALS), axis=1)
    means = ranks.mean(axis=0)
    order = np.argsort(means, kind="stable")
    n, k = table.shape
    quantile = float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / math.sqrt(2)
    critical = quantile * math.sqrt(k * (k + 1) / (6 * n))
    friedman, f = _friedman(ranks)
    degrees = (k - 1, (k - 1) * (n - 1))
    return Ranks(
        average={systems[j]: float(means[j]) for j in order},
        sets=sets,
        friedman=friedman,
        p=None if friedman is None else float(stats.chi2.sf(friedman, k - 1)),
        iman_davenport=f,
        p_f=None if f is None else float(stats.f.sf(f, *degrees)),
        critical_difference=critical,
        alpha=alpha,
        groups=_groups([systems[j] for j in order], means[order], critical),
    )


def _table(values: Mapping[str, Mapping[str, float]], systems: Sequence[str]) -> Floats:
    """The values, float64 (n_sets, n_systems)."""
    for name, of_set in values.items():
        if set(of_set) != set(systems):
            odd = sorted(set(of_set) ^ set(systems))[0]
            raise DataError(f"{name}: {odd!r} is not a system of every set")
        for system, value in of_set.items():
            if not math.isfinite(value):
                raise DataError(f"{name}: {system} has no value to be ranked by")
    return np.array([[of_set[system] for system in systems] for of_set in values.values()])


def _friedman(ranks: Floats) -> tuple[float | None, float | None]:
    """Friedman's statistic corrected for ties and that of Iman and Davenport; None if all ranks are tied."""
    n, k = ranks.shape
    between = n * float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    within = float(((ranks - (k + 1) / 2) ** 2).sum()) / (n * (k - 1))
    if within == 0:
        return None, None
    statistic = between / within
    rest = n * (k - 1) - statistic
    return statistic, math.inf if rest <= 1e-9 else (n - 1) * statistic / rest


def _groups(systems: Sequence[str], means: Floats, critical: float) -> tuple[tuple[str, ...], ...]:
    """The largest runs of systems, from the best, whose average ranks differ by less than ``critical``."""
    groups, end = [], 0
    for i in range(len(systems)):
        last = int(np.count_nonzero(means - means[i] < critical))
        if last > max(end, i + 1):
            groups.append(tuple(systems[i:last]))
            end = last
    return tuple(groups)
