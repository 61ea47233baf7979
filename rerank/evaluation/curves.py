"""Values by the number of candidates that are reordered, and precision by recall.

A system that reorders only the first N candidates of the first stage leaves the others below, in the first
stage's order: at N = 1 it is the first stage, at the length of the longest list it has its value of the
table. For a metric of one chosen candidate this is the choice among the first N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rerank.core.types import ArrayLike, Floats, Index
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.results import FIRST_BEST, Results
from rerank.metrics.judges import ReportJudge
from rerank.metrics.oracle import Prefix
from rerank.metrics.ranking import RankingJudge
from rerank.metrics.relevance import NOT_RETURNED, Relevance
from rerank.metrics.selecting import SelectingJudge
from rerank.native.metrics._placement import Placement

LEVELS = tuple(tenth / 10 for tenth in range(11))
_STEPS = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, eq=False)
class Depths:
    """Values by the number of candidates that are reordered.

    Attributes
    ----------
    sizes : tuple of int
        N, rising; the last one is the length of the longest list.
    first_best : float
        The first stage's value, which does not depend on N.
    random, oracle : float64 (n_sizes)
        Of a random order and of the best order of the first N candidates.
    systems : mapping of str to float64 (n_sizes)
        Mean over folds of the mean over seeds.
    """

    sizes: tuple[int, ...]
    first_best: float
    random: Floats
    oracle: Floats
    systems: Mapping[str, Floats]


def by_depth(results: Results, metric: str, systems: Sequence[str]) -> Depths | None:
    """Return the values of ``systems`` by one metric for several N.

    It is None if the lists have no first stage's order, the metric is neither one of the chosen candidate
    nor one of retrieval, or a system did not return every item: it reorders no first candidates.
    """
    judges = results.metric(metric).judges
    if not results.has_first_best or not all(isinstance(j, RankingJudge | SelectingJudge) for j in judges):
        return None
    if any(np.isnan(o.scores).any() for name in systems for fold in results.runs_of(name) for o in fold):
        return None
    lists = [part.lists for part in results.parts]
    sizes = depths(max(int(one.lengths.max()) for one in lists))
    found: dict[str, list[Floats]] = {name: [] for name in systems}
    random, oracle = [], []
    for k, (judge, one) in enumerate(zip(judges, lists, strict=True)):
        places = first_stage_places(one)
        bounds = [_bounds(judge, places, size) for size in sizes]
        random.append(np.array([low for low, _ in bounds]))
        oracle.append(np.array([high for _, high in bounds]))
        for name in systems:
            seeds = [one.from_input_order(run.scores) for run in results.runs_of(name)[k]]
            values = [[_value(judge, reordered(judge, s, places, size)) for size in sizes] for s in seeds]
            found[name].append(np.mean(values, axis=0))
    return Depths(
        sizes,
        float(mean_of_folds(results.metric(metric).references[FIRST_BEST])),
        mean_of_folds(random),
        mean_of_folds(oracle),
        {name: mean_of_folds(of_folds) for name, of_folds in found.items()},
    )


def mean_of_folds(values: Sequence[ArrayLike]) -> Floats:
    """Return the mean over folds of values (n_folds, ...), without folds that have none; NaN if none has."""
    table = np.asarray(values, dtype=np.float64)
    counted = table[~np.isnan(table).any(axis=tuple(range(1, table.ndim)))]
    return counted.mean(axis=0) if len(counted) else np.full(table.shape[1:], np.nan)


def depths(longest: int) -> tuple[int, ...]:
    """Return the N of a curve: 1, 2, 3, 5, 10, 20, 30, 50, ... below ``longest``, then that."""
    return (*(step for step in _STEPS if step < longest), longest)


def first_stage_places(lists: CandidateLists) -> Index:
    """Return the place of each item in the first stage's order of its list, from 0: int64 (n_items).

    Ties are in input order. The lists have a first-best.
    """
    assert lists.first_best is not None
    order = Prefix(lists, int(lists.lengths.max())).place(lists.first_best)
    places = np.empty(lists.n_items, dtype=np.int64)
    places[order] = np.arange(lists.n_items) - np.repeat(lists.offsets[:-1], lists.lengths)
    return places


def reordered(judge: ReportJudge, scores: Floats, places: Index, size: int) -> Floats:
    """Return scores (n_items) that order the first ``size`` items as ``scores`` do, the others below them.

    Ties among the first ones remain, as the judge's mode of ties sees them.

    Parameters
    ----------
    judge : ReportJudge
        Of the lists, by a metric of retrieval or of one chosen candidate.
    scores : float64 (n_items)
        Without NaN.
    places : int64 (n_items)
        Of the first stage, from 0.
    size : int
    """
    lists = judge.stage.lists
    if getattr(judge.stage, "ties", None) == "trec":
        with np.errstate(over="ignore"):  # beyond float32 is infinite for trec_eval too
            scores = scores.astype(np.float32)
    kept = places < size
    order = np.lexsort((-scores, ~kept, lists.list_index))
    starts = np.repeat(lists.offsets[:-1], lists.lengths)
    first = np.arange(lists.n_items)
    same = np.zeros(lists.n_items, dtype=bool)
    same[1:] = (scores[order[1:]] == scores[order[:-1]]) & (first[1:] > starts[1:])
    first[same] = 0
    out = np.empty(lists.n_items)
    out[order] = starts - np.maximum.accumulate(first)  # the place of the first item of the same score
    out[~kept] = -places[~kept].astype(np.float64)
    return out


def _bounds(judge: ReportJudge, places: Index, size: int) -> tuple[float, float]:
    """The values of a random and of the best order of the first ``size`` items."""
    lists = judge.stage.lists
    if isinstance(judge, SelectingJudge):
        prefix = Prefix(lists, size)
        items = np.sort(prefix.place(-places.astype(np.float64)))  # as judges draw and climb: in input order
        best = corpus_value(judge, judge.of(judge.best_of(items, prefix.offsets)))
        return judge.random_of(items, prefix.offsets), _better(judge, best)
    tied = np.where(places < size, 0.0, -1.0 - places)
    labels = np.nan_to_num(judge.stage.labels, nan=-np.inf)
    ideal = reordered(judge, labels, places, size)
    return (
        corpus_value(judge, judge.of(judge.stage.place(tied, "expected"))),
        corpus_value(judge, judge.of(judge.stage.place(ideal, "input"))),
    )


def _better(judge: SelectingJudge, value: float) -> float:
    """The value, or first-best's if that is better: a climb need not find it."""
    first = judge.first_best()
    own = value if first is None else corpus_value(judge, first)
    return own if judge.better * (own - value) > 0 else value


def _value(judge: ReportJudge, scores: Floats) -> float:
    return corpus_value(judge, judge.per_list(scores))


def relevance_of(results: Results) -> list[Relevance] | None:
    """Return the judgements of each part if one of its metrics is a measure of retrieval, else None."""
    for metric in results.metrics.values():
        if all(isinstance(judge, RankingJudge) for judge in metric.judges):
            return [judge.stage for judge in metric.judges]
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
            scores = (one.lists.from_input_order(run.scores) for run in results.runs_of(system)[k])
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
