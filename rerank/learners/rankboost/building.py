"""Weak rankers made from features: the items of each feature are grouped by its thresholds once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Features
from rerank.learners.rankboost.cuts import LOWEST, Spacing, cuts
from rerank.learners.rankboost.rankers import RawRankers, WeakRankers
from rerank.native.learners import _rankboost_groups

Weak = Literal["stumps", "raw", "both"]


@dataclass(frozen=True)
class Grouping:
    """How weak rankers are made from features.

    Attributes
    ----------
    number, spacing
        Of thresholds; see ``cuts``.
    weak
        Thresholds, features themselves, or both.
    """

    number: int | None = None
    spacing: Spacing = "quantile"
    weak: Weak = "stumps"


def weak_rankers(features: Features, n: int, grouping: Grouping) -> WeakRankers:
    """Return the weak rankers of features.

    Parameters
    ----------
    features
        The features of the n items in pairs, then those of other items, which count for thresholds and ranges
        only.
    n
        The number of items in pairs.
    grouping
        How they are made.
    """
    columns = list(_columns(features, n, grouping))
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
        raw=None if grouping.weak == "stumps" else _raw_rankers([column.raw for column in columns]),
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


def _columns(features: Features, n: int, grouping: Grouping) -> Iterator[_Column]:
    """The features that have a weak ranker."""
    weak = grouping.weak
    for j, (rows, values) in enumerate(features.by_column()):
        items = np.arange(len(values), dtype=np.int32) if rows is None else rows
        order = np.argsort(values)  # NaN is last
        rising = values[order]
        rising = rising[: np.searchsorted(rising, np.nan)]
        zeros = features.n_items - len(values)
        at = (
            np.empty(0) if weak == "raw" else cuts(rising, zeros, grouping.number, grouping.spacing) + 0.0
        )  # -0 is 0
        inside = int(np.searchsorted(items, n))
        missing = bool(np.isnan(values[:inside]).any())
        raw = _NOT_RAW if weak == "stumps" else _raw(items[:inside], values[:inside], rising, zeros)
        if len(at) or missing or len(raw.items):
            yield _grouped(j, items[:inside], values, order, n, at, weak != "raw", missing, raw)


def _grouped(
    j: int,
    items: Ints,
    values: Floats,
    order: Index,
    n: int,
    at: Floats,
    present: bool,
    missing: bool,
    raw: _Raw,
) -> _Column:
    """The items of a feature, in groups by its thresholds."""
    m = len(at)
    group, sizes = np.empty(len(items), dtype=np.int32), np.zeros(m + 2, dtype=np.int64)
    _rankboost_groups.groups_of(values, order, at, group, sizes)
    of_zero = m - int(np.searchsorted(at, 0.0, side="right"))
    rest = int(np.argmax(sizes)) if len(items) == n else of_zero
    sizes[rest] = 0
    bounds = offsets_of(sizes)
    entries = np.empty(bounds[-1], dtype=np.int32)
    _rankboost_groups.gather(items, group, rest, bounds[:-1], entries)
    limits = np.concatenate([at[::-1], [LOWEST if present and missing else np.nan, np.nan]])
    return _Column(j, missing, rest, sizes, entries, limits, raw)


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
