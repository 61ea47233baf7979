"""Ranges of features: quantiles over all lists, and standard deviations within lists."""

from __future__ import annotations

import warnings

import numpy as np

from rerank.core.errors import DataNote
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Mixed, Sparse
from rerank.data.scaling import data_of, tolerance_of
from rerank.native.data import _scaling

FACTOR = 1000.0
MOST_VALUES = 1_000_000


def uneven_columns(lists: CandidateLists) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """Return the columns of the smallest and the largest range, if these differ by more than FACTOR.

    Returns
    -------
    tuple of (name, range) or None
        The smallest first; the first column on ties.
    """
    ranges = list_ranges(lists)
    if np.isnan(ranges).all():
        return None
    least, most = int(np.nanargmin(ranges)), int(np.nanargmax(ranges))
    if not ranges[most] / FACTOR > ranges[least]:
        return None
    names = lists.names()
    return (names[least], float(ranges[least])), (names[most], float(ranges[most]))


def list_ranges(lists: CandidateLists) -> Floats:
    """Return the largest range that each column has within a list, NaN if it varies in none.

    Of large sets only evenly spaced lists are looked at, so that about MOST_VALUES are read.

    Returns
    -------
    ndarray
        float64 (n_features).
    """
    features, offsets = lists.features, lists.offsets
    step = -(-features.n_values // MOST_VALUES)
    if step > 1:
        chosen = np.arange(0, lists.n_lists, step)
        rows = np.flatnonzero(np.isin(lists.list_index, chosen)).astype(np.int64)
        features, offsets = features.take(rows), offsets_of(lists.lengths[chosen])
    if isinstance(features, Sparse):
        return _of_rows(features, offsets)
    if isinstance(features, Mixed):
        ranges = _of_rows(features.rows, offsets)
        ranges[features.places] = _of_columns(features.values, offsets)
        return ranges
    return _of_columns(features.to_dense(), offsets)


def _of_columns(values: AnyArray, offsets: Index) -> Floats:
    starts = offsets[:-1]
    high = np.fmax.reduceat(values, starts, axis=0).astype(np.float64)
    low = np.fmin.reduceat(values, starts, axis=0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        ranges = high - low
        varies = ranges > tolerance_of(values.dtype) * np.maximum(np.abs(high), np.abs(low))
    return np.fmax.reduce(np.where(varies, ranges, np.nan), axis=0, initial=np.nan)


def _of_rows(rows: Sparse, offsets: Index) -> Floats:
    """Return the ranges of compressed rows, in which absent values are zeros."""
    d, data = rows.n_features, data_of(rows)
    parts = np.empty(rows.n_values)
    how = False, tolerance_of(data.dtype)
    quarter = 0.25 * data  # the same parts, but no range overflows: the kernel would stop there
    _scaling.csr_lists(
        rows.indptr, rows.indices, quarter, offsets, *how, np.empty(d), np.empty((5, d)), parts
    )
    out = np.full(d, np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ranges = data / parts  # a value is its part of the range times the range
    ranges[parts == 0] = np.nan
    np.fmax.at(out, rows.indices, ranges)
    return out


def note_uneven(lists: CandidateLists, who: str, stacklevel: int = 4) -> None:
    """Warn if features without scaling have very different ranges; ``who`` depends on their units."""
    found = uneven_columns(lists)
    if found is not None:
        (small, least), (large, most) = found
        ranges = f"{least:.3g} (feature {small!r}) to {most:.3g} (feature {large!r})"
        advice = f"no scaling is applied, but {who} depends on it (--scaling zscore)"
        text = f"{lists.source}: ranges within lists are {ranges}; {advice}"
        warnings.warn(text, DataNote, stacklevel=stacklevel)


def deviations_within(lists: CandidateLists) -> Floats:
    """Return each feature's standard deviation within lists, float64 (n_features).

    It is the root of the mean over all items of the squared deviation from the mean of the item's list.
    Missing values (NaN) count neither as items nor in means.
    """
    out = np.zeros(lists.n_features)
    for j, (items, values) in enumerate(lists.features.by_column()):
        out[j] = _deviation(lists, None if items is None else items.astype(np.int64), values)
    return out


def _deviation(lists: CandidateLists, items: np.ndarray | None, values: Floats) -> float:
    """The deviation of one column: values of ``items``, 0 for all others; items None: of all items."""
    known = ~np.isnan(values)
    index = lists.list_index if items is None else lists.list_index[items]
    missing = np.bincount(index[~known], minlength=lists.n_lists)
    sizes = lists.lengths - missing
    values, index = values[known], index[known]
    scale = float(np.abs(values).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    small = values / scale  # squares of large values do not overflow
    means = np.bincount(index, weights=small, minlength=lists.n_lists) / np.maximum(sizes, 1)
    squares = float(np.sum((small - means[index]) ** 2))
    if items is not None:  # what is not stored is 0
        zeros = sizes - np.bincount(index, minlength=lists.n_lists)
        squares += float(np.sum(zeros * means**2))
    return scale * float(np.sqrt(squares / sizes.sum()))
