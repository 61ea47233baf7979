"""When to abstain: a list's unadapted ranking is kept if the adapted one departs too far from it.

How far is Kendall's tau-b of the two. The threshold is chosen on development lists by their metric.
"""

from __future__ import annotations

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Mask
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.models.training import AbstainRecord
from rerank.transductive.adaptation import Adaptation

NEVER, ALWAYS = -1.0, 1.0  # thresholds: no tau is below the one, only equal rankings are not below the other
_EQUAL = 1e-12  # values that differ by no more than this share are equal: the rest is rounding
_GAIN = 1e-9  # of a list


def tuned_threshold(found: Adaptation, judge: PreparedMetric) -> float:
    """Return the threshold with the best metric on lists that are all adapted; every choice is judged.

    It is midway between two neighbouring taus, NEVER or ALWAYS. On ties the one that keeps more unadapted
    rankings wins.

    Parameters
    ----------
    found
        Of development lists, without a threshold.
    judge
        Prepared for these lists.

    Raises
    ------
    FitError
        If the metric has no value.
    """
    tau = _taus(found)
    own, before = judge.per_list(found.scores), judge.per_list(found.unadapted)
    order = np.argsort(tau, kind="stable")
    order = order[tau[order] < ALWAYS]
    levels = tau[order]
    last = np.flatnonzero(levels != np.append(levels[1:], ALWAYS))  # of each run of equal taus
    change = np.cumsum((before - own)[order], axis=0)[last]
    all_own = own.sum(axis=0)
    values = judge.better * np.asarray(judge.score_from_sums(np.vstack([all_own, all_own + change])))
    if np.isnan(values).all():
        raise FitError(f"abstain=auto: {judge.name} has no value on the development lists")
    best = np.nanmax(values)
    chosen = int(np.flatnonzero(values >= best - _EQUAL * abs(best))[-1])
    if chosen == 0:
        return NEVER
    return ALWAYS if chosen == len(last) else _between(levels[last[chosen - 1]], levels[last[chosen]])


def abstained(found: Adaptation, judge: PreparedMetric, threshold: float, *, tuned: bool) -> AbstainRecord:
    """Return what a threshold does on lists that are all adapted.

    Parameters
    ----------
    found, judge
        As for ``tuned_threshold``.
    threshold
        Rankings with a smaller tau are not used.
    tuned
        Whether it was chosen on these lists; it is only recorded.
    """
    below: Mask = _taus(found) < threshold
    own, before = judge.per_list(found.scores), judge.per_list(found.unadapted)
    gains = judge.better * (np.asarray(judge.score_from_sums(own)) - judge.score_from_sums(before))
    return AbstainRecord(
        tuned=tuned,
        threshold=threshold,
        metric=judge.name,
        value=corpus_value(judge, np.where(below[:, None], before, own)),
        adapted=corpus_value(judge, own),
        unadapted=corpus_value(judge, before),
        lists=len(below),
        kept=int(np.count_nonzero(below)),
        improved=int(np.count_nonzero(~below & (gains > _GAIN))),
        harmed=int(np.count_nonzero(~below & (gains < -_GAIN))),
    )


def _taus(found: Adaptation) -> Floats:
    """The tau of each list, float64 (n_lists)."""
    return np.array([row.tau for row in found.rows])


def _between(low: float, high: float) -> float:
    """A number t with low < t <= high: midway if there is one."""
    middle = low + (high - low) / 2
    return float(middle if middle > low else high)
