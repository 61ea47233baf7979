"""Scaling of features: fitted on the training lists, kept in the model, applied to any lists.

``minmax``, ``zscore`` and ``rank`` take their statistics from all training items; ``list-minmax``,
``list-zscore`` and ``list-rank`` scale each list by itself and need no statistics.

- minmax: (x - least) / (largest - least). Values outside the training range are mapped outside [0, 1].
- zscore: (x - mean) / standard deviation (of the population, not of a sample).
- rank: the share of training values below x plus half the share equal to x, linear between training
  values, 0 below all and 1 above all. Exact at every training value if a feature has at most 1,001
  distinct ones; else interpolated between at most 1,001 of them, and off by at most 1 / 499.
- list-rank: (rank - 1) / (n - 1) in a list of n, 0 for the smallest value and 1 for the largest; equal
  values share the mean of their ranks. Not the formula of rank, which gives half a share to x itself.

A constant feature (its range is at most 8 roundings of its largest magnitude, or 1e-300) becomes 0, even if
it takes another value later: its scale is unknown. NaN stays NaN and is ignored by every statistic.

Sparse features are only divided, with absent values counted as zeros in the statistics: a shift would fill
the matrix, and a shift that is the same for all items of a list cancels in every difference within it.
Dense columns beside indicators are divided too, and the indicators stay 1: divided by its deviation, the
rarest one would weigh most. Ranks need a dense layout. The layout of fitting decides what is computed: lists
of another layout get the same values (sparse lists become dense if a shift was fitted).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct, field

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import AnyArray, Floats, Mask
from rerank.data.columns.offsets import are_bounds
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.npy import ArrayForm, large_array, release, row_blocks
from rerank.native.data import _scaling

AUTO = "auto"  # the learner's default
SCALINGS = {
    "none": "features as they are",
    "minmax": "(x - least) / (largest - least) of the training items",
    "zscore": "(x - mean) / standard deviation of the training items",
    "rank": "(training items below x + half of those equal to x) / training items",
    "list-minmax": "minmax within each list",
    "list-zscore": "zscore within each list",
    "list-rank": "(rank in the list - 1) / (items of the list - 1), the mean rank for equal values",
}
MAX_KNOTS = 1001
ROUNDINGS = 8.0

# The arrays of each fitted scaling; shift only if the lists were dense.
_ARRAYS: dict[str, dict[str, str]] = {
    "minmax": {"shift": "f8", "divisor": "f8"},
    "zscore": {"shift": "f8", "divisor": "f8"},
    "rank": {"bounds": "i8", "knots": "f8", "levels": "f8"},
}


class Scaling(Struct, frozen=True, eq=False):
    """One fitted scaling; ``fit_scaling`` makes it.

    Attributes
    ----------
    name : str, one of SCALINGS.
    n_features : int, the number of feature columns.
    shifts : bool, whether the lists it was fitted on were dense.
    values : mapping of str to array, for minmax and zscore ``divisor`` and (with shifts) ``shift`` by column;
        for rank ``bounds`` (n_features + 1) into ``knots`` and their ``levels``. For list-minmax and list-
        zscore of dense columns beside indicators ``places``: the columns that are scaled.
    """

    name: str
    n_features: int
    shifts: bool = True
    values: Mapping[str, AnyArray] = field(default_factory=dict)

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with scaled features, in new arrays; float32 stays float32.

        Features are matched by column. Raises DataError if the number of features differs from that of the
        training lists, or a scaled value overflows.

        lists : what is scaled.
        overwrite : if true, nothing else reads the features of ``lists`` later: an array in memory that may
            be written to is then scaled where it is, to the same values, and the features of ``lists`` are
            NaN afterwards. Arrays of a store are copied in any case.
        warn : not used.
        """
        if lists.n_features != self.n_features:
            raise DataError(
                f"{lists.source}: {lists.n_features} features, the scaling {self.name} "
                f"was fitted on {self.n_features}"
            )
        if self.name == "none":
            return lists
        features = lists.features
        if self.shifts and not isinstance(features, Dense):
            features = Dense(features.to_dense())
        overwrite = overwrite and isinstance(features, Dense) and features.values.flags.writeable
        if isinstance(features, Mixed):
            values = self._dense(lists, features.values, features.places)
            new: Features = replace(features, values=values, rows=self._rows(lists, features.rows))
        elif isinstance(features, Sparse):
            new = self._rows(lists, features)
        else:
            new = Dense(self._dense(lists, features.to_dense(), np.arange(self.n_features), overwrite))
        scaled = lists.with_values(new, f"scaling {self.name}")
        if overwrite:
            lists.give_up_features()
        return scaled

    def _dense(
        self, lists: CandidateLists, values: AnyArray, columns: AnyArray, overwrite: bool = False
    ) -> AnyArray:
        """Scaled values (n_items, n) of dense ``columns`` (n), with ``overwrite`` in the same array."""
        new = values
        if not overwrite and values.nbytes <= memory.SMALL:
            new = np.empty_like(values)
        elif not overwrite:
            new = large_array(values.shape, values.dtype, "scaled features")
        if self.name == "list-rank":
            _scaling.dense_list_ranks(values, lists.offsets, new)
        elif self.name == "rank":
            bounds, knots, levels = (self.values[key] for key in ("bounds", "knots", "levels"))
            for rows in row_blocks(values):
                for j in range(self.n_features):
                    part = slice(bounds[j], bounds[j + 1])
                    column = values[rows, j].astype(np.float64)  # NaN stays
                    flat = np.where(np.isnan(column), np.nan, 0.0)
                    ranks = np.interp(column, knots[part], levels[part], left=0.0, right=1.0)
                    new[rows, j] = flat if np.isnan(knots[part][0]) else ranks
                release(new[rows])
        elif self.name in _ARRAYS:
            divisor = self.values["divisor"][columns]
            shift = self.values["shift"] if self.shifts else divisor  # not read without shifts
            for rows in row_blocks(values):
                _scaling.dense_apply(values[rows], self.shifts, shift, divisor, new[rows])
                release(new[rows])
        else:
            how = self.name == "list-zscore", self.shifts, tolerance_of(values.dtype)
            work, kept = np.empty((6, len(columns))), ~self._scaled()[columns]
            for rows in row_blocks(values, lists.offsets):
                first, last = np.searchsorted(lists.offsets, (rows.start, rows.stop))
                offsets = lists.offsets[first : last + 1] - rows.start
                unscaled = values[rows, kept]  # a copy: ``new`` may be the same array
                at = _scaling.dense_lists(values[rows], offsets, *how, work, new[rows])
                _check_size(lists, int(columns[at]) if at >= 0 else -1, self.name)
                new[rows, kept] = unscaled
                release(new[rows])
        return new

    def _scaled(self) -> Mask:
        """Return the mask of scaled columns: all of them, or without the indicators beside dense columns."""
        out = np.full(self.n_features, "places" not in self.values)
        out[self.values.get("places", [])] = True
        return out

    def _rows(self, lists: CandidateLists, rows: Sparse) -> Sparse:
        """Scaled compressed rows, ``rows`` themselves if none of their columns is scaled."""
        divisor = self.values.get("divisor")
        scaled = (self._scaled() if divisor is None else divisor != 1)[rows.indices]
        if not scaled.any():
            return rows
        data, out = data_of(rows), np.empty(rows.n_values)
        if divisor is not None:
            _scaling.csr_apply(rows.indices, data, divisor, out)
        else:
            how = self.name == "list-zscore", tolerance_of(data.dtype)
            scratch = np.empty(self.n_features), np.empty((5, self.n_features))
            fixed = rows.indptr, rows.indices, data, lists.offsets
            _check_size(lists, _scaling.csr_lists(*fixed, *how, *scratch, out), self.name)
            out[~scaled] = data[~scaled]
        return replace(rows, data=out)

    def divisors(self, source: str) -> Floats:
        """Return what each feature is divided by, float64 (n_features), infinite if it is constant.

        Raises ConfigError, which begins with ``source``, if features are scaled within lists or by ranks.
        """
        if self.name == "none":
            return np.ones(self.n_features)
        if "divisor" not in self.values:
            text = f"scaling {self.name} has no fixed factor for each feature: use none, minmax, zscore"
            raise ConfigError(f"{source}: {text}")
        return self.values["divisor"]

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return weights of scaled features, float64 (n_features), that give the scores of raw ones.

        Scores are the same up to a constant for each list. Raises ConfigError, which begins with ``source``,
        if features are scaled within lists or by ranks, or a weight overflows.
        """
        divisor = self.divisors(f"initial weights {source}")
        known = np.isfinite(divisor)
        with np.errstate(over="ignore"):
            scaled = np.where(known, weights * np.where(known, divisor, 0.0), 0.0)
        if not np.isfinite(scaled).all():
            name = names[int(np.argmin(np.isfinite(scaled)))]
            raise ConfigError(f"{source}: the weight of {name!r} is too large for its scaled feature")
        return scaled

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
        left_out = "shift" if not shifts else "places"
        wanted = {key: kind for key, kind in _members(name).items() if key != left_out}
        if name not in _ARRAYS and "places" not in arrays:
            wanted = {}
        if set(arrays) != set(wanted):
            raise DataError(f"scaling {name}: found {sorted(arrays)}, expected {sorted(wanted)}")
        values = {key: np.ascontiguousarray(arrays[key]) for key in wanted}
        for key, array in values.items():
            if array.dtype != np.dtype(wanted[key]) or array.ndim != 1:
                raise DataError(f"scaling {name}: {key} is {array.ndim}-dimensional {array.dtype}")
        if not _fits(values, n_features):
            raise DataError(f"scaling {name}: arrays do not fit {n_features} features")
        if not _sound(values):
            raise DataError(f"scaling {name}: found numbers that no fit gives")
        return cls(name, n_features, shifts, values)


def array_forms(name: str, n_features: int) -> dict[str, ArrayForm]:
    """Return the form of every array that a saved scaling may have, by name."""
    lengths = {"shift": n_features, "divisor": n_features, "bounds": n_features + 1}
    return {key: ArrayForm(f"<{kind}", (lengths.get(key),)) for key, kind in _members(name).items()}


def _members(name: str) -> dict[str, str]:
    """The types of all arrays that a saved scaling may have, by name."""
    return _ARRAYS.get(name, {"places": "i8"} if name in ("list-minmax", "list-zscore") else {})


def fit_scaling(name: str, lists: CandidateLists) -> Scaling:
    """Return the scaling called ``name``, with the statistics of ``lists``.

    Raises ConfigError if the name is unknown, or ranks of sparse features are asked for; DataError if values
    are so large that their range or sum is not a float64.
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
    beside = features.places if isinstance(features, Mixed) and features.rows.data is None else None
    if name not in _ARRAYS:
        return Scaling(name, d, dense, {} if beside is None else {"places": beside.astype(np.int64)})
    if isinstance(features, Dense) and name == "rank":
        return Scaling(name, d, dense, _fit_ranks(lists, features))
    how = name == "zscore", tolerance_of(features.dtype)
    memory.require(8 * 7 * d, f"the statistics of {d:,} features", "fewer features need less")
    shift, divisor = np.zeros(d), np.full(d, np.inf if beside is None else 1.0)
    if isinstance(features, Dense):
        column = _scaling.dense_fit(features.values, *how, shift, divisor, np.empty((5, d)))
    elif isinstance(features, Mixed) and beside is not None:
        parts = np.empty((6, len(beside)))
        column = _scaling.dense_fit(features.values, *how, parts[4], parts[5], parts[:4])
        column, divisor[beside] = (int(beside[column]) if column >= 0 else -1), parts[5]
    else:
        rows = features.compressed()
        column = _scaling.csr_fit(rows.indptr, rows.indices, data_of(rows), *how, divisor, np.empty((5, d)))
    _check_size(lists, column, name)
    return Scaling(name, d, dense, {"divisor": divisor, "shift": shift} if dense else {"divisor": divisor})


