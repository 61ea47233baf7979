"""The gain of a model over what it replaces, with a confidence interval."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from rerank.core.records import Record
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.evaluation.significance import SEED, bootstrap_sums, interval

Use = Literal["fit", "choice", "none"]

SAMPLES = 1000
LEVEL = 0.95


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


def judged_lists(judge: PreparedMetric, n_lists: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the lists that a judge can judge, bool (n_lists): all if it declares none."""
    judged: np.ndarray[Any, np.dtype[np.bool_]] = getattr(judge, "judged", np.ones(n_lists, dtype=bool))
    return judged
