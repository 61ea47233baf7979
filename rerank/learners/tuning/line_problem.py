"""Lists prepared for the line searches of minimum error rate training.

Features are divided by the power of two nearest to their spread within lists, and weights multiplied by
it. No bit of a score changes, and steps of equal length are comparable in all directions.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import checked_list_weights
from rerank.native.learners import _rise
from rerank.native.learners._statistics import Statistics


class Rise(NamedTuple):
    """Lists in which a direction's slopes differ, and their items by ascending slope; see native._rise.

    lists : int32, their numbers. order : places of items within their list, of the smallest type that fits.
    slopes : of these items, float64, or float32 if that rounds none.
    """

    lists: Ints
    order: AnyArray
    slopes: AnyArray


class LineProblem:
    """What line searches share. It never changes, so that several threads can search it.

    Lists whose items all have the same statistics add a constant and are not searched. Memory: 5 to 12
    bytes for each value of dense features that vary within their list (1, 2 or 4 for its place in the list, 4
    or 8 for the value); for sparse features, as much as the features take themselves. Statistics that are
    float64 counts are copied as int32; list weights make a copy of all statistics.

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
        rows: AnyArray = np.ascontiguousarray(judge.per_item)
        if list_weights is not None:
            rows = rows * np.repeat(checked_list_weights(list_weights, lists), lists.lengths)[:, None]
        self.judge = judge
        self.form = judge.sum_form
        self.source = lists.source
        self.offsets = lists.offsets
        self.features: Features = lists.features
        self.stats = Statistics(rows, lists.n_lists)
        self.live = np.empty(lists.n_lists, dtype=bool)
        self.stats.differing(self.offsets, self.live.view(np.uint8))
        self.searched: Ints = np.flatnonzero(self.live).astype(np.int32)
        constant = self.stats.rows[self.offsets[:-1][~self.live]]
        self.constant: Floats = constant.astype(np.float64).sum(axis=0)
        self.scale = np.ones(lists.n_features)
        self._place = np.min_scalar_type(int(lists.lengths.max()) - 1)
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
                self._rises[j] = rise._replace(slopes=_narrowed(rise.slopes, self.scale[j]))
            else:
                self._columns[j] = items, values / self.scale[j]
        return np.array(varying, dtype=np.int64)

    @cached_property
    def most(self) -> float:
        """The metric of the best choice, negated if smaller is better; infinite for several lists."""
        if len(self.searched) != 1:
            return np.inf
        first, last = self.offsets[self.searched[0] :][:2]
        sums = self.stats.rows[first:last] + self.constant
        values = self.judge.better * np.asarray(self.judge.score_from_sums(sums))
        return float(np.fmax.reduce(values, initial=-np.inf))

    @cached_property
    def _list_of(self) -> Ints:
        """The list of each item, int32 (n), for sparse columns."""
        return np.repeat(np.arange(len(self.live), dtype=np.int32), np.diff(self.offsets))

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
        """Return the scores (n_items) under scaled weights, with the bits of a model."""
        return self.features.scores(weights / self.scale)

    def _sorted(self, values: Floats, items: Ints | None = None) -> Rise:
        """Return the slopes of a column: values of all items, or of ``items`` and 0 elsewhere."""
        n_lists, n_items = len(self.live), len(self.stats.rows)
        room = Rise(np.empty(n_lists, np.int32), np.empty(n_items, self._place), np.empty(n_items))
        live, list_of = self.live.view(np.uint8), None if items is None else self._list_of
        lists, filled = _rise.rise(items, values, live, self.offsets, list_of, *room)
        return Rise(_first(room.lists, lists), _first(room.order, filled), _first(room.slopes, filled))


def _first(array: AnyArray, n: int) -> AnyArray:
    """The first ``n`` entries; a copy, so that memory of the others is freed, unless there are none."""
    return array if n == len(array) else array[:n].copy()


def _narrowed(slopes: Floats, scale: float) -> AnyArray:
    """Slopes divided by ``scale``, as float32 if that rounds none; ``slopes`` are overwritten."""
    slopes /= scale
    with np.errstate(over="ignore"):
        narrow = slopes.astype(np.float32)
    return narrow if np.array_equal(narrow, slopes) else slopes


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
