"""Rankings judged over the same resampled lists, the basis of intervals, tests and variances.

A ranking may have a part for each fold and statistics for each seed. Its value by a metric is the mean over
folds of the mean over seeds. Lists are resampled within each fold, and the value of each sample is computed
the same way: values, intervals, differences and p-values are those of one number. Tests that look at single
lists pool the lists of all folds, after averaging each list's statistics over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from rerank.core.types import Floats, Mask
from rerank.data.judge import corpus_value
from rerank.evaluation.significance import (
    bootstrap_p,
    bootstrap_sums,
    detectable_by_mcnemar,
    detectable_difference,
    holm,
    interval,
    mcnemar_p,
    paired_t_p,
    randomisation_p,
    randomised_sums,
    unit_of_outcomes,
    wilcoxon_p,
    wins_ties_losses,
)
from rerank.evaluation.variance import Variance, of_values
from rerank.metrics.judges import ReportJudge

# The statistics of a ranking by one metric: for each fold, for each seed, float64 (n_lists, k).
Statistics: TypeAlias = tuple[tuple[Floats, ...], ...]


class BootstrapTable:
    """Statistics of several rankings by the same metrics, and their sums over the same resampled lists.

    Methods take rankings by their names in ``rows``, and metrics by their position m in ``judges``. Lists are
    drawn when a sampled value is first asked for.

    Parameters
    ----------
    judges : sequence of sequences of ReportJudge
        For each metric, the judge of each fold.
    rows : mapping of str to sequence of Statistics
        The statistics of each ranking, by metric.
    judged : sequence of bool (n_lists)
        For each fold, the lists that are drawn from.
    samples, seed : int
        Fold 0 is drawn with ``seed``, a further fold k with ``SeedSequence(seed, spawn_key=(k,))``.
    """

    def __init__(
        self,
        judges: Sequence[Sequence[ReportJudge]],
        rows: Mapping[str, Sequence[Statistics]],
        judged: Sequence[Mask],
        samples: int,
        seed: int,
    ) -> None:
        self.judges = judges
        self.rows = rows
        self.judged = judged
        self.samples = samples
        self.seeds: list[int | np.random.SeedSequence] = [
            seed if k == 0 else np.random.SeedSequence(seed, spawn_key=(k,)) for k in range(len(judged))
        ]
        self._by_fold = {
            name: [
                np.array(
                    [
                        [corpus_value(judge, one) for one in seeds]
                        for judge, seeds in zip(of, found, strict=True)
                    ]
                )
                for of, found in zip(judges, row, strict=True)
            ]
            for name, row in rows.items()
        }
        self._counted = [
            np.logical_or.reduce([np.isfinite(row[m]).any(axis=1) for row in self._by_fold.values()])
            if rows
            else np.array([judge.judged.any() for judge in of])
            for m, of in enumerate(judges)
        ]
        self._list_values: dict[tuple[str, int], Floats] = {}

    @cached_property
    def sampled(self) -> dict[str, list[Floats]]:
        """The values of the samples, float64 (samples): means over folds of means over seeds.

        They are by ranking and metric.
        """
        drawn = [self._sums(k) if mask.any() else {} for k, mask in enumerate(self.judged)]
        return {
            name: [
                _mean([drawn[k][name, m] for k in self.folds(m)], self.samples)
                for m in range(len(self.judges))
            ]
            for name in self.rows
        }

    def _sums(self, k: int) -> dict[tuple[str, int], Floats]:
        """The mean over seeds of the values of fold k over its resampled lists, by ranking and metric."""
        places = [
            (name, m, seed[self.judged[k]])
            for name, row in self.rows.items()
            for m, found in enumerate(row)
            for seed in found[k]
        ]
        widths = [statistics.shape[1] for *_, statistics in places]
        columns = np.concatenate([statistics for *_, statistics in places], axis=1)
        sums = bootstrap_sums(columns, self.samples, self.seeds[k])
        values: dict[tuple[str, int], list[Floats]] = {}
        parts = np.split(sums, np.cumsum(widths)[:-1], axis=1)
        for (name, m, _), part in zip(places, parts, strict=True):
            values.setdefault((name, m), []).append(np.asarray(self.judges[m][k].score_from_sums(part)))
        return {place: _mean(seeds, self.samples) for place, seeds in values.items()}

    def folds(self, m: int) -> list[int]:
        """Return the folds that count by metric m: those in which some ranking has a value."""
        return np.flatnonzero(self._counted[m]).tolist()

    def values(self, name: str, m: int) -> Floats:
        """Return a ranking's value of each fold and seed by metric m, float64 (n_folds, n_seeds)."""
        return self._by_fold[name][m]

    def by_fold(self, name: str, m: int) -> Floats:
        """Return a ranking's value of each fold by metric m, the mean over seeds; NaN without a value."""
        return self._by_fold[name][m].mean(axis=1)

    def by_seed(self, name: str, m: int) -> Floats:
        """Return a ranking's value of each seed by metric m, the mean over the folds that count."""
        counted = self._by_fold[name][m][self._counted[m]]
        return counted.mean(axis=0) if len(counted) else np.full(counted.shape[1], np.nan)

    def value(self, name: str, m: int) -> float:
        """Return a ranking's value by metric m; NaN if it has none in a fold that counts."""
        counted = self.by_fold(name, m)[self._counted[m]]
        return float(counted.mean()) if len(counted) else float("nan")

    def list_values(self, name: str, m: int) -> Floats:
        """Return each list's value on its own, float64 (n_lists of all folds); NaN if it does not count.

        Statistics of several seeds are averaged for each list.
        """
        if (name, m) not in self._list_values:
            values = [
                np.where(judge.judged, judge.score_from_sums(mean_of(seeds)), np.nan)
                for judge, seeds in zip(self.judges[m], self.rows[name][m], strict=True)
            ]
            self._list_values[name, m] = np.concatenate(values)
        return self._list_values[name, m]

    def swapped(self, a: str, b: str, m: int) -> tuple[Floats, Floats, float]:
        """Return both rankings' values if lists are swapped at random, and the observed difference.

        All are of statistics that are averaged over seeds before they are summed.

        Returns
        -------
        two float64 (samples), and float
        """
        swapped: tuple[list[Floats], list[Floats]] = [], []
        observed = []
        for k in self.folds(m):
            judge, mask = self.judges[m][k], self.judged[k]
            means = [mean_of(self.rows[name][m][k]) for name in (a, b)]
            observed.append(corpus_value(judge, means[0]) - corpus_value(judge, means[1]))
            sums = randomised_sums(means[0][mask], means[1][mask], self.samples, self.seeds[k])
            for values, of_one in zip(swapped, sums, strict=True):
                values.append(np.asarray(judge.score_from_sums(of_one)))
        in_a, in_b = (_mean(values, self.samples) for values in swapped)
        return in_a, in_b, float(np.mean(observed)) if observed else float("nan")

    def varies(self, a: str, b: str, m: int) -> bool:
        """Return whether a fold has several lists that count: otherwise every resample is the same."""
        differences = self.list_values(a, m) - self.list_values(b, m)
        ends = np.cumsum([len(mask) for mask in self.judged])[:-1]
        return any(np.count_nonzero(np.isfinite(part)) > 1 for part in np.split(differences, ends))

    def variance(self, names: Sequence[str], m: int, level: float) -> Variance:
        """Return how much runs of one system differ by metric m, and how much the lists contribute."""
        values = [self.value(name, m) for name in names]
        sampled = np.stack([self.sampled[name][m] for name in names])
        return of_values(self.judges[m][0].name, values, sampled, level)


