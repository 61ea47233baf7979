"""Weak rankers made from features: the items of each feature are grouped by its thresholds once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Features
from rerank.data.types import Floats, Index, Ints
from rerank.learners.rankboost.cuts import LOWEST, Spacing, cuts
from rerank.learners.rankboost.rankers import RawRankers, WeakRankers

Weak = Literal["stumps", "raw", "both"]


def weak_rankers(features: Features, n: int, number: int | None, spacing: Spacing, weak: Weak) -> WeakRankers:
    """Return the weak rankers of features.

    Parameters
    ----------
    features
        The features of the n items in pairs, then those of other items, which count for thresholds and ranges
        only.
    n
        The number of items in pairs.
    number, spacing
        Of thresholds; see ``cuts``.
    weak
        Thresholds, features themselves, or both.
    """
    columns = list(_columns(features, n, number, spacing, weak))
    groups = offsets_of([len(column.sizes) for column in columns])
    rest = np.array([column.rest for column in columns], dtype=np.int64)
    return WeakRankers(
        feature=np.array([column.feature for column in columns], dtype=np.int32),
        missing=np.array([column.missing for column in columns], dtype=np.uint8),
        groups=groups,
        rest=groups[:-1] + rest,
        bounds=offsets_of(_joined([column.sizes for column in columns], np.int64)),
        items=_joined([column.items for column in columns], np.int32),
        at=_joined([column.at for column in columns], np.float64),
        raw=None if weak == "stumps" else _raw_rankers([column.raw for column in columns]),
        n=n,
    )


@dataclass(frozen=True, eq=False)
class _Raw:
    """One feature itself; see ``RawRankers``."""

    items: Ints
    values: Floats
    others: float = 0.0
    low: float = 0.0
    high: float = 0.0


_NOT_RAW = _Raw(np.empty(0, dtype=np.int32), np.empty(0))


@dataclass(frozen=True, eq=False)
class _Column:
    """The weak rankers of one feature; see ``WeakRankers``."""

    feature: int
    missing: bool
    rest: int
    sizes: Index
    items: Ints
    at: Floats
    raw: _Raw


def _raw_rankers(columns: list[_Raw]) -> RawRankers:
    return RawRankers(
        offsets_of([len(column.items) for column in columns]),
        _joined([column.items for column in columns], np.int32),
        _joined([column.values for column in columns], np.float64),
        np.array([column.others for column in columns]),
        np.array([column.low for column in columns]),
        np.array([column.high for column in columns]),
    )


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype=dtype)


def _columns(
    features: Features, n: int, number: int | None, spacing: Spacing, weak: Weak
) -> Iterator[_Column]:
    """The features that have a weak ranker."""
    for j, (rows, values) in enumerate(features.by_column()):
        items = np.arange(len(values), dtype=np.int32) if rows is None else rows
        rising = np.sort(values)
        rising = rising[: np.searchsorted(rising, np.nan)]  # NaN is sorted last
        zeros = features.n_items - len(values)
        at = np.empty(0) if weak == "raw" else cuts(rising, zeros, number, spacing)
        inside = slice(int(np.searchsorted(items, n)))
        items, values = items[inside], values[inside]
        missing = bool(np.isnan(values).any())
        raw = _NOT_RAW if weak == "stumps" else _raw(items, values, rising, zeros)
        if len(at) or missing or len(raw.items):
            yield _grouped(j, items, values, n, at, missing and weak != "raw", missing, raw)


def _grouped(
    j: int, items: Ints, values: Floats, n: int, at: Floats, present: bool, missing: bool, raw: _Raw
) -> _Column:
    """The items of a feature, in groups by its thresholds."""
    m = len(at)
    group = m - np.searchsorted(at, values, side="right")
    group[np.isnan(values)] = m + 1
    sizes = np.bincount(group, minlength=m + 2)
    of_zero = m - int(np.searchsorted(at, 0.0, side="right"))
    rest = int(np.argmax(sizes)) if len(items) == n else of_zero
    kept = np.flatnonzero(group != rest)
    sizes[rest] = 0
    order = kept[np.argsort(group[kept], kind="stable")]
    limits = np.concatenate([at[::-1], [LOWEST if present else np.nan, np.nan]])
    return _Column(j, missing, rest, sizes, items[order], limits, raw)


def _raw(items: Ints, values: Floats, rising: Floats, zeros: int) -> _Raw:
    """The feature scaled into [0, 1]; no raw ranker if its range or the inverse of it overflows."""
    if len(rising) == 0:
        return _NOT_RAW
    low, high = (min(rising[0], 0.0), max(rising[-1], 0.0)) if zeros else (rising[0], rising[-1])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if not np.isfinite(1.0 / (high - low)) or high - low == np.inf:
            return _NOT_RAW
        others = -low / (high - low) if zeros else 0.0
        scaled = np.nan_to_num((values - low) / (high - low), nan=0.0) - others
    some = np.flatnonzero(scaled != 0)
    return _Raw(items[some], scaled[some], others, float(low), float(high))
