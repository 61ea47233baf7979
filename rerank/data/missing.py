"""Missing feature values: what takes their place, fitted on the training lists, kept in the model.

- error: a missing value is an error.
- nan: they stay missing (NaN), for learners that accept that.
- zero: 0 among the scaled values.
- mean: the feature's mean over the training items that have a value.
- list-mean: the mean of the values that the list's other items have; without any, the training mean.
- list-min: the smallest scaled value that the list's other items have; without any, 0.
- indicator: as mean, and for each feature that some training items lack a further one, ``NAME?missing``: 1
  for an item that lacks it, else 0.

Raw values are filled; the scaling that follows sees the filled ones, and scales indicators like other
features. list-min and zero fill scaled values: the scaling sees only values that are there. By list-min an
item that a run did not return is never above one that it returned. Models of old releases fill zero first.
A feature without any value in training becomes 0, even if it takes a value later: its weight is unknown.
Means need dense features, since an absent value of sparse ones is 0 by definition. Base scores are never
filled: an item without one is an error for what needs them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct, field

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse, require_dense
from rerank.data.npy import ArrayForm
from rerank.data.reading import FITTED

POLICIES = {
    "error": "a missing value is an error",
    "nan": "kept as NaN, for learners that accept it",
    "zero": "0, after scaling",
    "mean": "the feature's mean over the training items",
    "list-mean": "the mean of the list's other items, else the training mean",
    "list-min": "after scaling the smallest value of the list's other items, else 0",
    "indicator": "as mean, and a feature NAME?missing that is 1 where a value is missing",
}
FILLS = "--missing mean, list-mean, list-min, indicator or zero fills missing values"
FILLS_IN_TRAINING = f"in training, {FILLS}"
_HALF = float(np.finfo(np.float64).max) / 2  # of sums that do not overflow
_SUFFIX = "?missing"
_FORMS = {"means": "<f8", "counts": "<i8"}
AFTER_SCALING = ("list-min", "zero")


def fill_of(policy: str | None) -> float:
    """Return what a column is taken as that dense lists lack: missing (NaN), if the policy treats that."""
    return 0.0 if policy is None else np.nan


class Imputation(Struct, frozen=True, eq=False):
    """Fill values of missing features; ``fit_missing`` makes it.

    Attributes
    ----------
    name : str, one of POLICIES.
    n_features : int, the number of feature columns without indicators.
    n_items : int, the number of training items.
    values : mapping of str to array, for the policies that are fitted ``means``, float64 (n_features), NaN
        for a feature without any value, and ``counts``, int64 (n_features): the training items that lack it.
    after : bool, whether scaled values are filled.
    negative : int64, the columns that some training items lack, and of others are below 0; for zero only.
    """

    name: str
    n_features: int
    n_items: int
    values: Mapping[str, AnyArray] = field(default_factory=dict)
    after: bool = False
    negative: Index = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def indicated(self) -> Index:
        """The columns with an indicator, which follow all others: int64."""
        if self.name != "indicator":
            return np.empty(0, dtype=np.int64)
        counts = self.values["counts"]
        return np.flatnonzero((counts > 0) & (counts < self.n_items))

    @property
    def width(self) -> int:
        """The number of columns with indicators."""
        return self.n_features + len(self.indicated)

    @property
    def absent(self) -> float:
        """Return the value of a column that dense lists lack."""
        return 0.0 if self.name == "zero" and not self.after else np.nan

    def indicators(self, names: Sequence[str]) -> list[str]:
        """Return the names of the indicators of features ``names`` (n_features)."""
        return [f"{names[j]}{_SUFFIX}" for j in self.indicated.tolist() if j < len(names)]

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return weights of filled features, float64 (width): those of raw ones, and 0 for each indicator."""
        return np.append(weights, np.zeros(len(self.indicated)))

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with filled features and indicators, in new arrays; float32 stays float32.

        Features are matched by column; none are overwritten. With ``warn`` a DataNote names features that are
        missing without an indicator for them. Raises DataError if a value is missing and the policy is
        "error", the number of features differs from the training lists', an indicator's name is taken, or a
        mean overflows.
        """
        if lists.n_features != self.n_features:
            found = f"{lists.source}: {lists.n_features} features"
            raise DataError(f"{found}, missing={self.name} was fitted on {self.n_features}")
        if self.name == "error":
            check_complete(lists)
        if self.name in ("error", "nan"):
            return lists
        if self.name == "zero":
            return with_zeros(lists)
        empty = np.isnan(self.values["means"])
        if not (lists.has_missing or empty.any() or len(self.indicated)):
            return lists
        features, names = lists.features, lists.names()
        added = self.indicators(names)
        taken = next((name for name in added if name in names), None)
        if taken is not None:
            raise DataError(f"{lists.source}: feature {taken!r} has the name of an indicator; rename it")
        require_dense(lists.n_items, self.width, features.dtype)
        values = np.empty((lists.n_items, self.width), dtype=features.dtype)
        values[:, : self.n_features] = features.to_dense()
        gone = np.isnan(values[:, : self.n_features])
        values[:, self.n_features :] = gone[:, self.indicated]
        for j in np.flatnonzero(gone.any(axis=0)).tolist():
            fill = self.values["means"][j]
            if self.name == "list-mean":
                fill = list_means(values[:, j], gone[:, j], lists.offsets, fill)[gone[:, j]]
            elif self.name == "list-min":
                least = np.fmin.reduceat(values[:, j], lists.offsets[:-1])
                fill = np.nan_to_num(least)[lists.list_index[gone[:, j]]]
            values[gone[:, j], j] = fill
        values[:, np.flatnonzero(empty)] = 0.0
        new = np.flatnonzero(gone.any(axis=0) & (self.values["counts"] == 0))
        if warn and self.name == "indicator" and len(new):
            what = f"{count(len(new), 'feature')} ({some([names[j] for j in new.tolist()])})"
            text = f"{lists.source}: values of {what} are missing, but none was in training: no indicator"
            warnings.warn(text, DataNote, stacklevel=3)
        new_names = [*names, *added] if added else lists.feature_names
        return replace(lists, features=Dense(values), feature_names=new_names)

    def rows(self, names: Sequence[str]) -> list[tuple[str, float, int]]:
        """Return each feature that training items lack: its name, its mean, and how many lack it."""
        if not self.values:
            return []
        means, counts = self.values["means"], self.values["counts"]
        return [(names[j], float(means[j]), int(counts[j])) for j in np.flatnonzero(counts).tolist()]

    def to_meta(self) -> dict[str, Any]:
        """Return what a model file keeps as JSON; ``arrays`` is the rest."""
        meta = {"name": self.name, "n_features": self.n_features, "n_items": self.n_items}
        return meta | {"after": True} if self.name == "zero" and self.after else meta

    def arrays(self) -> dict[str, AnyArray]:
        """Return what a model file keeps as arrays, by name."""
        return dict(self.values)

    @classmethod
    def restore(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Imputation:
        """Return what gave ``meta`` and ``arrays``; raise DataError if they do not fit each other."""
        name = meta["name"]
        after = bool(meta.get("after")) if name == "zero" else name in AFTER_SCALING
        found = cls(name, meta["n_features"], meta["n_items"], dict(arrays), after)
        if set(arrays) != set(array_forms(found.name, found.n_features)):
            raise DataError(f"missing={found.name}: found the arrays {sorted(arrays)}")
        if not arrays:
            return found
        means, counts = arrays["means"], arrays["counts"]
        sound = (counts >= 0) & (counts <= found.n_items) & ~np.isinf(means)
        if not np.all(sound & (np.isnan(means) == (counts == found.n_items))):
            raise DataError(f"missing={found.name}: found numbers that no fit gives")
        return found


def array_forms(name: str, n_features: int) -> dict[str, ArrayForm]:
    """Return the form of every array that a saved imputation has, by name; DataError if it is unknown."""
    if name not in POLICIES:
        raise DataError(f"not the description of an imputation: {name!r}")
    return {key: ArrayForm(kind, (n_features,)) for key, kind in _FORMS.items() if name in FITTED}


def fit_missing(name: str, lists: CandidateLists) -> Imputation:
    """Return the policy called ``name``, with the means of ``lists``.

    Raises ConfigError if the name is unknown, or means of sparse features are asked for.
    """
    check_policy(name)
    n = lists.n_features
    if name not in FITTED:
        columns = enumerate(lists.features.columns()) if name == "zero" and lists.has_missing else ()
        low = [j for j, column in columns if np.isnan(column).any() and np.fmin.reduce(column) < 0]
        return Imputation(name, n, lists.n_items, {}, name == "zero", np.array(low, dtype=np.int64))
    if not isinstance(lists.features, Dense):
        found = f"{lists.source} has {lists.features.layout} features, of which an absent value is 0"
        raise ConfigError(f"missing={name}: {found}; expected dense ones (--layout dense), zero or nan")
    memory.require(16 * n, f"the means of {n:,} features", "fewer features need less")
    means, counts = np.empty(n), np.empty(n, dtype=np.int64)
    for j in range(n):
        column = lists.features.column(j)
        known = column[~np.isnan(column)]
        means[j], counts[j] = _mean(known), len(column) - len(known)
    return Imputation(name, n, lists.n_items, {"means": means, "counts": counts}, name in AFTER_SCALING)


def note_fills(fitted: Imputation, lists: CandidateLists) -> None:
    """Warn if training lists have no value of a feature, or a 0 for a missing one is above others."""
    if len(fitted.negative):
        what = some([lists.names()[j] for j in fitted.negative.tolist()])
        text = f"{lists.source}: missing=zero: 0 is above some scaled values of {what}; list-min never is"
        warnings.warn(text, DataNote, stacklevel=3)
    empty = np.flatnonzero(np.isnan(fitted.values.get("means", np.empty(0))))
    if len(empty):
        names = lists.names()
        what = f"{count(len(empty), 'feature')} ({some([names[j] for j in empty.tolist()])})"
        text = f"{lists.source}: no item has a value of {what}: taken as 0, also at prediction"
        warnings.warn(text, DataNote, stacklevel=3)


def _mean(known: Floats) -> float:
    """The mean of finite values, which is never infinite; NaN without any."""
    if not len(known):
        return np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        mean = known.mean()
    if not np.isfinite(mean):
        mean = 2.0 * np.clip((known / (2.0 * len(known))).sum(), -_HALF, _HALF)
    return float(np.clip(mean, known.min(), known.max()))


def list_means(column: AnyArray, gone: AnyArray, offsets: Index, default: float) -> Floats:
    """Return the mean of each item's list over its known values, ``default`` for a list without any.

    column : float (n_items)
    gone : bool (n_items), whether a value is not known; it is not looked at.
    offsets : int64 (n_lists + 1)
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    known = np.where(gone, 0.0, column.astype(np.float64))
    sizes = np.add.reduceat(~gone, starts, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.add.reduceat(known, starts) / np.maximum(sizes, 1)
    if not np.isfinite(means).all():
        halves = np.add.reduceat(known / np.repeat(2.0 * np.maximum(sizes, 1), lengths), starts)
        means = np.where(np.isfinite(means), means, 2.0 * np.clip(halves, -_HALF, _HALF))
    return np.repeat(np.where(sizes == 0, default, means), lengths)


def check_policy(name: str) -> None:
    """Raise ConfigError if a policy is unknown; the error names the nearest one."""
    if name not in POLICIES:
        raise ConfigError(f"unknown missing {name!r}; {did_you_mean(name, POLICIES)}")


def check_complete(lists: CandidateLists) -> None:
    """Raise DataError with the first missing value, their number and what accepts them."""
    if lists.has_missing:
        keeps = "--missing nan keeps them for learners that accept them"
        raise DataError(f"{lists.source}: {first_missing(lists)}; {FILLS_IN_TRAINING}, {keeps}")


def first_missing(lists: CandidateLists) -> str:
    """Return which value is the first that is missing, and how many are, for messages."""
    n_missing, n_columns, first = 0, 0, (lists.n_items, 0)
    for j, column in enumerate(lists.features.columns()):
        gone = np.flatnonzero(np.isnan(column))
        if len(gone):
            n_missing, n_columns = n_missing + len(gone), n_columns + 1
            first = min(first, (int(gone[0]), j))
    item, j = first
    total = f"{n_missing:,} of {lists.n_items * lists.n_features:,} values are missing"
    columns = count(n_columns, "feature")
    return f"{total} (NaN), of {columns}; the first is {lists.names()[j]!r} of {lists.place_of(item)}"


def with_zeros(lists: CandidateLists) -> CandidateLists:
    """Return the lists with 0 for missing values."""
    if not lists.has_missing:
        return lists
    return replace(lists, features=zeros_for_missing(lists.features))


def zeros_for_missing(features: Features) -> Features:
    """Return the features with 0 for those that are missing."""
    if isinstance(features, Dense):
        return Dense(_zeroed(features.values))
    if isinstance(features, Mixed):
        return replace(features, values=_zeroed(features.values), rows=_zeroed_rows(features.rows))
    assert isinstance(features, Sparse)
    return _zeroed_rows(features)


def _zeroed_rows(rows: Sparse) -> Sparse:
    return rows if rows.data is None else replace(rows, data=_zeroed(rows.data))


def _zeroed(values: AnyArray) -> AnyArray:
    return np.where(np.isnan(values), values.dtype.type(0), values)