class Test:
    """Ranking a against ranking b by one metric. All p-values are two-sided, computed when first asked for.

    Attributes
    ----------
    a, b : str
    value_a, value_b, difference : float
        Their values, and that of a minus that of b.
    ci : (float, float), optional
        Percentile interval of the difference over resampled lists.
    p_bootstrap, p_randomisation, p_wilcoxon, p_t : float, optional
        None if there is nothing to test.
    holm : float, optional
        p_bootstrap corrected for all pairs that are tested by the metric.
    p_sacrebleu : float, optional
        The bootstrap's p as sacrebleu computes it, about half of p_bootstrap.
    p_mcnemar : float, optional
        Exact; None if a list's value can be other than 0 and 1 (or 100).
    detectable, detectable_mcnemar : float, optional
        The smallest difference that tests of these lists find in 80 % of samples, and that McNemar's finds;
        None if they can find no difference.
    wins, ties, losses : int
        Lists that a wins, ties and loses.
    """

    __test__ = False  # not a test case of pytest, despite its name

    KEYS = (
        *("a", "b", "value_a", "value_b", "difference", "ci", "p_bootstrap", "holm", "p_randomisation"),
        *("p_wilcoxon", "p_t", "p_sacrebleu", "p_mcnemar", "detectable", "detectable_mcnemar"),
        *("wins", "ties", "losses"),
    )

    def __init__(self, table: BootstrapTable, a: str, b: str, m: int, level: float) -> None:
        self.a, self.b = a, b
        self._table, self._m, self._level = table, m, level
        self.value_a, self.value_b = table.value(a, m), table.value(b, m)
        self.difference = self.value_a - self.value_b
        self.wins, self.ties, self.losses = wins_ties_losses(*self._lists(), table.judges[m][0].better)
        self.holm: float | None = None

    def _lists(self) -> tuple[Floats, Floats]:
        return self._table.list_values(self.a, self._m), self._table.list_values(self.b, self._m)

    def _list_differences(self) -> Floats:
        return np.subtract(*self._lists())

    def _sampled_differences(self) -> Floats:
        return self._table.sampled[self.a][self._m] - self._table.sampled[self.b][self._m]

    @cached_property
    def ci(self) -> tuple[float, float] | None:
        return interval(self._sampled_differences(), self._level)

    @cached_property
    def p_bootstrap(self) -> float | None:
        if not self._table.varies(self.a, self.b, self._m):
            return None
        sampled_a, sampled_b = (self._table.sampled[name][self._m] for name in (self.a, self.b))
        return bootstrap_p(sampled_a, sampled_b, self.difference)

    @cached_property
    def p_randomisation(self) -> float | None:
        return randomisation_p(*self._table.swapped(self.a, self.b, self._m))

    @cached_property
    def p_wilcoxon(self) -> float | None:
        return wilcoxon_p(self._list_differences())

    @cached_property
    def p_t(self) -> float | None:
        return paired_t_p(self._list_differences())

    @cached_property
    def p_sacrebleu(self) -> float | None:
        d = self._sampled_differences()
        d = np.abs(d[np.isfinite(d)])
        if self.p_bootstrap is None or len(d) == 0 or not np.isfinite(self.difference):
            return None
        return (int(np.count_nonzero(d - d.mean() > abs(self.difference))) + 1) / (len(d) + 1)

    @cached_property
    def _unit(self) -> float | None:
        return unit_of_outcomes(*self._lists())

    @cached_property
    def p_mcnemar(self) -> float | None:
        return None if self._unit is None else mcnemar_p(self.wins, self.losses)

    @cached_property
    def detectable(self) -> float | None:
        d = self._sampled_differences()
        error = math.nan if self.p_bootstrap is None else float(np.std(d[np.isfinite(d)]))
        return detectable_difference(error, self.wins + self.ties + self.losses, self._level)

    @cached_property
    def detectable_mcnemar(self) -> float | None:
        if self._unit is None:
            return None
        differing = self.wins + self.losses
        share = detectable_by_mcnemar(differing, differing + self.ties, self._level)
        return None if share is None else self._unit * share

    def as_json(self) -> dict[str, Any]:
        """Return everything by name."""
        return {key: getattr(self, key) for key in self.KEYS}


def tests_of(table: BootstrapTable, names: Iterable[tuple[str, str]], m: int, level: float) -> list[Test]:
    """Return the tests of some pairs of rankings by one metric, with Holm's correction for these pairs.

    Parameters
    ----------
    table : BootstrapTable
    names : iterable of (str, str)
        The rankings a and b of each pair.
    m : int
        The metric's place in the table.
    level : float
        Of the intervals.
    """
    found = [Test(table, a, b, m, level) for a, b in names]
    for test, corrected in zip(found, holm([test.p_bootstrap for test in found]), strict=True):
        test.holm = corrected
    return found


def mean_of(seeds: Sequence[Floats]) -> Floats:
    """Return the mean of the statistics of several seeds, of one seed as they are: float64 (n_lists, k)."""
    return seeds[0] if len(seeds) == 1 else np.mean(np.stack(seeds), axis=0)


def _mean(values: Sequence[Floats], samples: int) -> Floats:
    """The mean of some values of each sample, float64 (samples); NaN if there are none."""
    return np.mean(np.stack(values), axis=0) if values else np.full(samples, np.nan)
