"""Scaling of features: fitted on the training lists, kept in the model, applied to any lists.

``minmax``, ``zscore`` and ``rank`` take their statistics from all training items; ``list-minmax``,
``list-zscore`` and ``list-rank`` scale each list by itself and need no statistics.

- minmax: (x - least) / (largest - least). Values outside the training range are mapped outside [0, 1].
- zscore: (x - mean) / standard deviation (of the population, not of a sample).
- rank: the share of training values below x plus half the share equal to x, linear between training
  values, 0 below all and 1 above all. Exact at every training value if a feature has at most 1,001
  distinct ones; else interpolated between at most 1,001 of them, and off by at most 1 / 499.
- list-rank: the rank in the list (equal values share the mean of theirs), 0 the least, 1 the largest.

A constant feature (its range is at most 8 roundings of its largest magnitude, or 1e-300) becomes 0, even if
it takes another value later: its scale is unknown. NaN stays NaN and is ignored by every statistic.

Sparse features are only divided, with absent values counted as zeros in the statistics: a shift would fill
the matrix, and a shift that is the same for all items of a list cancels in every difference within it.
Ranks need a dense layout. The layout of fitting decides what is computed: lists of the other layout get the
same values (CSR lists become dense if a shift was fitted).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rerank.data.columns.offsets import are_bounds
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import AnyArray, Floats
from rerank.errors import ConfigError, DataError
from rerank.native.data import _scaling
from rerank.registry import did_you_mean

SCALINGS = {
    "none": "features as they are",
    "minmax": "(x - least) / (largest - least) of the training items",
    "zscore": "(x - mean) / standard deviation of the training items",
    "rank": "share of the training items below x, ties half",
    "list-minmax": "minmax within each list",
    "list-zscore": "zscore within each list",
    "list-rank": "rank within each list",
}
MAX_KNOTS = 1001
ROUNDINGS = 8.0

# The arrays of each fitted scaling; shift only if the lists were dense.
_ARRAYS = {
    "minmax": {"shift": "f8", "divisor": "f8"},
    "zscore": {"shift": "f8", "divisor": "f8"},
    "rank": {"bounds": "i8", "knots": "f8", "levels": "f8"},
}


@dataclass(frozen=True, eq=False)
class Scaling:
    """One fitted scaling; ``fit_scaling`` makes it.

    Attributes
    ----------
    name : str
        One of SCALINGS.
    n_features : int
        The number of feature columns.
    shifts : bool
        Whether the lists it was fitted on were dense.
    values : mapping of str to array
        For minmax and zscore ``divisor`` and (with shifts) ``shift`` by column; for rank ``bounds``
        (n_features + 1) into ``knots`` and their ``levels``.
    """

    name: str
    n_features: int
    shifts: bool = True
    values: Mapping[str, AnyArray] = field(default_factory=dict)

    def apply(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with scaled features, in new arrays; float32 stays float32.

        Features are matched by column. Raises DataError if their number differs from the training lists',
        or a scaled value overflows.
        """
        if lists.n_features != self.n_features:
            raise DataError(
                f"{lists.source}: {lists.n_features} features, the scaling {self.name} "
                f"was fitted on {self.n_features}"
            )
        if self.name == "none":
            return lists
        features = lists.features
        if not isinstance(features, Dense):
            features = Dense(features.to_dense()) if self.shifts else features.compressed()
        if self.name in _ARRAYS:
            scaled = self._apply_fitted(features)
        else:
            scaled = self._apply_by_list(lists, features)
        try:
            return replace(lists, features=scaled)
        except DataError as error:
            raise DataError(f"{lists.source}: after scaling {self.name}: {error}") from None

    def _apply_fitted(self, features: Dense | Sparse) -> Features:
        if isinstance(features, Sparse):
            out = np.empty(features.n_values)
            _scaling.csr_apply(features.indices, _data_of(features), self.values["divisor"], out)
            return replace(features, data=out)
        new = np.empty_like(features.values)
        if self.name == "rank":
            bounds, knots, levels = (self.values[key] for key in ("bounds", "knots", "levels"))
            for j in range(self.n_features):
                part = slice(bounds[j], bounds[j + 1])
                new[:, j] = _levels_of(features.values[:, j], knots[part], levels[part])
        else:
            divisor = self.values["divisor"]
            shift = self.values.get("shift", divisor)  # not read without shifts
            _scaling.dense_apply(features.values, self.shifts, shift, divisor, new)
        return Dense(new)

    def _apply_by_list(self, lists: CandidateLists, features: Dense | Sparse) -> Features:
        zscore = self.name == "list-zscore"
        d = features.n_features
        tolerance = _tolerance(features)
        if isinstance(features, Sparse):
            out = np.empty(features.n_values)
            indptr, indices, data = features.indptr, features.indices, _data_of(features)
            scratch = np.empty(d), np.empty((5, d))
            column = _scaling.csr_lists(
                indptr, indices, data, lists.offsets, zscore, tolerance, *scratch, out
            )
            _check_size(lists, column, self.name)
            return replace(features, data=out)
        new = np.empty_like(features.values)
        if self.name == "list-rank":
            longest = int(lists.lengths.max())
            rows, order, spare = np.empty((3, longest), dtype=np.int32)
            _scaling.dense_list_ranks(
                features.values, lists.offsets, np.empty(longest), rows, order, spare, new
            )
            return Dense(new)
        column = _scaling.dense_lists(
            features.values, lists.offsets, zscore, self.shifts, tolerance, np.empty((6, d)), new
        )
        _check_size(lists, column, self.name)
        return Dense(new)

    def to_meta(self) -> dict[str, Any]:
        """Return what a model file keeps as JSON; ``arrays`` is the rest."""
        return {"name": self.name, "n_features": self.n_features, "shifts": self.shifts}

    def arrays(self) -> dict[str, AnyArray]:
        """Return what a model file keeps as arrays, by name."""
        return dict(self.values)

    @classmethod
    def restore(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Scaling:
        """Return the scaling that gave ``meta`` and ``arrays``; raise DataError if they do not fit."""
        name, n_features, shifts = (meta.get(key) for key in ("name", "n_features", "shifts"))
        if name not in SCALINGS or type(n_features) is not int or n_features < 0 or type(shifts) is not bool:
            raise DataError(f"not the description of a scaling: {dict(meta)}")
        wanted = _ARRAYS.get(name, {})
        if not shifts:
            wanted = {key: kind for key, kind in wanted.items() if key != "shift"}
        if set(arrays) != set(wanted):
            raise DataError(f"scaling {name}: found {sorted(arrays)}, expected {sorted(wanted)}")
        values = {key: np.ascontiguousarray(arrays[key]) for key in wanted}
        for key, array in values.items():
            if array.dtype != np.dtype(wanted[key]) or array.ndim != 1:
                raise DataError(f"scaling {name}: {key} is {array.ndim}-dimensional {array.dtype}")
        if not _fits(values, n_features):
            raise DataError(f"scaling {name}: arrays do not fit {n_features} features")
        return cls(name, n_features, shifts, values)


def fit_scaling(name: str, lists: CandidateLists) -> Scaling:
    """Return the scaling called ``name``, with the statistics of ``lists``.

    Raises
    ------
    ConfigError
        If the name is unknown, or ranks of sparse features are asked for.
    DataError
        If values are so large that their range or sum is not a float64.
    """
    if name not in SCALINGS:
        raise ConfigError(f"unknown scaling {name!r}; {did_you_mean(name, SCALINGS)}")
    features = lists.features
    d = features.n_features
    dense = isinstance(features, Dense)
    if name in ("rank", "list-rank") and not dense:
        raise ConfigError(
            f"scaling {name} needs dense features, these are sparse: load them with --layout dense"
        )
    if name not in _ARRAYS:
        return Scaling(name, d, dense)
    if isinstance(features, Dense) and name == "rank":
        return Scaling(name, d, dense, _fit_ranks(lists, features))
    divisor = np.full(d, np.inf)
    work = np.empty((5, d))
    values: dict[str, AnyArray] = {"divisor": divisor}
    zscore = name == "zscore"
    tolerance = _tolerance(features)
    if isinstance(features, Dense):
        values["shift"] = np.zeros(d)
        column = _scaling.dense_fit(features.values, zscore, tolerance, values["shift"], divisor, work)
    else:
        rows = features.compressed()
        column = _scaling.csr_fit(rows.indptr, rows.indices, _data_of(rows), zscore, tolerance, divisor, work)
    _check_size(lists, column, name)
    return Scaling(name, d, dense, values)


def _fit_ranks(lists: CandidateLists, features: Dense) -> dict[str, AnyArray]:
    """Knots and levels of every column; a constant column has the one knot NaN."""
    knots: list[Floats] = []
    levels: list[Floats] = []
    tolerance = _tolerance(features)
    for j in range(features.n_features):
        column = features.column(j)
        column = column[~np.isnan(column)]
        values, counts = np.unique(column, return_counts=True)
        values = values + 0.0  # no -0.0: np.unique does not define which of two zeros it keeps
        low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
        _check_size(lists, j if high - low == np.inf else -1, "rank")
        if _scaling.divisor_of(low, high, tolerance) == np.inf:
            knots.append(np.array([np.nan]))
            levels.append(np.zeros(1))
            continue
        mid = (np.cumsum(counts) - 0.5 * counts) / len(column)
        if len(values) > MAX_KNOTS:
            # The first value at or above each of 499 levels, and the one before it: two knots are
            # then neighbours among the values, or less than 1 / 499 apart.
            at = np.searchsorted(mid, np.arange(1, 499) / 499)
            ends = np.array([0, len(values) - 1])
            at = np.unique(np.concatenate([np.minimum(at, ends[1]), np.maximum(at - 1, 0), ends]))
            values, mid = values[at], mid[at]
        knots.append(values)
        levels.append(mid)
    bounds = np.zeros(len(knots) + 1, dtype=np.int64)
    np.cumsum([len(k) for k in knots], out=bounds[1:])
    empty = np.empty(0)
    return {
        "bounds": bounds,
        "knots": np.concatenate([*knots, empty]),
        "levels": np.concatenate([*levels, empty]),
    }


def _levels_of(column: AnyArray, knots: Floats, levels: Floats) -> Floats:
    """Ranks of the values of one column (n_items); NaN stays NaN."""
    values = column.astype(np.float64)
    if np.isnan(knots[0]):
        return np.where(np.isnan(values), np.nan, 0.0)
    return np.interp(values, knots, levels, left=0.0, right=1.0)


def _fits(values: Mapping[str, AnyArray], n_features: int) -> bool:
    """Whether fitted arrays have the right lengths, so that no kernel reads past them."""
    if "bounds" not in values:
        return all(len(array) == n_features for array in values.values())
    bounds, knots, levels = values["bounds"], values["knots"], values["levels"]
    return (
        len(bounds) == n_features + 1
        and are_bounds(bounds, len(knots), empty=False)
        and len(knots) == len(levels)
    )


def _tolerance(features: Features) -> float:
    """The relative range up to which a column counts as constant."""
    return ROUNDINGS * float(np.finfo(features.dtype).eps)


def _data_of(features: Sparse) -> Floats:
    """The values of a CSR matrix, ones for indicators."""
    return np.ones(features.n_values) if features.data is None else features.data


def _check_size(lists: CandidateLists, column: int, name: str) -> None:
    if column >= 0:
        raise DataError(
            f"{lists.source}: feature {lists.names()[column]!r} has values too large for scaling {name}"
        )