def _fit_ranks(lists: CandidateLists, features: Dense) -> dict[str, AnyArray]:
    """Knots and levels of every column; a constant column has the one knot NaN."""
    knots: list[Floats] = []
    levels: list[Floats] = []
    tolerance = tolerance_of(features.dtype)
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


def _fits(values: Mapping[str, AnyArray], n_features: int) -> bool:
    """Return whether fitted arrays have the right lengths, so that no kernel reads past them."""
    if "places" in values:
        return bool(np.all((values["places"] >= 0) & (values["places"] < n_features)))
    if "bounds" not in values:
        return all(len(array) == n_features for array in values.values())
    bounds, knots, levels = values["bounds"], values["knots"], values["levels"]
    return (
        len(bounds) == n_features + 1
        and are_bounds(bounds, len(knots), empty=False)
        and len(knots) == len(levels)
    )


def _sound(values: Mapping[str, AnyArray]) -> bool:
    """Return whether the numbers of fitted arrays that fit each other can be a scaling."""
    if "bounds" not in values:
        return bool(
            np.all(values.get("divisor", np.ones(1)) > 0) and np.all(np.isfinite(values.get("shift", 0)))
        )
    bounds, knots, levels = values["bounds"], values["knots"], values["levels"]
    first = np.zeros(len(knots), dtype=bool)
    first[bounds[:-1]] = True
    alone = np.repeat(np.diff(bounds) == 1, np.diff(bounds))  # NaN: a constant column
    rising = first[1:] | ((knots[1:] > knots[:-1]) & (levels[1:] >= levels[:-1]))
    return bool(
        np.all(np.isfinite(knots) | (np.isnan(knots) & alone))
        and np.all(rising)
        and np.all((levels >= 0) & (levels <= 1))
    )


def tolerance_of(dtype: np.dtype[Any]) -> float:
    """Return the range, relative to the largest magnitude, up to which a column counts as constant."""
    return ROUNDINGS * float(np.finfo(dtype).eps)


def data_of(features: Sparse) -> Floats:
    """Return the values (n_values) of compressed rows, ones for indicators."""
    return np.ones(features.n_values) if features.data is None else features.data


def _check_size(lists: CandidateLists, column: int, name: str) -> None:
    if column >= 0:
        raise DataError(
            f"{lists.source}: feature {lists.names()[column]!r} has values too large for scaling {name}"
        )
