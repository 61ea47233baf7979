"""The keep margin: how far another item must lead the first-best before it takes its place.

Most items that a reranker puts above the first-best by a hair are no better than it. One number, tuned on
development lists after any learner, leaves those lists as they were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.data.judge import SelectingJudge, corpus_value
from rerank.data.leads import Leads, differ, leads_of
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats
from rerank.errors import DataError

# Of values that differ by no more than this share the fewest switches win: the rest is rounding.
_EQUAL = 1e-12


@dataclass(frozen=True)
class KeepMargin:
    """A margin on one set of lists.

    margin : in units of the scores; inf keeps every first-best.
    value, without : the metric with the margin, and without one.
    lists, leading : lists, and those where something else leads the first-best (another text where there are
        texts, see data.leads.differ).
    switched : lists where it leads by more than the margin, and so is chosen. By the metric of the two items
        on their own, ``gained`` are better for it and ``lost`` worse; ``unvalued`` have no such value.
    """

    margin: float
    value: float
    without: float
    lists: int
    leading: int
    switched: int
    gained: int
    lost: int
    unvalued: int


def tune_margin(lists: CandidateLists, judge: SelectingJudge, scores: Floats) -> KeepMargin:
    """The best margin on these lists, exactly: every choice of lists that a margin can make is judged.

    A margin stands midway between two neighbouring leads (or the smallest and 0), so that rounding turns no
    list; where all first-bests are best kept it is infinite. Of equally good ones the largest, which switches
    fewest lists, is taken. Raises DataError where the lists have no first-best or the metric no value.
    """
    leads = leads_of(lists, scores)
    rows = judge.per_item
    order = np.argsort(-leads.lead, kind="stable")
    order = order[: np.count_nonzero(leads.lead)]
    lead = leads.lead[order]
    last = np.flatnonzero(
        lead != np.append(lead[1:], 0.0)
    )  # of each run of equal leads, from the largest down
    sums = np.cumsum((rows[leads.rival] - rows[leads.first])[order], axis=0)[last]
    kept = rows[leads.first].sum(axis=0)
    values = judge.better * np.asarray(judge.score_from_sums(np.vstack([kept, kept + sums])))
    if np.isnan(values).all():
        raise DataError(
            f"{lists.source}: {judge.name} has no value here, so no keep margin can be tuned by it"
        )
    best = np.nanmax(values)
    chosen = int(np.argmax(values >= best - _EQUAL * abs(best)))
    steps = np.append(lead[last], 0.0)  # the leads from the largest down, then none
    margin = np.inf if chosen == 0 else _between(steps[chosen], steps[chosen - 1])
    return _applied(lists, judge, scores, leads, margin)


def apply_margin(lists: CandidateLists, judge: SelectingJudge, scores: Floats, margin: float) -> KeepMargin:
    """What a given margin does on these lists; DataError where they have no first-best."""
    return _applied(lists, judge, scores, leads_of(lists, scores), margin)


def _between(low: float, high: float) -> float:
    """A number from ``low`` up to, but not, ``high``: midway where there is one."""
    middle = low + (high - low) / 2
    return float(middle if middle < high else low)


def _applied(
    lists: CandidateLists, judge: SelectingJudge, scores: Floats, leads: Leads, margin: float
) -> KeepMargin:
    different = differ(lists, leads.rival, leads.first)
    chosen = np.where(leads.lead > margin, leads.rival, leads.first)
    switched = different & (leads.lead > margin)
    before, after = (
        np.asarray(judge.score_from_sums(judge.per_item[items[switched]])) for items in (leads.first, chosen)
    )
    gains = judge.better * (after - before)
    return KeepMargin(
        margin=float(margin),
        value=corpus_value(judge, judge.per_item[chosen]),
        without=corpus_value(judge, judge.per_list(scores)),
        lists=lists.n_lists,
        leading=int(np.count_nonzero(different)),
        switched=int(np.count_nonzero(switched)),
        gained=int(np.count_nonzero(gains > 1e-9)),
        lost=int(np.count_nonzero(gains < -1e-9)),
        unvalued=int(np.count_nonzero(np.isnan(gains))),
    )
