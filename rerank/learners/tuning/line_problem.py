"""Lists prepared for the line searches of minimum error rate training.

Features are divided by the power of two nearest to their spread within lists, and weights multiplied by
it. No bit of a score changes, and steps of equal length are comparable in all directions.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.types import Floats, Index, Ints
from rerank.learners.base import checked_list_weights
from rerank.native.learners import _rise

_MIX = 0x9E3779B97F4A7C15  # an odd number: the golden ratio in 64 bits


class Rise(NamedTuple):
    """Lists in which a direction's slopes differ, and their items by ascending slope; see native._rise."""

    lists: Ints
    order: Ints
    slopes: Floats


class LineProblem:
    """What line searches share. It never changes, so that several threads can search it.

    Lists whose items all have the same statistics add a constant and are not searched. Memory: 12 bytes
    for each value of dense features that vary within their list; for sparse features, as much as the
    features take themselves.

    Parameters
    ----------
    lists
        Training lists.
    judge
        The metric, prepared for ``lists``.
    list_weights
        Not negative, float64 (n_lists) or None; they multiply the statistics of their lists (Duh 2009,
        Algorithm 12).

    Raises
    ------
    FitError
        If list weights are negative or not finite, or their number differs.
    """

    def __init__(self, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None) -> None:
        stats = np.ascontiguousarray(judge.per_item, dtype=np.float64)
        if list_weights is not None:
            stats = stats * np.repeat(checked_list_weights(list_weights, lists), lists.lengths)[:, None]
        alike = _alike(stats, lists.list_index)
        starts = lists.offsets[:-1]
        live = np.maximum.reduceat(alike, starts) != np.minimum.reduceat(alike, starts)
        items: Index | slice = np.flatnonzero(np.repeat(live, lists.lengths))
        if live.all():
            items = slice(None)
        self.judge = judge
        self.form = judge.sum_form
        self.source = lists.source
        self.constant: Floats = stats[starts[~live]].sum(axis=0)
        self.offsets = offsets_of(lists.lengths[live])
        self.features: Features = lists.features if live.all() else lists.features.take(items)
        self.stats = np.ascontiguousarray(stats[items])
        self.alike = np.ascontiguousarray(alike[items])
        self.scale = np.ones(lists.n_features)
        self._list_of = np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), np.diff(self.offsets))
        self._rises: dict[int, Rise] = {}
        self._columns: dict[int, tuple[Ints, Floats]] = {}
        self.varying = self._ready()

    def _ready(self) -> Index:
        """Find the scale of each column and keep what it takes to sort it; return the columns that vary."""
        varying = []
        for j, (items, values) in enumerate(self.features.by_column()):
            rise = self._sorted(values, items)
            if len(rise.lists):
                self.scale[j] = _power_near(_spread(rise, self.offsets))
                varying.append(j)
            if items is None:
                self._rises[j] = rise._replace(slopes=rise.slopes / self.scale[j])
            else:
                self._columns[j] = items, values / self.scale[j]
        return np.array(varying, dtype=np.int64)

    @cached_property
    def most(self) -> float:
        """The metric of the best choice, negated if smaller is better; infinite for several lists."""
        if len(self.offsets) != 2:
            return np.inf
        values = self.judge.better * np.asarray(self.judge.score_from_sums(self.stats + self.constant))
        return float(np.fmax.reduce(values, initial=-np.inf))

    def along(self, feature: int) -> Rise:
        """Return the slopes of one feature, scaled."""
        if feature in self._rises:
            return self._rises[feature]
        items, values = self._columns[feature]
        return self._sorted(values, items)

    def towards(self, direction: Floats) -> Rise:
        """Return the slopes of any ``direction`` (n_features, scaled)."""
        return self._sorted(self.scores(direction))

    def scores(self, weights: Floats) -> Floats:
        """Return the scores (n) of the searched items under scaled weights, with the bits of a model."""
        return self.features.scores(weights / self.scale)

    def _sorted(self, values: Floats, items: Ints | None = None) -> Rise:
        """Return the slopes of a column: values of all items, or of ``items`` and 0 elsewhere."""
        n_lists, n_items = len(self.offsets) - 1, len(self.stats)
        room = Rise(np.empty(n_lists, dtype=np.int32), np.empty(n_items, dtype=np.int32), np.empty(n_items))
        lists, filled = _rise.rise(items, values, self.offsets, self._list_of, *room)
        return Rise(room.lists[:lists].copy(), room.order[:filled].copy(), room.slopes[:filled].copy())


def _spread(rise: Rise, offsets: Index) -> float:
    """Root mean square, over the lists that differ, of half the range of their slopes."""
    if len(rise.lists) == 1:
        return float(rise.slopes[-1] / 2 - rise.slopes[0] / 2)
    ends = np.cumsum(np.diff(offsets)[rise.lists])
    starts = np.concatenate([[0], ends[:-1]])
    ranges = rise.slopes[ends - 1] / 2 - rise.slopes[starts] / 2
    largest = float(ranges.max())
    return largest * float(np.sqrt(np.mean((ranges / largest) ** 2)))


def _power_near(value: float) -> float:
    """The power of two nearest to a positive number, within the range that divides without loss."""
    return float(2.0 ** min(max(round(float(np.log2(value))), -1000), 1000))


def _alike(stats: Floats, list_index: Index) -> Ints:
    """A number for each item, int32 (n), equal within a list exactly if the statistics are."""
    bits = (stats + 0.0).view(np.uint64)
    mixed = np.zeros(len(stats), dtype=np.uint64)
    for column in bits.T:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ column) * np.uint64(_MIX)
    order = np.lexsort((mixed, list_index))
    new = np.ones(len(stats), dtype=bool)
    same = (bits[order[1:]] == bits[order[:-1]]).all(axis=1)
    new[1:] = ~same | (np.diff(list_index[order]) != 0)
    alike = np.empty(len(stats), dtype=np.int32)
    alike[order] = np.cumsum(new, dtype=np.int32)
    return alike
