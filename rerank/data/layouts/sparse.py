"""Sparse features: compressed rows, and compressed rows with a few dense columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.columns.offsets import are_bounds, offsets_of, places_of
from rerank.data.layouts.base import Features, NotFiniteError, require_dense, with_multiple
from rerank.native.data import _matrix

_FLOAT64 = np.dtype(np.float64)
MAX_FEATURES = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, eq=False, slots=True)
class Sparse(Features):
    """Compressed rows (CSR): int64 indptr (n_items + 1), int32 indices, float64 data or None.

    Indices rise strictly within a row. ``data`` None means that every listed feature is 1.
    """

    indptr: Index
    indices: Ints
    data: Floats | None
    n_features: int

    layout: ClassVar[str] = "sparse"

    @property
    def n_items(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_values(self) -> int:
        return len(self.indices)

    def check(self, nan_allowed: bool) -> bool:
        for array, dtype in ((self.indptr, np.int64), (self.indices, np.int32)):
            if array.ndim != 1 or array.dtype != dtype or not array.flags.c_contiguous:
                raise DataError(f"CSR features: expected a contiguous {np.dtype(dtype)} vector")
        if not are_bounds(self.indptr, len(self.indices)):
            raise DataError("CSR features: indptr must run from 0 to the number of values and must not fall")
        if not 0 <= self.n_features <= MAX_FEATURES:
            raise DataError(f"CSR features: found {self.n_features} columns, expected {MAX_FEATURES} at most")
        row = _matrix.csr_fault(self.indptr, self.indices, self.n_features)
        if row >= 0:
            raise DataError(
                f"CSR features: indices of item {row} are not rising within 0..{self.n_features - 1}"
            )
        if self.data is None:
            return False
        right = self.data.dtype == np.float64 and self.data.shape == self.indices.shape
        if not right or not self.data.flags.c_contiguous:
            raise DataError("CSR features: data must be contiguous float64 and as long as indices")
        fault, any_nan = _matrix.value_fault(self.data, nan_allowed)
        if fault >= 0:
            row = int(np.searchsorted(self.indptr, fault, side="right")) - 1
            raise NotFiniteError(row, int(self.indices[fault]), self.data[fault])
        return any_nan

    def matrix(self) -> Any:
        return _matrix.Matrix(
            self.n_items, self.n_features, indptr=self.indptr, indices=self.indices, data=self.data
        )

    def take(self, rows: Index | slice) -> Sparse:
        if isinstance(rows, slice):
            rows = np.arange(self.n_items, dtype=np.int64)[rows]
        source, indptr = places_of(self.indptr, rows)
        data = None if self.data is None else self.data[source]
        return Sparse(indptr, self.indices[source], data, self.n_features)

    def column(self, j: int) -> Floats:
        at = np.flatnonzero(self.indices == j)
        out = np.zeros(self.n_items)
        out[np.searchsorted(self.indptr, at, side="right") - 1] = 1.0 if self.data is None else self.data[at]
        return out

    def by_column(self) -> Iterator[tuple[Ints | None, Floats]]:
        order = np.argsort(self.indices, kind="stable")
        rows = np.repeat(np.arange(self.n_items, dtype=np.int32), np.diff(self.indptr))[order]
        values = np.ones(len(order)) if self.data is None else self.data[order]
        bounds = np.searchsorted(self.indices[order], np.arange(self.n_features + 1))
        for first, last in itertools.pairwise(bounds.tolist()):
            yield rows[first:last], values[first:last]

    def select(self, columns: Index, n_features: int) -> Sparse:
        places, kept = columns.astype(np.int32), columns[columns >= 0]
        indptr = np.empty(self.n_items + 1, dtype=np.int64)
        _matrix.kept_bounds(self.indptr, self.indices, places, indptr)
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = None if self.data is None else np.empty(indptr[-1])
        _matrix.keep_values(self.indices, self.data, places, indices, data)
        if np.any(kept[1:] < kept[:-1]):
            row = np.repeat(np.arange(self.n_items, dtype=np.int64), np.diff(indptr))
            order = np.lexsort((indices, row))
            indices, data = indices[order], None if data is None else data[order]
        return Sparse(indptr, indices, data, n_features)

    def with_columns(self, values: Floats) -> Mixed:
        return Mixed(np.empty((self.n_items, 0)), np.empty(0, dtype=np.int32), self).with_columns(values)

    def multiplied(self, column: int, factor: float) -> Sparse:
        memory.require(8 * self.n_values, f"{self.n_values:,} values of sparse features")
        data = np.ones(self.n_values) if self.data is None else self.data
        return replace(self, data=with_multiple(data, self.indices == column, factor))

    def occurring(self) -> Index:
        return np.flatnonzero(np.bincount(self.indices, minlength=self.n_features)).astype(np.int64)

    def largest(self) -> float:
        if self.data is None:
            return float(self.n_values > 0)
        return max(float(self.data.max(initial=0)), -float(self.data.min(initial=0)))

    def to_dense(self, dtype: np.dtype[Any] = _FLOAT64, absent: float = 0.0) -> AnyArray:
        """Return the features as an array (n_items, n_features); what is not stored is ``absent``."""
        require_dense(self.n_items, self.n_features, dtype)
        out = np.full((self.n_items, self.n_features), absent, dtype=dtype)
        rows = np.repeat(np.arange(self.n_items), np.diff(self.indptr))
        out[rows, self.indices] = 1.0 if self.data is None else self.data
        return out

    def compressed(self) -> Sparse:
        return self

    def arrays(self) -> dict[str, AnyArray | None]:
        return {"indptr": self.indptr, "indices": self.indices, "data": self.data}

    def describe(self) -> str:
        cells = self.n_items * max(self.n_features, 1)
        kind = "indicators" if self.data is None else "values"
        return f"sparse, {self.n_values} {kind} ({self.n_values / cells:.2%})"


@dataclass(frozen=True, eq=False, slots=True)
class Mixed(Features):
    """A few dense columns and compressed rows, which may be indicators.

    A column of real numbers among millions of ones costs 8 bytes per item, and the ones stay 4 bytes each.

    Parameters
    ----------
    values : float64 (n_items, n), C-contiguous, the dense columns.
    places : int32 (n), rising, the column that each of them is.
    rows : Sparse, all other columns; its numbers of columns are those of the whole matrix.
    """

    values: Floats
    places: Ints
    rows: Sparse

    layout: ClassVar[str] = "mixed"

    @property
    def n_items(self) -> int:
        return self.rows.n_items

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    @property
    def n_values(self) -> int:
        return int(self.values.size) + self.rows.n_values

    def check(self, nan_allowed: bool) -> bool:
        any_nan = self.rows.check(nan_allowed)
        values, places = self.values, self.places
        if values.dtype != np.float64 or values.ndim != 2 or not values.flags.c_contiguous:
            raise DataError("mixed features: dense columns must be a C-contiguous float64 array")
        if places.dtype != np.int32 or places.shape != values.shape[1:] or not places.flags.c_contiguous:
            raise DataError("mixed features: places must be contiguous int32, one for each dense column")
        if len(values) != self.n_items:
            raise DataError(f"mixed features: {len(values)} dense rows, but {self.n_items} sparse ones")
        rising = not np.any(places[1:] <= places[:-1])
        if len(places) and not (rising and places[0] >= 0 and places[-1] < self.n_features):
            raise DataError(f"mixed features: places must rise within 0..{self.n_features - 1}")
        for place in places.tolist():
            row = _matrix.row_with_column(self.rows.indptr, self.rows.indices, place)
            if row >= 0:
                raise DataError(f"mixed features: item {row} has a sparse value of the dense column {place}")
        fault, more_nan = _matrix.value_fault(values.reshape(-1), nan_allowed)
        if fault >= 0:
            row, at = divmod(fault, len(places))
            raise NotFiniteError(row, int(places[at]), values[row, at])
        return any_nan or more_nan

    def matrix(self) -> Any:
        rows = self.rows
        return _matrix.Matrix(
            *(rows.n_items, rows.n_features, self.values, self.places),
            *(rows.indptr, rows.indices, rows.data),
        )

    def take(self, rows: Index | slice) -> Mixed:
        return replace(self, values=np.ascontiguousarray(self.values[rows]), rows=self.rows.take(rows))

    def column(self, j: int) -> Floats:
        at = np.flatnonzero(self.places == j)
        return self.values[:, at[0]].copy() if len(at) else self.rows.column(j)

    def by_column(self) -> Iterator[tuple[Ints | None, Floats]]:
        dense = dict(zip(self.places.tolist(), self.values.T, strict=True))
        for j, column in enumerate(self.rows.by_column()):
            yield (None, dense[j].copy()) if j in dense else column

    def select(self, columns: Index, n_features: int) -> Mixed:
        new = columns[self.places]
        order = np.argsort(new, kind="stable")[np.count_nonzero(new < 0) :]
        return Mixed(
            np.ascontiguousarray(self.values[:, order]),
            new[order].astype(np.int32),
            self.rows.select(columns, n_features),
        )

    def with_columns(self, values: Floats) -> Mixed:
        old, more = self.n_features, values.shape[1]
        return Mixed(
            np.hstack([self.values, values]),
            np.concatenate([self.places, np.arange(old, old + more, dtype=np.int32)]),
            replace(self.rows, n_features=old + more),
        )

    def multiplied(self, column: int, factor: float) -> Mixed:
        at = np.flatnonzero(self.places == column)
        if len(at) == 0:
            return replace(self, rows=self.rows.multiplied(column, factor))
        return replace(self, values=with_multiple(self.values, np.s_[:, at[0]], factor))

    def occurring(self) -> Index:
        return np.union1d(self.rows.occurring(), self.places).astype(np.int64)

    def largest(self) -> float:
        own = max(float(self.values.max(initial=0)), -float(self.values.min(initial=0)))
        return max(own, self.rows.largest())

    def to_dense(self) -> AnyArray:
        out = self.rows.to_dense()
        out[:, self.places] = self.values
        return out

    def compressed(self) -> Sparse:
        more = np.count_nonzero(self.values, axis=1)
        indptr = self.rows.indptr + offsets_of(more)
        indices = np.empty(indptr[-1], dtype=np.int32)
        data = np.empty(indptr[-1])
        _matrix.merge_rows(self.matrix(), indptr, indices, data)
        return Sparse(indptr, indices, data, self.n_features)

    def arrays(self) -> dict[str, AnyArray | None]:
        return {"features": self.values, "features.places": self.places, **self.rows.arrays()}

    def describe(self) -> str:
        return f"{len(self.places)} dense, the others {self.rows.describe()}"
