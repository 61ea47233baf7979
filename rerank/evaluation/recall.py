"""Interpolated precision at eleven levels of recall, as trec_eval's iprec_at_recall."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rerank.core.types import Floats
from rerank.evaluation.evaluate import FIRST_BEST
from rerank.evaluation.results import Results
from rerank.metrics.ranking import RankingJudge
from rerank.metrics.relevance import NOT_RETURNED, Relevance
from rerank.native.metrics._placement import Placement

LEVELS = tuple(tenth / 10 for tenth in range(11))


def relevance_of(results: Results) -> list[Relevance] | None:
    """Return the judgements of each part if one of its metrics is a measure of retrieval, else None."""
    for metric in results.metrics:
        judges = [part.judges[metric] for part in results.parts]
        if all(isinstance(judge, RankingJudge) for judge in judges):
            return [judge.stage for judge in judges]
    return None


def mean_precision(results: Results, system: str) -> Floats | None:
    """Return the mean precision of a row or of "first_best" at ``LEVELS``, float64 (11).

    It is the mean over lists with a relevant item (label above 0), then over seeds and folds. It is None if
    no metric is one of retrieval, the first stage has no order, or there is no such list.
    """
    relevance = relevance_of(results)
    if relevance is None or (system == FIRST_BEST and not results.has_first_best):
        return None
    means = []
    for k, one in enumerate(relevance):
        counted = one.known.lengths > 0
        if not counted.any():
            continue
        if system == FIRST_BEST:
            found = [precision_at_recall(one, one.first_best)]
        else:
            scores = (one.lists.from_input_order(outcome.scores) for outcome in results.outcomes(system)[k])
            found = [precision_at_recall(one, one.place(values)) for values in scores]
        means.append(np.mean([rows[counted].mean(axis=0) for rows in found], axis=0))
    return np.mean(means, axis=0) if means else None


def precision_at_recall(relevance: Relevance, placed: Placement) -> Floats:
    """Return the interpolated precision of each list at ``LEVELS``: float64 (n_lists, 11).

    The precision at a level is the largest one at any place where at least that share of the relevant items
    (label above 0, unretrieved ones too) is found. If ties are not broken (ties=expected), places are counted
    only below whole groups of tied items. A list without a relevant item has zeros.

    Parameters
    ----------
    relevance : Relevance
    placed : Placement
        What ``relevance.place`` returned.
    """
    out = np.zeros((relevance.lists.n_lists, len(LEVELS)))
    sizes = relevance.known.lengths.tolist()
    above, below = np.asarray(placed.above), np.asarray(placed.above) + np.asarray(placed.tied)
    for i, (start, stop) in enumerate(pairwise(relevance.offsets.tolist())):
        if start == stop:
            continue
        group = above[start:stop]
        stop = start + int(np.searchsorted(group, NOT_RETURNED))
        group = above[start:stop]
        hits = np.searchsorted(group, group, side="right")  # found when the group of tied items ends
        best = np.maximum.accumulate((hits / below[start:stop])[::-1])[::-1]
        # The relevant items that a level asks for: trec_eval's rounding.
        asked = np.maximum((np.array(LEVELS) * sizes[i] + 0.9).astype(np.int64), 1)
        reached = asked <= stop - start
        out[i, reached] = best[asked[reached] - 1]
    return out
