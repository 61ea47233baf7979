"""The inductive form: each list is ranked by the rankers of the training lists that are most like it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists, without_labels
from rerank.extensions.transductive.adapting import Advance
from rerank.extensions.transductive.lists import in_chunks
from rerank.extensions.transductive.native import _consensus
from rerank.extensions.transductive.propagation.ranked import (
    NOT_REACHED,
    Nodes,
    Propagation,
    Ranked,
    rows_of,
    seen_by_kernel,
)
from rerank.extensions.transductive.propagation.settings import PropagationSettings
from rerank.similarity.graph import nearest_in

Rule = Literal["borda", "mean", "kemeny"]
RULES: tuple[str, ...] = get_args(Rule)
_ROUNDING = 2.3e-16  # relative, of one sum of two doubles
EXACT = 16  # items of which the best order is found; more need a search


def with_propagated(nodes: Nodes, settings: PropagationSettings, dropped: Ints) -> Nodes:
    """Return nodes in which those without a ranker have that of their neighbours, if one reaches them."""
    if nodes.trained.all():
        return nodes
    found = Propagation.of(nodes.lists, nodes.trained, nodes.rankers, settings, dropped).solution
    weights = found.values.copy()
    weights[nodes.cancelled(np.nan_to_num(weights)) & ~nodes.trained] = np.nan
    return replace(nodes, weights=weights)


def ranked_by_nearest(
    nodes: Nodes,
    lists: CandidateLists,
    settings: PropagationSettings,
    dropped: Ints,
    advance: Advance | None = None,
) -> Ranked:
    """Rank each list by the merged rankings of the rankers of its nearest nodes, weighted by similarity.

    A list without a similar node has the mean of the trained rankers. Other lists do not matter.

    References
    ----------
    Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, section
    9.3.4.
    """
    near = nodes.lists.subset(nodes.known)
    k = near.n_lists if settings.neighbours == "all" else min(settings.neighbours, near.n_lists)
    seen, others = (seen_by_kernel(some, dropped) for some in (near, lists))
    places, values = nearest_in(seen, others, settings.list_kernel, k)
    committee = _Committee(nodes.weights[nodes.known], nodes.mean, places, values, settings.merge)
    given = committee, without_labels(lists, labels=False)
    found = [one for part in in_chunks(_ranked, given, lists.n_lists, advance) for one in part]
    reached = (places >= 0).any(axis=1)
    figures = {
        "neighbours": (places >= 0).sum(axis=1).astype(np.float64),
        "degree": values.sum(axis=1),
        "nearest": values.max(axis=1, initial=0.0),
    }
    if settings.merge == "kemeny":
        figures["exact"] = np.array([one.exact for one in found], dtype=np.float64)
    return Ranked(
        np.concatenate([one.scores for one in found]),
        np.where(reached, "", NOT_REACHED).tolist(),
        rows_of(figures),
        {"reached": int(reached.sum())},
    )


@dataclass(frozen=True, eq=False)
class _Committee:
    """The rankers that rank each list, and how their rankings are merged.

    ``places`` (n_lists, k) are numbers of ``rankers`` (n, n_features), -1 for none, ``values`` their
    similarities; ``mean`` is the ranker of a list that has none.
    """

    rankers: Floats
    mean: Floats
    places: Index
    values: Floats
    rule: Rule


def _ranked(
    given: _Committee, lists: CandidateLists, first: int, last: int, advance: Advance | None
) -> list[Merged]:
    """Return the merged rankings of the lists ``first`` to ``last`` - 1, in a worker."""
    found = []
    for i in range(first, last):
        items = lists.features.take(slice(int(lists.offsets[i]), int(lists.offsets[i + 1])))
        chosen = given.places[i] >= 0
        if chosen.any():
            scores = np.stack([items.scores(given.rankers[place]) for place in given.places[i, chosen]])
            found.append(merged(scores, given.rule, given.values[i, chosen]))
        else:
            found.append(Merged(items.scores(given.mean)))
        if advance is not None:
            advance(1)
    return found


@dataclass(frozen=True, eq=False)
class Merged:
    """A merged ranking.

    Attributes
    ----------
    scores : float64 (n_items)
        Larger = better.
    exact : bool
        Whether it is what the rule asks for. Only "kemeny" can fail to find it.
    """

    scores: Floats
    exact: bool = True


def merged(scores: Floats, rule: Rule, weights: Floats | None = None) -> Merged:
    """Merge rankings of the items of one list.

    - "borda": the weighted mean of an item's points, which are the number of items that a ranking puts below
      it plus half the number of those tied with it.
    - "mean": the weighted mean of the scores, after those of each ranking have been given the mean 0 and the
      standard deviation 1 in this list. Otherwise the ranking with the largest spread would decide, and
      linear rankers would merge into the one with their mean weights. A ranking whose scores are all equal
      counts as 0.
    - "kemeny": the points of the ranking with the smallest weighted number of disagreements (Kendall's
      distance) with the rankings, among those without ties. A pair that a ranking ties counts 1/2 either
      way, so this ranking does not matter for it. Items with the same margin to every item are tied in the
      result: any order of them is as good. Of several best rankings the one with more Borda points on top
      is taken, then that with the first items of the input.

    The best ranking of Kemeny is found for each strongly connected part of the graph in which an item has
    an arrow to those it beats by majority: parts can always be ranked in an order without disagreement
    (the extended Condorcet criterion). A part of more than 16 items is left in the order by Borda points
    with each item moved up while it beats the one above it; ``exact`` is false then.

    Parameters
    ----------
    scores : float64 (k, n_items)
        A row for each ranking, larger = better.
    rule : {"borda", "mean", "kemeny"}
    weights : float64 (k), optional
        0 or more; by default all count the same.

    Returns
    -------
    Merged
        Scores follow their items if items are given in another order, except for ties of "kemeny" that the
        order of the input decides.

    Raises
    ------
    ConfigError
        If there is no such rule.
    DataError
        If there is no ranking, a score is not finite, or the weights are not k numbers of 0 or more with one
        above 0.
    RerankError
        If the n_items^2 margins of "kemeny" do not fit into memory.

    References
    ----------
    Dwork, Kumar, Naor, Sivakumar: Rank aggregation methods for the Web. WWW 2001. Duh: Learning to rank with
    partially-labeled data. PhD thesis, University of Washington, 2009, section 9.3.4.
    """
    if rule not in RULES:
        raise ConfigError(f"unknown rule {rule!r}; {did_you_mean(rule, RULES)}")
    scores, weights = _checked(scores, weights)
    match rule:
        case "borda":
            return Merged(_points(scores, weights))
        case "mean":
            return Merged((weights[:, None] * _standardised(scores)).sum(axis=0) / weights.sum())
    return _kemeny(scores, weights)


def _checked(scores: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Return the rankings that count and their weights, all 1 by default and below 1 otherwise."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or 0 in scores.shape:
        raise DataError(f"rankings to merge: found shape {scores.shape}, expected (rankings, items)")
    if not np.isfinite(scores).all():
        raise DataError("rankings to merge: found a score that is not finite, expected numbers")
    if weights is None:
        return np.ascontiguousarray(scores), np.ones(len(scores))
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (len(scores),):
        raise DataError(f"weights of rankings: found shape {weights.shape}, expected ({len(scores)},)")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise DataError("weights of rankings: expected finite numbers of 0 or more, one of them above 0")
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact, and no sum overflows
    counted = weights > 0
    return np.ascontiguousarray(scores[counted]), weights[counted]


def _points(scores: Floats, weights: Floats) -> Floats:
    """Return weighted means of Borda points (n_items)."""
    total = np.zeros(scores.shape[1])
    for row, weight in zip(scores, weights, strict=True):
        order = np.sort(row)
        below, within = (np.searchsorted(order, row, side=side) for side in ("left", "right"))
        total += weight * 0.5 * (below + within - 1)
    points: Floats = total / weights.sum()
    return points


def _standardised(scores: Floats) -> Floats:
    """Return scores (k, n_items) with mean 0 and standard deviation 1 in each row, 0 if all are equal.

    Sums are over sorted scores: they do not depend on the order of the items.
    """
    out = scores / np.maximum(np.abs(scores).max(axis=1, keepdims=True), np.finfo(float).tiny)
    out -= np.sort(out, axis=1).mean(axis=1, keepdims=True)
    out[scores.max(axis=1) == scores.min(axis=1)] = 0.0
    deviations = np.sqrt((np.sort(out, axis=1) ** 2).mean(axis=1, keepdims=True))
    standardised: Floats = out / np.where(deviations > 0, deviations, 1.0)
    return standardised


def _kemeny(scores: Floats, weights: Floats) -> Merged:
    """Return Kemeny's ranking: items that no margin tells apart are one class, classes are put in order."""
    n = scores.shape[1]
    memory.require(6 * 8 * n * n, f"the margins between {n:,} items", "the rules borda and mean need less")
    margins = np.zeros((n, n))
    for row, weight in zip(scores, weights.tolist(), strict=True):
        above = row[:, None] > row
        margins += weight * (above.astype(np.int8) - above.T)
    margins[np.abs(margins) <= len(scores) * _ROUNDING * weights.sum()] = 0.0  # .1 + .2 against .3 is a tie
    numbers: dict[bytes, int] = {}
    classes = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in margins])
    sizes, first = np.bincount(classes), np.unique(classes, return_index=True)[1]
    by_points = np.argsort(-_points(scores, weights)[first], kind="stable")
    kept, sizes = first[by_points], sizes[by_points]
    order, exact = _order(margins[np.ix_(kept, kept)] * np.outer(sizes, sizes))
    above = np.cumsum(sizes[order]) - sizes[order]
    points = np.empty(len(kept))
    points[by_points[order]] = n - 1 - above - 0.5 * (sizes[order] - 1)
    return Merged(points[classes], exact)


def _order(margins: Floats) -> tuple[Index, bool]:
    """Return items from the top down, and whether no order is better; the first are preferred on ties."""
    from scipy.sparse.csgraph import connected_components

    parts = connected_components(margins > 0, connection="strong")[1]
    items = np.empty(len(margins), dtype=np.int32)
    _consensus.sequence(margins, parts, items)
    ends = np.flatnonzero(np.diff(parts[items], append=-1)) + 1
    exact, start = True, 0
    for end in ends.tolist():
        part = items[start:end]
        if len(part) > 1:
            few = len(part) <= EXACT
            order, exact = np.arange(len(part), dtype=np.int32), exact and few
            (_consensus.best_order if few else _consensus.exchanged)(margins[np.ix_(part, part)], order)
            items[start:end] = part[order]
        start = end
    return items.astype(np.int64), exact
