"""Thresholds that turn features into indicators: a feature is t or more, or it is not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Dense, Features, Mixed
from rerank.models.stumps import Thresholds


def thresholds_of(features: Features, bins: int | None, without: int | None = None) -> Thresholds:
    """Return thresholds of every feature.

    A feature with at most ``bins`` different values besides the smallest, where 0 counts as a value, has a
    threshold at each of them: 0/1 features one at 1, counts one at 1, 2, and so on. Another feature has one
    at each of ``bins`` quantiles of its values other than 0, and at the values that separate 0 from those
    below and above it.

    Parameters
    ----------
    features
        Features without NaN.
    bins
        None = all values.
    without
        A feature that gets no threshold.
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
