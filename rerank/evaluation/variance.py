"""Variance over seeds and over lists (Clark et al. 2011), and the gain of a model.

A learner that draws random numbers is itself one draw: with another seed it ends elsewhere. The paired
bootstrap varies the lists only, so a gain that it finds significant may be due to the seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from rerank.core.records import Number, Record
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.evaluation.significance import SEED, bootstrap_sums, interval

Use = Literal["fit", "choice", "none"]

SAMPLES = 1000
LEVEL = 0.95


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

    def lines(self, where: str = "", digits: int = 4) -> list[str]:
        """Return a few lines: the values, both standard deviations, and what they mean."""
        low, high = (f"{end:.{digits}f}" for end in (min(self.values), max(self.values)))
        values = f"{count(len(self.values), 'run')}: {where}{self.metric} {low} to {high}"
        mean = f"mean {self.mean:.{digits}f}"
        if self.ci is not None:
            mean += " [{:.{d}f}, {:.{d}f}] over resampled lists".format(*self.ci, d=digits)
        # One decimal more than the values have, so that a small deviation is not shown as zero.
        seeds, lists = (
            "unknown" if math.isnan(sd) else f"{sd:.{digits + 1}f}" for sd in (self.sd_seeds, self.sd_lists)
        )
        lines = [
            f"{values}, {mean}",
            f"standard deviation {seeds} between runs, {lists} over resampled lists",
            _verdict(self),
        ]
        if self.sd_seeds > 0:
            alone = f"two single runs less than {self.within_seeds:.{digits}f} apart may differ by seed alone"
            if not math.isnan(self.sd_lists):
                alone += f"; one run is accurate to ±{self.of_one_run:.{digits}f}"
            lines.append(alone)
        return lines


def _verdict(found: Variance) -> str:
    if math.isnan(found.sd_lists):
        return "too few lists to compare the seed with them"
    if found.sd_seeds == 0:
        return "every seed gives the same value"
    if found.sd_seeds < found.sd_lists / 2:
        return "the choice of the seed matters less than the choice of the lists"
    if found.sd_seeds <= 2 * found.sd_lists:
        return "the choice of the seed matters about as much as that of the lists: report means over seeds"
    return "the choice of the seed matters more than the choice of the lists: report means over seeds"


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


class Gain(Record):
    """A model against ``over`` (first-best, initial weights, no margin) on the lists of ``part``.

    Attributes
    ----------
    part : str
    use : {"fit", "choice", "none"}
        What the lists were to the model: it learnt from them, a round, a margin or a seed was chosen by
        them, or nothing. In the first two cases the gain is optimistic for other lists.
    over, metric : str
    before, after : float
        The metric's values.
    gain : float
        Their difference, positive if ``after`` is better.
    low, high : float, optional
        Ends of the gain's percentile interval by paired bootstrap.
    lists : int
        Lists that could be judged.
    """

    part: str
    use: Use
    over: str
    metric: str
    before: float
    after: float
    gain: float
    low: float | None
    high: float | None
    lists: int
    level: float = LEVEL
    samples: int = SAMPLES
    seed: int = SEED


def gain(part: str, use: Use, over: str, judge: PreparedMetric, before: Floats, after: Floats) -> Gain | None:
    """Return the gain of one ranking over another from their statistics (n_lists, k).

    It is None if one of them has no value. Both are resampled by the same draws of the judged lists.

    Parameters
    ----------
    part, use, over
        As in ``Gain``.
    judge
        The metric, prepared for the lists.
    before, after : float64 (n_lists, k)
        Statistics of the ranking that is replaced and of the new one.
    """
    values = [corpus_value(judge, rows) for rows in (before, after)]
    if not np.isfinite(values).all():
        return None
    judged = judged_lists(judge, len(before))
    sums = bootstrap_sums(np.concatenate([before[judged], after[judged]], axis=1), SAMPLES, SEED)
    old, new = (np.asarray(judge.score_from_sums(part)) for part in np.split(sums, 2, axis=1))
    ends = interval(judge.better * (new - old), LEVEL) or (None, None)
    return Gain(
        part=part,
        use=use,
        over=over,
        metric=judge.name,
        before=values[0],
        after=values[1],
        gain=judge.better * (values[1] - values[0]),
        low=ends[0],
        high=ends[1],
        lists=int(np.count_nonzero(judged)),
    )


def judged_lists(judge: PreparedMetric, n_lists: int) -> Mask:
    """Return the lists that a judge can judge, bool (n_lists): all if it declares none."""
    judged: Mask = getattr(judge, "judged", np.ones(n_lists, dtype=bool))
    return judged
