"""The pairs that boosting learns from: the best item of a list and another one, or an item and nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.first_best import best_items
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed
from rerank.models.stumps import Thresholds


def thresholds_of(features: Features, bins: int | None, without: int | None = None) -> Thresholds:
    """Return thresholds of every feature.

    A feature with at most ``bins`` different values besides the smallest, where 0 counts as a value, has a
    threshold at each of them: 0/1 features one at 1, counts one at 1, 2, and so on. Another feature has one
    at each of ``bins`` quantiles of its values other than 0, and at the values that separate 0 from those
    below and above it.

    - ``features``: features without NaN.
    - ``bins``: None = all values.
    - ``without``: a feature that gets no threshold.
    """
    columns: list[Index] = []
    values: list[Floats] = []
    for where, found in _distinct(features, bins):
        columns.append(where)
        values.append(found)
    column = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    value = np.concatenate(values) if values else np.empty(0)
    keep = column != (-1 if without is None else without)
    order = np.lexsort((value[keep], column[keep]))
    column, value = column[keep][order], value[keep][order]
    counts = np.bincount(column, minlength=features.n_features)
    return Thresholds(offsets_of(counts), column.astype(np.int32), value)


def _distinct(features: Features, bins: int | None) -> Iterator[tuple[Index, Floats]]:
    """Thresholds of some features each time: their columns and values."""
    if isinstance(features, Dense):
        for j in range(features.n_features):
            yield _chosen(np.full(features.n_items, j), features.column(j), bins)
        return
    if isinstance(features, Mixed):
        for j in features.places.tolist():
            yield _chosen(np.full(features.n_items, j), features.column(j), bins)
    rows = features.rows if isinstance(features, Mixed) else features.compressed()
    if rows.data is None:
        yield rows.occurring(), np.ones(len(rows.occurring()))
        return
    odd = rows.data != 1.0
    ones = np.bincount(rows.indices[~odd], minlength=rows.n_features)
    of_odd = rows.indices[odd].astype(np.int64)
    rest = np.flatnonzero(ones)
    if bins is not None:  # features with many values need all of them for quantiles
        many = np.zeros(rows.n_features, dtype=bool)
        column, _ = _unique(of_odd, rows.data[odd])
        many[np.bincount(column, minlength=rows.n_features) > bins - 2] = True
        here = many[rows.indices]
        yield _chosen(rows.indices[here].astype(np.int64), rows.data[here], bins)
        odd &= ~here
        of_odd = rows.indices[odd].astype(np.int64)
        rest = rest[~many[rest]]
    columns = np.concatenate([of_odd, rest])
    yield _chosen(columns, np.concatenate([rows.data[odd], np.ones(len(rest))]), bins)


def _unique(column: Index, value: Floats) -> tuple[Index, Floats]:
    """The different (column, value) pairs, by column, then by value."""
    order = np.lexsort((value, column))
    column, value = column[order], value[order]
    first = np.ones(len(column), dtype=bool)
    first[1:] = (column[1:] != column[:-1]) | (value[1:] != value[:-1])
    return column[first], value[first]


def _chosen(column: Index, value: Floats, bins: int | None) -> tuple[Index, Floats]:
    """Thresholds of the features that have these values, each with its column."""
    stored = value != 0
    column, value = column[stored], value[stored]
    present = np.unique(column)
    columns, values = _unique(np.concatenate([column, present]), np.append(value, np.zeros(len(present))))
    smallest = np.ones(len(columns), dtype=bool)
    smallest[1:] = columns[1:] != columns[:-1]
    columns, values = columns[~smallest], values[~smallest]
    if bins is None:
        return columns, values
    names, counts = np.unique(columns, return_counts=True)
    large = names[counts > bins]
    if not len(large):
        return columns, values
    few = ~np.isin(columns, large)
    parts = [(columns[few], values[few])]
    order = np.lexsort((value, column))
    column, value = column[order], value[order]
    bounds = np.searchsorted(column, [large, large + 1])
    for j, low, high in zip(large.tolist(), *bounds.tolist(), strict=True):
        found = _quantiles(value[low:high], bins)
        parts.append((np.full(len(found), j), found))
    return np.concatenate([c for c, _ in parts]), np.concatenate([v for _, v in parts])


def _quantiles(value: Floats, bins: int) -> Floats:
    """Thresholds at quantiles of rising values other than 0, and around 0."""
    n = len(value)
    chosen = value[np.arange(bins) * n // bins]
    above = int(np.searchsorted(value, 0.0))
    around = [0.0] if above else []
    if above < n:
        around.append(float(value[above]))
    smallest = min(float(value[0]), 0.0)
    found: Floats = np.unique(np.append(chosen, around))
    return found[found > smallest]


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs of items, list by list.

    Attributes
    ----------
    pairs : int64 (2, n_pairs)
        The item that must win and the one that must lose; -1 stands for an item whose score is 0.
    groups : int64 (n_groups + 1)
        The bounds of pairs of one list, or of one example in classification.
    importance : float64 (n_pairs)
        S of each pair, 1 at most.
    scale : float
        What the importance of pairs was divided by.
    n_skipped : int
        Lists without a pair.
    cost : float64 (n_pairs) or None
        By how much each pair should be right; None = 0.
    """

    pairs: Index
    groups: Index
    importance: Floats
    scale: float
    n_skipped: int
    cost: Floats | None = None

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.importance)

    @property
    def winners(self) -> Index:
        """The item that must win of each group, int64 (n_groups)."""
        return self.pairs[0, self.groups[:-1]]

    def differences(self, values: Floats) -> Floats:
        """Return the value of a pair's first item less that of its second, float64 (n_pairs).

        ``values`` are those of items (n_items).
        """
        padded = np.append(values, 0.0)
        with np.errstate(over="ignore"):  # callers report what is not finite
            return padded[self.pairs[0]] - padded[self.pairs[1]]


