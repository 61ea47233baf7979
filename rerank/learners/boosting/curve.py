"""The metric after every round of boosting, from one pass over the rounds."""

from __future__ import annotations

import numpy as np

from rerank.core import progress
from rerank.core.types import Floats, Index, Ints
from rerank.data.judge import PreparedMetric, SelectingJudge, value_of
from rerank.data.lists import CandidateLists
from rerank.models.stumps import Thresholds
from rerank.native.learners._boosting_curve import Choices
from rerank.native.learners._boosting_index import index

_EVENTS = 1 << 20  # changes of choices that are held at once


def values_by_round(
    lists: CandidateLists,
    judge: PreparedMetric,
    start: Floats,
    stumps: Thresholds,
    chosen: Ints,
    steps: Floats,
) -> Floats:
    """Return the metric after each round, float64 (n_rounds).

    Only lists in which the round's stump differs between items are looked at. For metrics of single
    candidates the statistics of those whose choice changes are exchanged in the sum; other metrics are
    computed anew after each round that touches a list.

    Parameters
    ----------
    lists, judge
        Lists and their metric.
    start
        Scores before the first round, float64 (n_items).
    stumps
        All stumps.
    chosen, steps
        The stump of each round, int32 (n_rounds), and its step, float64 (n_rounds).
    """
    used, numbers = np.unique(chosen, return_inverse=True)
    firsts = np.repeat(lists.offsets[:-1], lists.lengths - 1)
    others = np.setdiff1d(np.arange(lists.n_items), lists.offsets[:-1], assume_unique=True)
    some = stumps.subset(used.astype(np.int64))
    differences = index(lists.features.matrix(), some.native, np.stack([firsts, others]))
    choices = Choices(differences, lists.offsets, start)
    rounds = numbers.astype(np.int32)
    if isinstance(judge, SelectingJudge):
        return _selected(judge, choices, rounds, steps)
    return _ranked(judge, choices, rounds, steps)


def _selected(judge: SelectingJudge, choices: Choices, rounds: Ints, steps: Floats) -> Floats:
    """The values of a metric of single candidates.

    Sums are longer than doubles: after a million exchanges they still are those of the chosen items.
    """
    per_item = judge.per_item
    total = per_item[choices.chosen].sum(axis=0, dtype=np.longdouble)
    events: Index = np.empty((3, max(_EVENTS, len(choices.chosen))), dtype=np.int64)
    out = np.empty(len(rounds))
    first = 0
    while first < len(rounds):
        last, n = choices.rounds(rounds, steps, events, first)
        when, before, after = events[:, :n]
        change = per_item[after].astype(np.longdouble) - per_item[before]
        sums = np.concatenate([total[None], total + np.cumsum(change, axis=0)])
        ends = np.searchsorted(when, np.arange(first, last), side="right")
        out[first:last] = judge.score_from_sums(sums[ends].astype(np.float64))
        total = sums[-1]
        first = last
    return out


def _ranked(judge: PreparedMetric, choices: Choices, rounds: Ints, steps: Floats) -> Floats:
    """The values of any metric, from the scores of all items after each round."""
    events = np.empty((3, len(choices.chosen)), dtype=np.int64)
    out = np.empty(len(rounds))
    for r in progress.over(range(len(rounds)), "judging rounds", len(rounds), "round"):
        choices.rounds(rounds[: r + 1], steps, events, r)
        out[r] = value_of(judge, choices.scores)
    return out
