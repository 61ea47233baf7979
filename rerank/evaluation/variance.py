"""How much a value varies with the seed, and how much with the lists (Clark et al. 2011).

A learner that draws random numbers is itself one draw: with another seed it ends elsewhere. The paired
bootstrap varies the lists only, so a gain that it finds significant may be due to the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rerank.core.records import Number, Record
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.evaluation.gains import LEVEL, SAMPLES, judged_lists
from rerank.evaluation.significance import SEED, bootstrap_sums, interval


class Variance(Record):
    """Runs of one system on the same lists.

    Attributes
    ----------
    metric : str
    values : tuple of float
        The metric of each run.
    mean : float
        Of the values.
    sd_seeds : float
        Standard deviation of the values, divided by n - 1.
    sd_lists : float
        Standard deviation of a run's value over resampled lists, mean over the runs; NaN if fewer than two
        resamples have a value.
    ci : (float, float), optional
        Percentile interval of level ``level`` of the runs' mean value over resampled lists.
    """

    metric: str
    values: tuple[Number[float], ...]
    mean: Number[float]
    sd_seeds: Number[float]
    sd_lists: Number[float]
    ci: tuple[float, float] | None
    level: float

    @property
    def within_seeds(self) -> float:
        """The largest difference of two runs with different seeds, 95 times in 100, if they are normal."""
        return 1.96 * math.sqrt(2) * self.sd_seeds

    @property
    def of_one_run(self) -> float:
        """Half the width of a 95 % interval of one run's value, by seeds and lists together."""
        return 1.96 * math.hypot(self.sd_seeds, self.sd_lists)


def variance(
    judge: PreparedMetric,
    runs: Sequence[Floats],
    samples: int = SAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
) -> Variance:
    """Return the variance of two or more runs from their statistics.

    Parameters
    ----------
    judge
        The metric, prepared for the lists.
    runs : sequence of float64 (n_lists, k)
        The statistics of each run.
    samples, level, seed
        Of the resampled lists and the interval.
    """
    judged = judged_lists(judge, len(runs[0]))
    sums = bootstrap_sums(np.concatenate([rows[judged] for rows in runs], axis=1), samples, seed)
    sampled = np.stack([judge.score_from_sums(part) for part in np.split(sums, len(runs), axis=1)])
    return of_values(judge.name, [corpus_value(judge, rows) for rows in runs], sampled, level)


def of_values(metric: str, values: Sequence[float], sampled: Floats, level: float) -> Variance:
    """Return the variance of two or more runs from their values.

    Parameters
    ----------
    metric
        The name of the metric.
    values
        The value of each run.
    sampled : float64 (n_runs, samples)
        Their values over the same resampled lists.
    level
        Of the interval.
    """
    known = sampled[:, np.isfinite(sampled).all(axis=0)]
    enough = known.shape[1] > 1
    return Variance(
        metric=metric,
        values=tuple(values),
        mean=float(np.mean(values)),
        sd_seeds=float(np.std(values, ddof=1)),
        sd_lists=float(np.mean(np.std(known, axis=1, ddof=1))) if enough else math.nan,
        ci=interval(known.mean(axis=0), level),
        level=level,
    )
