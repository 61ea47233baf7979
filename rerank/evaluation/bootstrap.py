"""Rankings judged over the same resampled lists, the basis of intervals, tests and variances.

A ranking may have a part for each fold and statistics for each seed. Its value by a metric is the mean over
folds of the mean over seeds. Lists are resampled within each fold, and the value of each sample is computed
the same way: values, intervals, differences and p-values are those of one number. Tests that look at single
lists pool the lists of all folds, after averaging each list's statistics over seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from rerank.core.types import Floats, Mask
from rerank.data.judge import corpus_value
from rerank.evaluation.significance import Comparison, bootstrap_sums, compare, interval, randomised_sums
from rerank.evaluation.variance import Variance, of_values
from rerank.metrics.judges import ReportJudge

# The statistics of a ranking by one metric: for each fold, for each seed, float64 (n_lists, k).
Statistics: TypeAlias = tuple[tuple[Floats, ...], ...]


class BootstrapTable:
    """Statistics of several rankings by the same metrics, and their sums over the same resampled lists.

    Methods take rankings by their names in ``rows``, and metrics by their position m in ``judges``.

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
            name: [_fold_values(of, found) for of, found in zip(judges, row, strict=True)]
            for name, row in rows.items()
        }
        self._counted = [
            np.logical_or.reduce([np.isfinite(row[m]).any(axis=1) for row in self._by_fold.values()])
            if rows
            else np.array([judge.judged.any() for judge in of])
            for m, of in enumerate(judges)
        ]
        self._sampled = self._samples() if rows else {}

    def _samples(self) -> dict[str, list[Floats]]:
        """Each ranking's values of the samples, by metric: means over folds of means over seeds."""
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
        """Return each list's value on its own, float64 (n_lists of all folds); NaN if it does not count."""
        return np.concatenate(
            [
                list_values(judge, seeds)
                for judge, seeds in zip(self.judges[m], self.rows[name][m], strict=True)
            ]
        )

    def sampled(self, name: str, m: int) -> Floats:
        """Return a ranking's values by metric m over the resampled lists, float64 (samples)."""
        return self._sampled[name][m]

    def interval(self, name: str, m: int, level: float) -> tuple[float, float] | None:
        """Return the percentile interval of a ranking's value by metric m."""
        return interval(self.sampled(name, m), level)

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

    def compare(self, a: str, b: str, m: int) -> Comparison:
        """Return the tests of ranking a against ranking b by metric m."""
        found = compare(
            self.list_values(a, m),
            self.list_values(b, m),
            self.judges[m][0].better,
            self.value(a, m) - self.value(b, m),
            self.sampled(a, m),
            self.sampled(b, m),
        )
        return found if self._varies(a, b, m) else replace(found, p_bootstrap=None)

    def _varies(self, a: str, b: str, m: int) -> bool:
        """Whether a fold has several lists that count: otherwise every resample is the same."""
        differences = self.list_values(a, m) - self.list_values(b, m)
        ends = np.cumsum([len(mask) for mask in self.judged])[:-1]
        return any(np.count_nonzero(np.isfinite(part)) > 1 for part in np.split(differences, ends))

    def variance(self, names: Sequence[str], m: int, level: float) -> Variance:
        """Return how much runs of one system differ by metric m, and how much the lists contribute."""
        values = [self.value(name, m) for name in names]
        sampled = np.stack([self.sampled(name, m) for name in names])
        return of_values(self.judges[m][0].name, values, sampled, level)


def of_one_set(
    judges: Sequence[ReportJudge],
    rows: Mapping[str, Sequence[Floats]],
    judged: Mask,
    samples: int,
    seed: int,
) -> BootstrapTable:
    """Return rankings of one set of lists, with one seed each.

    Parameters
    ----------
    judges : sequence of ReportJudge
        By metric.
    rows : mapping of str to sequence of float64 (n_lists, k)
        The statistics of each ranking, by metric.
    judged : bool (n_lists)
        The lists that are drawn from.
    samples, seed : int
    """
    parts = {name: [((per_list,),) for per_list in row] for name, row in rows.items()}
    return BootstrapTable([[judge] for judge in judges], parts, [judged], samples, seed)


def judged_by_any(judges: Iterable[ReportJudge]) -> Mask:
    """Return the lists that one of some judges can judge, bool (n_lists)."""
    judged: Mask = np.logical_or.reduce([judge.judged for judge in judges])
    return judged


def list_values(judge: ReportJudge, seeds: Sequence[Floats]) -> Floats:
    """Return each list's value on its own (n_lists), NaN if the list does not count.

    Parameters
    ----------
    judge : ReportJudge
    seeds : sequence of float64 (n_lists, k)
        The statistics of each seed; they are averaged.
    """
    return np.where(judge.judged, judge.score_from_sums(mean_of(seeds)), np.nan)


def mean_of(seeds: Sequence[Floats]) -> Floats:
    """Return the mean of the statistics of several seeds, of one seed as they are: float64 (n_lists, k)."""
    return seeds[0] if len(seeds) == 1 else np.mean(np.stack(seeds), axis=0)


def _fold_values(judges: Sequence[ReportJudge], found: Statistics) -> Floats:
    """The value of each fold and seed, float64 (n_folds, n_seeds)."""
    values = [
        [corpus_value(judge, per_list) for per_list in seeds]
        for judge, seeds in zip(judges, found, strict=True)
    ]
    return np.array(values, dtype=np.float64)


def _mean(values: Sequence[Floats], samples: int) -> Floats:
    """The mean of some values of each sample, float64 (samples); NaN if there are none."""
    return np.mean(np.stack(values), axis=0) if values else np.full(samples, np.nan)
