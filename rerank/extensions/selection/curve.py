"""Risk and coverage: a metric over the share of lists on which a system is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.types import Floats, Index
from rerank.metrics.judges import ReportJudge


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric of n lists as the system takes the baseline's place on one after the other.

    The surest list comes first. Lists of equal confidence come in a random order: between them the curve is
    what that gives on average.

    Attributes
    ----------
    judge : ReportJudge
    baseline, system : float64 (n, k)
        The statistics of each list.
    confidence : float64 (n)

    References
    ----------
    El-Yaniv & Wiener: On the foundations of noise-free selective classification. JMLR 2010.
    """

    judge: ReportJudge
    baseline: Floats
    system: Floats
    confidence: Floats

    @cached_property
    def _order(self) -> Index:
        return np.argsort(-self.confidence, kind="stable")

    @cached_property
    def ends(self) -> Index:
        """Return, from 0, the numbers of lists as sure as each distinct confidence or surer: int64."""
        falling = self.confidence[self._order]
        last = np.append(falling[1:] != falling[:-1], np.ones(min(len(falling), 1), dtype=bool))
        return np.append(0, np.flatnonzero(last) + 1)

    def totals(self, per_list: Floats) -> Floats:
        """Return sums over the lists on which the system is used, at ``ends``: float64 (n_ends)."""
        return np.append(0.0, np.cumsum(per_list[self._order]))[self.ends]

    @cached_property
    def values(self) -> Floats:
        """The metric with the system on 0, 1, ..., n lists, float64 (n + 1)."""
        gained = np.column_stack([self.totals(column) for column in (self.system - self.baseline).T])
        counts = np.arange(len(self.confidence) + 1)
        sums = np.column_stack([np.interp(counts, self.ends, column) for column in gained.T])
        return np.atleast_1d(np.asarray(self.judge.score_from_sums(self.baseline.sum(axis=0) + sums)))

    @property
    def area(self) -> float:
        """The mean of the metric over all coverages, by the trapezoidal rule."""
        return float((self.values[1:] + self.values[:-1]).mean() / 2)

    def threshold(self, end: int) -> float:
        """Return the smallest confidence at which the system is used, for ``ends[end]`` lists to use it."""
        falling, n = self.confidence[self._order], int(self.ends[end])
        if n in (0, len(falling)):
            return -np.inf if n else np.inf
        middle = falling[n] + 0.5 * (falling[n - 1] - falling[n])
        return float(middle if falling[n] < middle < falling[n - 1] else falling[n - 1])

    def best_threshold(self) -> float:
        """Return the threshold with the best value of the metric, the one of fewest lists on ties."""
        return self.threshold(int(np.argmax(np.round(self.judge.better * self.values[self.ends], 12))))


def gains(judge: ReportJudge, baseline: Floats, system: Floats) -> Floats:
    """Return by how much the metric of all lists gets better if the system is used on each one, (n)."""
    total = baseline.sum(axis=0)
    alone = np.asarray(judge.score_from_sums(total + (system - baseline)))
    found: Floats = judge.better * (alone - np.asarray(judge.score_from_sums(total[None])))
    return np.round(found, 12) + 0.0
