"""Scatter of items around the means of their labels, and between these means, summed over lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Concordance
from rerank.learners.base import checked_list_weights
from rerank.learners.sums.judged import ItemFacts, JudgedItems
from rerank.learners.sums.parts import Parts
from rerank.models.training import DataRecord

MAX_FEATURES = 4096  # of which matrices of all pairs are made
MAX_LABELS = 10
_BLOCK = 1 << 22  # values of features that are dense at once
_LABELS = 1 << 16  # of a part that are looked at: too many, but counted
_NONE, _NO_SCALE = np.zeros(0, np.int64), np.zeros(0)
_NOISE = 1e-12  # a feature that varies less within lists, relative to its magnitude, is constant


@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter matrices of lists (Duh 2009, section 5.2), in coordinates in which W is the identity.

    In each list mu_i is the mean of the items labelled i. W is the sum over lists and labels of
    (x - mu_i)(x - mu_i)ᵀ. B_ij is the sum over lists that have both labels of
    (mu_i - mu)(mu_i - mu)ᵀ + (mu_j - mu)(mu_j - mu)ᵀ with the mean mu of the items of both: equation 5.1 as
    printed, in which means are not weighted by their numbers of items. B is the same of all labels of a list.

    Attributes
    ----------
    whitener : float64 (n_features, k)
        A vector a of length 1 in these coordinates has the weights whitener @ a, for which w·Ww is 1.
    between : float64 (k, k)
        B.
    pairs : list of (int, int)
        The pairs i < j of labels that some list of notable weight has, numbered from the smallest label up.
    of_pairs : float64 (n_pairs, k, k)
        B_ij of each.
    n_lists : float64 (n_pairs)
        The summed weights of the lists that have both labels.
    data : DataRecord
        What is recorded of the items.
    """

    whitener: Floats
    between: Floats
    pairs: list[tuple[int, int]]
    of_pairs: Floats
    n_lists: Floats
    data: DataRecord

    @classmethod
    def of(
        cls, lists: CandidateLists, ridge: float, list_weights: Floats | None, name: str, *, pairs: bool
    ) -> Scatter:
        """Return the scatter of the judged items of lists; see ``summed``.

        ``list_weights``: float64 (n_lists), None = 1.
        """
        parts = Parts([ScatterPart(lists, list_weights)], lists.n_lists)
        return cls.summed(parts, lists, ridge, name, pairs=pairs)

    @classmethod
    def summed(
        cls, parts: Parts, lists: CandidateLists, ridge: float, name: str, *, pairs: bool
    ) -> Scatter:
        """Return the scatter of the judged items of all parts.

        - ``parts``: ``ScatterPart``.
        - ``lists``: lists with the features of all parts.
        - ``ridge``: what is added to the diagonal of W, relative to the scatter of each feature within lists.
        - ``name``: the learner's, for errors.
        - ``pairs``: whether B_ij are needed; without them ``of_pairs`` is empty.

        Raises FitError if there are too many features or different labels, or no list has two labels between
        which a feature varies.
        """
        facts = parts.each(ScatterPart.facts)
        form = Form(*_checked(lists, facts, name))
        largest = np.max(parts.each(ScatterPart.largest, form), axis=0)
        form = form._replace(exponent=np.frexp(largest)[1].astype(np.int64))
        total = _added(parts.each(ScatterPart.total, form))
        least = _NOISE * _NOISE * sum(one.weight for one in facts)
        form = form._replace(scale=np.where(total > least, np.sqrt(total), 0.0))
        kept, scale = np.flatnonzero(form.scale), form.scale
        sums = _Sums(len(kept), len(form.labels), pairs)
        for more in parts.each(ScatterPart.sums, form, kept, pairs):
            sums.merge(more)
        if not sums.between.any():
            found = "no feature varies between the labels of a list"
            raise FitError(f"{lists.source}: {found}; learner {name} needs one")
        values, vectors = np.linalg.eigh(sums.within)
        whitener = vectors / np.sqrt(np.maximum(values, 0.0) + ridge)  # M with Mᵀ(W + ridge)M = 1
        out = np.zeros((lists.n_features, len(kept)))
        with np.errstate(over="ignore"):
            unscaled = np.ldexp(whitener / scale[kept, None], -form.exponent[kept, None])
        out[form.columns[kept]] = unscaled
        if not np.isfinite(out).all():
            raise FitError(f"{lists.source}: a weight overflows; scale the features (--scaling)")
        used = np.flatnonzero(sums.n_lists > _NOISE * sums.n_lists.max(initial=0.0))
        return cls(
            out,
            _turned(sums.between, whitener),
            [sums.pairs[p] for p in used],
            np.array([_turned(sums.of_pairs[p], whitener) for p in used]),
            sums.n_lists[used],
            DataRecord(judged=sum(one.judged for one in facts), grades=len(form.labels)),
        )


def _added(vectors: list[Floats]) -> Floats:
    total = vectors[0]
    for more in vectors[1:]:
        total = total + more
    return total


class Facts(NamedTuple):
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


class Form(NamedTuple):
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

    def facts(self) -> Facts:
        """Return facts about the items."""
        items = self._items
        known = ItemFacts.of(items)
        labels = np.unique(items.labels)
        return Facts(
            items.features.occurring(),
            labels[:_LABELS],
            known.differ,
            self._lists.has_missing,
            known.weight,
            known.n,
        )

    def largest(self, form: Form) -> Floats:
        """Return the largest magnitude of each feature."""
        return _Blocks(self._items, form).largest()

    def total(self, form: Form) -> Floats:
        """Return the scatter of each feature within lists."""
        return _Blocks(self._items, form).total()

    def sums(self, form: Form, kept: Index, pairs: bool) -> _Sums:
        """Return the scatter matrices of the features ``kept``."""
        sums = _Sums(len(kept), len(form.labels), pairs)
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


def _checked(lists: CandidateLists, facts: list[Facts], name: str) -> tuple[Index, Floats]:
    """Return the columns that occur in items, and their different labels; raises FitError, see ``summed``."""
    columns = np.unique(np.concatenate([one.columns for one in facts]))
    labels = np.unique(np.concatenate([one.labels for one in facts]))
    if any(one.missing for one in facts):
        fault = f"missing (NaN) features; learner {name} accepts none"
    elif len(columns) > MAX_FEATURES:
        fault = f"{len(columns):,} features, learner {name} takes {MAX_FEATURES:,} at most (--features)"
    elif not any(one.differ for one in facts):
        fault = f"no list has two different labels; learner {name} needs one"
    elif len(labels) > MAX_LABELS:
        found = f"{len(labels):,} different labels, learner {name} takes {MAX_LABELS} at most"
        fault = f"{found}; quantise them (--quantise list-kmeans=3)"
    else:
        return columns, labels
    raise FitError(f"{lists.source}: {fault}")


def _turned(matrix: Floats, whitener: Floats) -> Floats:
    turned: Floats = whitener.T @ matrix @ whitener
    return 0.5 * (turned + turned.T)


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

    def __init__(self, items: JudgedItems, form: Form) -> None:
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


class _Sums:
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

    def merge(self, other: _Sums) -> None:
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
