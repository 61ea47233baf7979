"""Pairs of items of a list, one of which must beat the other, and by how much.

Shen & Joshi's pair relations T(p, q) and margin functions g(p, q) = h(p) - h(q) + c over ranks p < q. The
rank of an item is 1 + the number of items of its list with a larger label. With the items of a list in the
order of decreasing labels every relation allows, for each item, one range of later positions, and the
ranges never move back: no pair is ever stored.
"""

from __future__ import annotations

import functools
import math
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.native.data import _pairs
from rerank.native.metrics import _concordance

RelationName = Literal["best-rest", "split", "ordinal", "neighbours", "all"]
MarginName = Literal["even", "uneven", "label"]


class PairRelation(Struct, frozen=True):
    """T(p, q): an item of rank p must beat one of rank q.

    best-rest  one best item (the first on ties; others tied for best are dropped) against the rest
    split      p <= split_top < q, with split_top "best" for the items tied for best; or, if
               split_bottom is given, p <= split_top and q >= split_bottom
    ordinal    ordinal_factor * p < q and p + ordinal_gap < q
    neighbours q is the next rank that occurs below p (Herbrich et al. 2000)
    all        label > other label + label_gap
    """

    pairs: RelationName = "ordinal"
    split_top: int | Literal["best"] = "best"
    split_bottom: int | None = None
    ordinal_factor: float = 1.0
    ordinal_gap: float = 0.0
    label_gap: float = 0.0

    def __post_init__(self) -> None:
        top = 1 if self.split_top == "best" else self.split_top
        if top < 1:
            raise ConfigError(f"split_top must be 'best' or at least 1, got {self.split_top}")
        if self.split_bottom is not None and self.split_bottom <= top:
            raise ConfigError(f"split_bottom must be above split_top ({top}), got {self.split_bottom}")
        if not (self.ordinal_factor >= 1 and math.isfinite(self.ordinal_factor)):
            raise ConfigError(f"ordinal_factor must be at least 1, got {self.ordinal_factor}")
        for name in ("ordinal_gap", "label_gap"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise ConfigError(f"{name} must be at least 0, got {value}")

    def ranges(self, labels: Floats, rank: Ints, offsets: Index) -> tuple[Ints, Ints]:
        """Return start, stop int32 (n): each item must beat the positions start..stop-1 of its list.

        labels : float64 (n), never rising within a list
        rank : int32 (n), never falling within a list
        offsets : int64 (n_lists + 1)
        """
        lengths = np.repeat(np.diff(offsets), np.diff(offsets)).astype(np.int32)
        stop = lengths
        start = np.empty(len(rank), dtype=np.int32)
        if self.pairs == "all":
            rising = -labels
            _pairs.first_beyond(rising - self.label_gap, offsets, rising, start)
            return start, stop
        p = rank.astype(np.float64)
        if self.pairs == "ordinal":
            limit = np.maximum(np.floor(self.ordinal_factor * p), np.floor(p + self.ordinal_gap))
            _pairs.first_beyond(p, offsets, limit, start)
        elif self.pairs == "neighbours":
            _pairs.first_beyond(p, offsets, p, start)
            next_rank = p[np.minimum(start, lengths - 1) + np.repeat(offsets[:-1], np.diff(offsets))]
            stop = np.empty_like(start)
            _pairs.first_beyond(p, offsets, next_rank, stop)
        else:
            top = 1 if self.split_top == "best" or self.pairs == "best-rest" else self.split_top
            bottom = self.split_bottom if self.pairs == "split" else None
            limit = np.where(p <= top, top if bottom is None else bottom - 1, np.inf)
            _pairs.first_beyond(p, offsets, limit, start)
            if self.pairs == "best-rest":
                others = np.ones(len(rank), dtype=bool)
                others[offsets[:-1]] = False
                start[others] = lengths[others]
        return np.minimum(start, stop), stop


class Margin(Struct, frozen=True):
    """g(p, q) = h(p) - h(q) + c.

    even    h = 0, c = 1
    uneven  h = 1 / p ** margin_power, c = 0
    label   h = label, c = 0: the margin is the difference of the labels
    """

    margin: MarginName = "even"
    margin_power: float = 1.0

    def __post_init__(self) -> None:
        if not (self.margin_power > 0 and math.isfinite(self.margin_power)):
            raise ConfigError(f"margin_power must be above 0, got {self.margin_power}")

    @property
    def c(self) -> float:
        """The constant of g: 1 for even margins, else 0."""
        return 1.0 if self.margin == "even" else 0.0

    def h(self, labels: Floats, rank: Ints) -> Floats:
        """Return h of each item, float64 (n)."""
        if self.margin == "even":
            return np.zeros(len(rank))
        if self.margin == "uneven":
            return rank.astype(np.float64) ** -self.margin_power
        return labels.astype(np.float64)


class Pairs(Struct, frozen=True, eq=False, dict=True):
    """The pairs of a set of lists; no pair is stored.

    Only judged items of lists that have a pair are included, in the order of decreasing labels (equal
    labels in input order).

    Attributes
    ----------
    lists : int64 (n), the lists that have a pair.
    offsets : int64 (n + 1), the bounds of these lists in the columns below.
    items : int64 (n_items), the row of each item in the set.
    rank, start, stop : int32 (n_items), the item at position j must beat positions start[j]..stop[j]-1,
        counted from its list's first position. Start and stop are non-decreasing within a list.
    h, c : float64 (n_items) and float, the margin function.
    n_skipped : int, the number of lists without a pair.
    """

    lists: Index
    offsets: Index
    items: Index
    rank: Ints
    start: Ints
    stop: Ints
    h: Floats
    c: float
    n_skipped: int

    @property
    def n_lists(self) -> int:
        """The number of lists that have a pair."""
        return len(self.lists)

    @property
    def counts(self) -> Index:
        """The number of pairs of each list, int64 (n)."""
        if self.n_lists == 0:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(self.stop.astype(np.int64) - self.start, self.offsets[:-1])

    @property
    def n_pairs(self) -> int:
        """The number of pairs of all lists."""
        return int((self.stop.astype(np.int64) - self.start).sum())

    @functools.cached_property
    def losses(self) -> Index:
        """The number of pairs in which each item is the worse one, int64 (n_items)."""
        first = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        better = self.start < self.stop
        n = len(self.items)
        opened = np.bincount((first + self.start)[better], minlength=n + 1)
        closed = np.bincount((first + self.stop)[better], minlength=n + 1)
        found: Index = np.cumsum(opened - closed)[:n]
        return found

    def explicit(self) -> tuple[Index, Index]:
        """Return the positions of the better and of the worse item of every pair, int64 (n_pairs).

        Pairs are ordered by list, then by the position of the better item, then by that of the worse one.
        Positions count the items of all lists: ``items`` has their rows in the set.
        """
        first = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        wins = np.maximum(self.stop.astype(np.int64) - self.start, 0)
        better = np.repeat(np.arange(len(self.items)), wins)
        worse = np.arange(len(better)) + np.repeat(first + self.start - offsets_of(wins)[:-1], wins)
        return better, worse

    def subset(self, chosen: Index) -> Pairs:
        """Return the pairs of some of the lists.

        chosen : their positions in ``lists``, rising.
        """
        sizes = np.diff(self.offsets)
        kept = np.zeros(self.n_lists, dtype=bool)
        kept[chosen] = True
        rows = np.repeat(kept, sizes)
        names = ("items", "rank", "start", "stop", "h")
        columns = {name: getattr(self, name)[rows] for name in names}
        return replace(self, lists=self.lists[chosen], offsets=offsets_of(sizes[chosen]), **columns)

    @property
    def mean_margin(self) -> float:
        """The mean of g over all pairs; nan or infinite if h overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.diff(self.offsets)
            h = self.h - np.repeat(self.h[self.offsets[:-1]], sizes)  # so that large labels lose no digits
            wins = self.stop.astype(np.int64) - self.start
            return self.c + float((h * (wins - self.losses)).sum()) / self.n_pairs


def competition_ranks(labels: Floats, offsets: Index) -> Ints:
    """Return 1 + the number of items of the list with a larger label; labels fall within each list."""
    new = np.ones(len(labels), dtype=np.bool_)
    new[1:] = labels[1:] != labels[:-1]
    new[offsets[:-1]] = True
    places = np.flatnonzero(new)
    ranks = np.repeat(places + 1, np.diff(places, append=len(labels)))
    ranks -= np.repeat(offsets[:-1], np.diff(offsets))
    return ranks.astype(np.int32)


def make_pairs(lists: CandidateLists, relation: PairRelation, margin: Margin | None = None) -> Pairs:
    """Return the pairs of ``lists`` under ``relation``.

    If no list has a pair, the result contains no lists; callers that need one must check. Raises DataError if
    the lists have no labels.

    lists : lists with labels.
    relation : T(p, q).
    margin : g(p, q); None = even margins.
    """
    if lists.labels is None:
        raise DataError(f"{lists.source}: no labels, so no pairs")
    judged = ~np.isnan(lists.labels)
    sizes = np.add.reduceat(judged, lists.offsets[:-1], dtype=np.int64)
    present = np.flatnonzero(sizes)
    sizes = sizes[present]
    items = np.flatnonzero(judged)
    items = items[np.lexsort((-lists.labels[items], lists.list_index[items]))]
    labels, offsets = lists.labels[items], offsets_of(sizes)
    rank = competition_ranks(labels, offsets)
    start, stop = relation.ranges(labels, rank, offsets)
    sums = np.add.reduceat(stop - start, offsets[:-1], dtype=np.int64) if len(items) else np.zeros(0)
    has_pair = sums > 0
    kept = np.repeat(has_pair, sizes)
    margin = margin or Margin()
    return Pairs(
        lists=present[has_pair],
        offsets=offsets_of(sizes[has_pair]),
        items=items[kept],
        rank=rank[kept],
        start=start[kept],
        stop=stop[kept],
        h=margin.h(labels[kept], rank[kept]),
        c=margin.c,
        n_skipped=lists.n_lists - int(has_pair.sum()),
    )


class Concordance:
    """The pairs of different labels of each list, prepared to be counted under many scores.

    Parameters
    ----------
    labels : float64 (n_items), naN = unjudged; such items are in no pair.
    offsets : int64 (n_lists + 1)

    Attributes
    ----------
    n_pairs : int64 (n_lists)
    """

    def __init__(self, labels: Floats, offsets: Index) -> None:
        self._offsets = offsets
        self._ranks = np.empty(len(labels), dtype=np.int32)
        self._n_ranks = np.empty(len(offsets) - 1, dtype=np.int32)
        self.n_pairs: Index = np.empty(len(offsets) - 1, dtype=np.int64)
        _concordance.label_ranks(
            np.ascontiguousarray(labels, dtype=np.float64), offsets, self._ranks, self._n_ranks, self.n_pairs
        )

    def right(self, scores: Floats) -> Floats:
        """Return the pairs in the right order under scores (n_items), a tie one half: float64 (n_lists)."""
        right = np.empty(len(self.n_pairs), dtype=np.int64)
        wrong = np.empty_like(right)
        _concordance.concordance(scores, self._offsets, self._ranks, self._n_ranks, right, wrong)
        return (self.n_pairs + right - wrong) / 2.0

    def accuracy(self, scores: Floats, list_weights: Floats | None = None) -> float:
        """Return the share of all pairs that scores put in the right order, a tie one half.

        Parameters
        ----------
        scores : float64 (n_items)
        list_weights : float64 (n_lists), what a pair of each list counts.

        Returns
        -------
        float
            NaN if there is no pair.
        """
        weights = np.ones(len(self.n_pairs)) if list_weights is None else list_weights
        total = float((weights * self.n_pairs).sum())
        return float((weights * self.right(scores)).sum()) / total if total else float("nan")
