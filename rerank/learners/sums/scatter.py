"""Scatter of the items of one part around the means of their labels, and between these means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.learners.base import checked_list_weights
from rerank.learners.sums.judged import ItemFacts, JudgedItems

_LABELS = 1 << 16  # of a part that are looked at: too many, but counted
_NONE, _NO_SCALE = np.zeros(0, np.int64), np.zeros(0)
_BLOCK = 1 << 22  # values of features that are dense at once


class ScatterFacts(NamedTuple):
    """Facts about the judged items of a part.

    Attributes
    ----------
    columns, labels
        The features that occur, and the different labels, rising.
    differ, missing
        Whether a list has two different labels, and whether a feature is NaN.
    weight, judged
        The summed weight of the items, and how many.
    """

    columns: Index
    labels: Floats
    differ: bool
    missing: bool
    weight: float
    judged: int


class ScatterForm(NamedTuple):
    """The form of all parts' features: they are scaled so that their scatter within lists is 1.

    Attributes
    ----------
    columns, labels
        Those of the features that occur, and the different labels, rising.
    exponent : int64 (n_columns)
        The power of two by which a feature is divided first, so that no square overflows.
    scale : float64 (n_columns)
        What it is divided by then; 0 if it is constant within lists.
    """

    columns: Index
    labels: Floats
    exponent: Index = _NONE
    scale: Floats = _NO_SCALE


class ScatterPart:
    """The judged items of one part of the lists.

    - ``lists``: lists with labels.
    - ``list_weights``: float64 (n_lists), None = 1.
    - ``judge``: a metric, prepared for the lists.
    """

    def __init__(
        self, lists: CandidateLists, list_weights: Floats | None, judge: PreparedMetric | None = None
    ) -> None:
        self._items = JudgedItems.of(lists, list_weights)
        self._lists, self._judge = lists, judge
        self._weights = checked_list_weights(list_weights, lists)
        self._pairs: Concordance | None = None

    def facts(self) -> ScatterFacts:
        """Return facts about the items."""
        items = self._items
        known = ItemFacts.of(items)
        labels = np.unique(items.labels)
        return ScatterFacts(
            items.features.occurring(),
            labels[:_LABELS],
            known.differ,
            self._lists.has_missing,
            known.weight,
            known.n,
        )

    def largest(self, form: ScatterForm) -> Floats:
        """Return the largest magnitude of each feature."""
        return _Blocks(self._items, form).largest()

    def total(self, form: ScatterForm) -> Floats:
        """Return the scatter of each feature within lists."""
        return _Blocks(self._items, form).total()

    def sums(self, form: ScatterForm, kept: Index, pairs: bool) -> ScatterSums:
        """Return the scatter matrices of the features ``kept``."""
        sums = ScatterSums(len(kept), len(form.labels), pairs)
        for means in _Blocks(self._items, form).means(kept):
            sums.add(means)
        return sums

    def order(self, weights: Floats) -> tuple[float, float]:
        """Return the weighted pairs that weights (n_features) put in the right order, and all; else NaN."""
        assert self._lists.labels is not None  # JudgedItems.of
        scores = self._lists.features.scores(weights)
        if not np.isfinite(scores).all():
            return np.nan, np.nan
        if self._pairs is None:
            self._pairs = Concordance(self._lists.labels, self._lists.offsets)
        right = float((self._weights * self._pairs.right(scores)).sum())
        return right, float((self._weights * self._pairs.n_pairs).sum())

    def statistics(self, weights: Floats) -> Floats:
        """Return the summed statistics of the metric under weights (n_features)."""
        assert self._judge is not None  # the caller knows
        scores = self._lists.features.scores(weights)
        sums: Floats = (self._judge.per_list(scores) * self._weights[:, None]).sum(axis=0)
        return sums


@dataclass(frozen=True, eq=False)
class _Means:
    """The labels of some lists: a row for each label of each list, those of one list together.

    ``rest`` (n_items, k) are the items less their row's mean; ``weight`` is the weight of each item's list.
    """

    mean: Floats
    size: Floats
    label: Index
    list_weight: Floats
    starts: Index
    rest: Floats
    weight: Floats


class _Blocks:
    """Judged items of a form, densely and in blocks of lists."""

    def __init__(self, items: JudgedItems, form: ScatterForm) -> None:
        self._items, self._form = items, form
        self._codes = np.searchsorted(form.labels, items.labels)
        self._place = np.full(items.features.n_features, -1, dtype=np.int64)
        self._place[form.columns] = np.arange(len(form.columns))

    def largest(self) -> Floats:
        """Return the largest magnitude of each feature."""
        largest = np.zeros(len(self._form.columns))
        for _, block in self._dense():
            np.maximum(largest, np.abs(block).max(axis=0), out=largest)
        return largest

    def total(self) -> Floats:
        """Return the scatter of each feature within lists."""
        total = np.zeros(len(self._form.columns))
        for part, block in self._dense():
            starts, sizes = self._bounds(part)
            moved = self._moved(block, starts, sizes)
            mean = np.add.reduceat(moved, starts) / sizes[:, None]
            total += self._items.weight[part] @ (moved - np.repeat(mean, sizes, axis=0)) ** 2
        return total

    def means(self, kept: Index) -> Iterator[_Means]:
        """Yield the means of the labels of each block's lists, of the columns ``kept``."""
        for part, block in self._dense():
            starts, sizes = self._bounds(part)
            moved = self._moved(block, starts, sizes)[:, kept] / self._form.scale[kept]
            of_list = np.repeat(np.arange(len(sizes)), sizes)
            order = np.lexsort((self._codes[part], of_list))
            of_list, code = of_list[order], self._codes[part][order]
            first = np.flatnonzero((np.diff(of_list, prepend=-1) != 0) | (np.diff(code, prepend=-1) != 0))
            size = np.diff(first, append=len(order))
            weight = self._items.weight[part][order]
            mean = np.add.reduceat(moved[order], first) / size[:, None]
            yield _Means(
                mean=mean,
                size=size.astype(np.float64),
                label=code[first],
                list_weight=weight[first],
                starts=np.flatnonzero(np.diff(of_list[first], prepend=-1)),
                rest=moved[order] - np.repeat(mean, size, axis=0),
                weight=weight,
            )

    def _dense(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the items of some lists, and their columns as an array."""
        bounds, k = self._items.offsets, len(self._form.columns)
        start = 0
        while start < len(bounds) - 1:
            room = int(bounds[start]) + _BLOCK // max(k, 1)
            stop = max(start + 1, int(np.searchsorted(bounds, room, side="right")) - 1)
            part = slice(int(bounds[start]), int(bounds[stop]))
            memory.require(24 * (part.stop - part.start) * k, f"{k:,} features of a list", "select fewer")
            some = self._items.features.take(part).select(self._place, k)
            yield part, np.asarray(some.to_dense(), dtype=np.float64)
            start = stop

    def _bounds(self, part: slice) -> tuple[Index, Index]:
        """The first item of each list of a block, counted from the block's first, and the lists' sizes."""
        first, last = np.searchsorted(self._items.offsets, [part.start, part.stop])
        sizes = np.diff(self._items.offsets[first : last + 1])
        return offsets_of(sizes)[:-1], sizes

    def _moved(self, block: Floats, starts: Index, sizes: Index) -> Floats:
        """The features less those of their list's first item: exactly 0 where they are constant."""
        small = np.ldexp(block, -self._form.exponent)
        return small - np.repeat(small[starts], sizes, axis=0)


class ScatterSums:
    """Sums of scatter matrices over lists: ``within``, ``between``, and of each pair of labels."""

    def __init__(self, k: int, n_labels: int, pairs: bool) -> None:
        self.pairs = list(combinations(range(n_labels), 2)) if pairs else []
        n = len(self.pairs)
        what = f"{2 * n + 4} matrices of {k:,} x {k:,} features"
        memory.require(8 * k * k * (2 * n + 4), what, "select fewer (--features)")
        self.within = np.zeros((k, k))
        self.between = np.zeros((k, k))
        self.of_pairs = np.zeros((n, k, k))
        self.n_lists = np.zeros(n)

    def merge(self, other: ScatterSums) -> None:
        """Add the sums of other lists."""
        self.within += other.within
        self.between += other.between
        self.of_pairs += other.of_pairs
        self.n_lists += other.n_lists

    def add(self, means: _Means) -> None:
        """Add the scatter of a block's lists."""
        self.within += (means.rest * means.weight[:, None]).T @ means.rest
        lengths = np.diff(means.starts, append=len(means.label))
        self.between += _around_mean(means, np.arange(len(means.label)), means.starts, lengths)
        of_list = np.repeat(np.arange(len(lengths)), lengths)
        for p, (i, j) in enumerate(self.pairs):
            rows = np.flatnonzero((means.label == i) | (means.label == j))
            both = np.bincount(of_list[rows], minlength=len(lengths)) == 2
            rows = rows[both[of_list[rows]]]
            starts = np.arange(0, len(rows), 2)
            self.of_pairs[p] += _around_mean(means, rows, starts, np.full(len(starts), 2))
            self.n_lists[p] += float(means.list_weight[rows[::2]].sum())


def _around_mean(means: _Means, rows: Index, starts: Index, lengths: Index) -> Floats:
    """The sum over lists of (mu_i - mu)(mu_i - mu)ᵀ, where mu is the mean of the items of these rows."""
    k = means.mean.shape[1]
    if not len(rows):
        return np.zeros((k, k))
    size, mean = means.size[rows, None], means.mean[rows]
    centre = np.add.reduceat(size * mean, starts) / np.add.reduceat(size, starts)
    apart = mean - np.repeat(centre, lengths, axis=0)
    scatter: Floats = (apart * means.list_weight[rows, None]).T @ apart
    return scatter