def ranking_examples(lists: CandidateLists, weighted: bool) -> Examples:
    """Return the pairs of each list's best item and its items of smaller labels; unjudged ones are in none.

    - ``lists``: lists with labels.
    - ``weighted``: the importance of a pair is the difference of its labels, else 1.

    Raises FitError if no list has a pair, or a difference of labels overflows.
    """
    assert lists.labels is not None
    best = np.repeat(best_items(lists), lists.lengths)
    losers = np.flatnonzero((best >= 0) & (lists.labels < lists.labels[best]))
    if not len(losers):
        raise FitError(f"{lists.source}: no list has two different labels")
    winners = best[losers]
    with np.errstate(over="ignore"):
        importance = lists.labels[winners] - lists.labels[losers] if weighted else np.ones(len(losers))
    scale = float(importance.max())
    if not np.isfinite(scale):
        raise FitError(f"{lists.source}: differences of labels overflow")
    importance = np.maximum(importance / scale, np.finfo(np.float64).tiny)
    sizes = np.bincount(lists.list_index[losers], minlength=lists.n_lists)
    groups = offsets_of(sizes[sizes > 0])
    n_skipped = int(np.count_nonzero(sizes == 0))
    return Examples(np.stack([winners, losers]), groups, importance, scale, n_skipped)


def class_examples(lists: CandidateLists, relevant: float) -> Examples:
    """Return a pair for each judged item: it must score above 0 if it is relevant, else below.

    - ``lists``: lists with labels; which list an item is in does not matter.
    - ``relevant``: items with this label or a larger one are relevant.

    Raises FitError if all judged items are of one class.
    """
    assert lists.labels is not None
    items = np.flatnonzero(~np.isnan(lists.labels))
    right = lists.labels[items] >= relevant
    if right.all() or not right.any():
        found = "no" if not right.any() else "every"
        raise FitError(f"{lists.source}: {found} judged item has a label of {relevant:g} or more (relevant)")
    pairs = np.where(np.stack([right, ~right]), items, -1)
    groups = np.arange(len(items) + 1, dtype=np.int64)
    return Examples(pairs, groups, np.ones(len(items)), 1.0, 0)
