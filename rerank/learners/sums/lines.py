"""The data of line searches: the lists of one part, what it takes to sort them, and a choice of items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.npy import FileRoom, is_large
from rerank.learners.base import checked_list_weights
from rerank.native.learners import _rise, _statistics
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
    """Data of line searches. It never changes, so that several threads can search it.

    Lists whose items all have the same statistics add a constant and are not searched. Memory: 5 to 12
    bytes for each value of dense features that vary within their list (1, 2 or 4 for its place in the list, 4
    or 8 for the value); for sparse features, as much as the features take themselves. Statistics that are
    float64 counts are copied as int32; list weights make a copy of all statistics. Values of dense features
    that need more than half of the memory go to a temporary file.

    - ``lists``: training lists.
    - ``judge``: the metric, prepared for ``lists``.
    - ``list_weights``: not negative, float64 (n_lists) or None; they multiply the statistics of their lists
      (Duh 2009, Algorithm 12).

    - ``scaled``: False = ``ready`` is called later.

    Raises FitError if list weights are negative or not finite, or their number differs.

    Attributes
    ----------
    scale : ndarray
        What a feature's values are divided by, float64 (n_features), powers of two.
    varying : ndarray
        Features that vary within a list, int64.
    """

    def __init__(
        self,
        lists: CandidateLists,
        judge: SelectingJudge,
        list_weights: Floats | None,
        *,
        scaled: bool = True,
    ) -> None:
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
        self.varying: Index = np.empty(0, dtype=np.int64)
        if scaled:
            self.ready()

    def ranges(self) -> Ranges:
        """Return the ranges of all features."""
        found = [
            ranges_of(self._sorted(values, items), self.offsets)
            for items, values in self.features.by_column()
        ]
        return Ranges(*np.array(found, dtype=np.float64).reshape(-1, 3).T)

    def ready(self, scale: Floats | None = None) -> None:
        """Find the scale of each column, or take it, and keep what it takes to sort it."""
        varying = []
        d = self.features.n_features
        need = d * (4 * len(self.live) + (self._place.itemsize + 8) * len(self.stats.rows) + 24)
        large = isinstance(self.features, Dense) and is_large(need)
        room = FileRoom(need, f"sorted values of {d:,} features") if large else None
        for j, (items, values) in enumerate(self.features.by_column()):
            rise = self._sorted(values, items)
            if len(rise.lists):
                self.scale[j] = scale_of(*ranges_of(rise, self.offsets)) if scale is None else scale[j]
                varying.append(j)
            if items is None:
                rise = rise._replace(slopes=_narrowed(rise.slopes, self.scale[j]))
                self._rises[j] = rise if room is None else Rise(*map(room.kept, rise))
            else:
                self._columns[j] = items, values / self.scale[j]
        self.varying = np.array(varying, dtype=np.int64)

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


class Ranges(NamedTuple):
    """Half the ranges of features in the lists where they differ, those divided by the largest squared.

    Each float64 (n_features): their number, the largest, and the sum of squares.
    """

    n: Floats
    largest: Floats
    squares: Floats

    @classmethod
    def merged(cls, parts: Sequence[Ranges]) -> Ranges:
        """Return the ranges of all parts."""
        n, highest, squares = (np.array(column) for column in zip(*parts, strict=True))
        largest = highest.max(axis=0)
        shares = np.divide(highest, largest, out=np.zeros_like(highest), where=highest > 0)
        return cls(n.sum(axis=0), largest, (squares * shares**2).sum(axis=0))


def ranges_of(rise: Rise, offsets: Index) -> tuple[int, float, float]:
    """Return the ``Ranges`` of one column."""
    if len(rise.lists) == 0:
        return 0, 0.0, 0.0
    ends = np.cumsum(np.diff(offsets)[rise.lists])
    starts = np.concatenate([[0], ends[:-1]])
    ranges = rise.slopes[ends - 1] / 2 - rise.slopes[starts] / 2
    largest = float(ranges.max())
    return len(ranges), largest, float(((ranges / largest) ** 2).sum())


def scale_of(n: float, largest: float, squares: float) -> float:
    """Return the power of two next to the root mean square of ranges: it divides without loss.

    So it does not depend on how their squares were added.
    """
    nearest = round(float(np.log2(largest * np.sqrt(squares / n))))
    return float(2.0 ** min(max(nearest, -1000), 1000))


class Choice(NamedTuple):
    """Choice by scores (n_items): an item of each list, int32 (n_lists), and the sums (k) of statistics.

    Chosen items are known of the searched lists only.
    """

    scores: Floats
    chosen: Ints
    sums: Floats

    @classmethod
    def of(cls, problem: LineProblem) -> Choice:
        """Room for a choice; a climb fills the same memory again and again, as first touching it is slow."""
        n_items, width = problem.stats.rows.shape
        return cls(np.empty(n_items), np.zeros(len(problem.live), dtype=np.int32), np.empty(width))

    def settled(self, p: LineProblem, weights: Floats) -> Choice | None:
        """Return the choice by weights (n_features, scaled) in this room; None if a score is not finite."""
        here = self._replace(scores=p.scores(weights))
        if not _statistics.choose(p.stats, p.searched, p.offsets, *here):
            return None
        here.sums[:] += p.constant
        return here

    def advanced(self, p: LineProblem, rise: Rise, gamma: float, room: Choice) -> Choice:
        """Return the choice after a step along a direction, in other room or this one."""
        room.scores[:], room.chosen[:], room.sums[:] = self.scores, self.chosen, self.sums - p.constant
        _statistics.advance(p.stats, p.searched, p.offsets, *rise, gamma, *room)
        room.sums[:] += p.constant
        return room
