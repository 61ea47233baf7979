"""The judgements of a set of lists prepared once, and where scores put the relevant items.

All measures of retrieval share one ``Relevance`` of the lists and one ``Placement`` of the scores.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import ArrayLike, Floats, Index, Mask
from rerank.data.columns.offsets import Ragged, offsets_of
from rerank.data.first_best import rises
from rerank.data.judge import labels_of
from rerank.data.lists import CandidateLists
from rerank.metrics.judges import Stage, checked_scores, first_stage, ranked_last
from rerank.native.metrics import _placement, _ties

# What a Placement has above items that were not returned: more than any cutoff and any list.
NOT_RETURNED = 1 << 30


class Relevance(Stage):
    """Relevant items (label > 0) of every list, and how ties are broken.

    - ``ties``: {"trec", "expected", "input"}; trec: scores count as float32 as in trec_eval, and on ties the
      larger id by bytes comes first. expected: the mean over the orders of tied items. input: on ties the
      earlier item comes first. None is trec if every item has an id that is unique in its list, else
      expected.

    Raises DataError if the lists have no labels, or trec is asked for without such ids.
    """

    def __init__(self, lists: CandidateLists, ties: str | None = None) -> None:
        super().__init__(lists)
        self.labels: Floats = np.ascontiguousarray(labels_of(lists), dtype=np.float64)
        self.ties = resolve_ties(lists, ties)
        self.items: Index = np.flatnonzero(self._placed(self.labels)).astype(np.int64, copy=False)
        self.offsets: Index = np.searchsorted(self.items, lists.offsets).astype(np.int64, copy=False)
        self.item_labels: Floats = self.labels[self.items]
        # The items by their ids, as _ties returns them, from the first tie on that ids break.
        self._by_ids: tuple[Index, Index, Index] | None = None

    @staticmethod
    def _placed(labels: Floats) -> Mask:
        """Return the mask of labels of items to place: bool of their shape."""
        return labels > 0

    @cached_property
    def of_judged(self) -> Judgements:
        """The same judgements with a place for every judged item."""
        return Judgements(self.lists, self.ties)

    @cached_property
    def largest(self) -> float:
        """The largest label of all lists, retrieved or not; NaN if nothing is judged."""
        missed = self.lists.unretrieved
        both = self.labels if missed is None else np.concatenate([self.labels, missed.values])
        return float(np.fmax.reduce(both))

    @cached_property
    def judged(self) -> Mask:
        """Lists with a judged item, retrieved or not: bool (n_lists)."""
        return self.lists.judged_lists(unretrieved=True)

    @cached_property
    def known(self) -> Ragged:
        """Labels of all known relevant items, unretrieved ones included, each list's largest first."""
        offsets, values = self.offsets, self.item_labels.copy()
        missed = self.lists.unretrieved
        if missed is not None:
            kept = self._placed(missed.values)
            more = missed.count(kept).astype(np.int64)
            values = np.insert(values, np.repeat(offsets[1:], more), missed.values[kept])
            offsets = offsets + offsets_of(more)
        _placement.sort_gains(offsets, values)
        return Ragged(values, offsets)

    def place(self, scores: ArrayLike, ties: str | None = None) -> _placement.Placement:
        """Return where ``scores`` (n_items, larger is better) put the relevant items.

        An item with the score NaN was not returned: it takes no place of the others, and as many as
        NOT_RETURNED items are above it. Infinities are scores. ``ties`` overrides the stage's own mode.
        """
        ties = self.ties if ties is None else ties
        given = checked_scores(scores, self.lists.n_items, partial=True)
        partial = bool(np.isnan(given).any())
        with np.errstate(over="ignore"):  # beyond float32 is infinite for trec_eval too
            values = given.astype(np.float32, copy=False) if ties == "trec" else given
            values = ranked_last(values) if partial else values
            low = values.astype(np.float32, copy=False)
        exact = low if low is values or np.array_equal(low, values) else values
        placement, offsets, n_tied = _placement.Placement(self.offsets), self.lists.offsets, 0
        if ties != "trec" or self._by_ids is None:
            n_tied = _placement.place(exact, low, offsets, self.items, ties == "input", placement)
        if ties == "trec" and n_tied and (ids := self.lists.item_ids) is not None:
            self._by_ids = _ties.by_ids(ids.data, ids.offsets, offsets, self.items)
        if ties == "trec" and self._by_ids is not None:
            order, items, numbers = self._by_ids
            _placement.place(exact[order], low[order], offsets, items, True, placement)
            placement.order[:] = numbers[placement.order]
        if partial:
            absent = np.isnan(given[self.items[placement.order]])
            placement.above[absent] = NOT_RETURNED
            placement.tied[absent] = 1
            placement.n_returned = np.add.reduceat(~np.isnan(given), self.lists.offsets[:-1], dtype=np.int64)
        return placement

    @cached_property
    def random(self) -> _placement.Placement:
        """A random order, as the expectation over all of them."""
        return self.place(np.zeros(self.lists.n_items), "expected")

    @cached_property
    def oracle(self) -> _placement.Placement:
        """The order of the labels, unjudged items last."""
        return self.place(np.nan_to_num(self.labels, nan=-np.inf), "input")

    @cached_property
    def first_best(self) -> _placement.Placement | None:
        """The first stage's own order, ties in input order; None if the lists have none.

        A TREC run is ordered as trec_eval does if ties are broken so.
        """
        first, run = first_stage(self.lists), self.lists.run_scores
        if first is None:
            return None
        if run is None or self.ties != "trec":
            return self.place(first, "input")
        return self.place(_as_trec_eval(self.lists, first, run))


class Judgements(Relevance):
    """A Relevance that places every judged item: those of labels of 0 and below too."""

    @staticmethod
    def _placed(labels: Floats) -> Mask:
        return ~np.isnan(labels)


def _as_trec_eval(lists: CandidateLists, first: Floats, run: Floats) -> Floats:
    """Return scores that order a run as trec_eval does, or as its ranks in lists where they contradict that.

    trec_eval reads scores as float32 and ignores ranks. NaN stays.
    """
    with np.errstate(over="ignore"):
        scores = run.astype(np.float32).astype(np.float64)
    known = ~np.isnan(run)
    offsets = offsets_of(np.add.reduceat(known, lists.offsets[:-1], dtype=np.int64))
    contradicted, _ = rises(offsets, -first[known], scores[known])
    if not contradicted.any():
        return scores
    index = lists.list_index
    places = np.empty(lists.n_items)
    places[np.lexsort((-first, index))] = np.arange(lists.n_items) - lists.offsets[:-1][index]
    return np.where(contradicted[index] & known, -places, scores)


def resolve_ties(lists: CandidateLists, ties: str | None) -> str:
    """Return ``ties``, or the default for these lists.

    Raises DataError if the mode is trec and an id is missing, empty or repeated in its list.
    """
    if ties == "expected" or ties == "input":
        return ties
    ids = lists.item_ids
    if ids is None:
        if ties == "trec":
            raise DataError(f"{lists.source}: breaking ties as trec_eval does needs item ids, there are none")
        return "expected"
    fault = ids.first_fault(lists.offsets)
    if fault < 0:
        return "trec"
    if ties is None:
        return "expected"
    where = lists.list_id(int(np.searchsorted(lists.offsets, fault, side="right")) - 1)
    what = f"the id {ids[fault]!r} twice" if ids[fault] else "an item without an id"
    raise DataError(
        f"{lists.source}: breaking ties as trec_eval does needs one id per item; list {where} has {what}"
    )
