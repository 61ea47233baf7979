"""Adaptations of several lists joined, Kendall's tau between two rankings, and thresholds to abstain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index, Mask
from rerank.data.judge import PreparedMetric, corpus_value
from rerank.data.pairs import Concordance
from rerank.models.adaptation import Adaptation
from rerank.models.training import AbstainRecord

NEVER, ALWAYS = -1.0, 1.0  # thresholds: no tau is below the one, only equal rankings are not below the other
_EQUAL = 1e-12  # values that differ by no more than this share are equal: the rest is rounding
_GAIN = 1e-9  # of a list


def joined(parts: Sequence[Adaptation]) -> Adaptation:
    """Return the adaptation to all lists from those to some, in their order."""
    return Adaptation(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.unadapted for part in parts]),
        tuple(row for part in parts for row in part.rows),
    )


def tau_b(a: Floats, b: Floats) -> float:
    """Return Kendall's tau-b between two scorings of the same items, float64 (n_items).

    That is (right - wrong) / sqrt(A * B): pairs that both put in the same order, minus those in opposite
    orders; A and B are the pairs that each of them orders. If neither orders any pair, as for one item, the
    rankings are the same: 1. If one alone orders none, they share nothing: 0. NaN if a score is not finite.
    """
    return float(taus(a, b, np.array([0, len(a)]))[0])


def taus(a: Floats, b: Floats, offsets: Index) -> Floats:
    """Return ``tau_b`` of each list, float64 (n_lists), for scores (n_items)."""
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = np.where(finite, a, 0.0), np.where(finite, b, 0.0)
    of_a, of_b = Concordance(a, offsets), Concordance(b, offsets)
    n_a, n_b = of_a.n_pairs.astype(np.float64), of_b.n_pairs.astype(np.float64)
    surplus = 2.0 * of_b.right(a) - n_b
    size = np.where(n_a == n_b, n_a, np.sqrt(n_a) * np.sqrt(n_b))  # 1 for equal rankings
    tau = np.where(size > 0, surplus / np.maximum(size, 1.0), n_a == n_b)
    found: Floats = np.where(np.logical_and.reduceat(finite, offsets[:-1]), tau, np.nan)
    return found


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
    tau = found.taus
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
    if chosen == len(last):
        return ALWAYS
    low, high = levels[last[chosen - 1]], levels[last[chosen]]
    middle = low + (high - low) / 2
    return float(middle if middle > low else high)


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
    below: Mask = found.taus < threshold
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
