"""Matrices of features: what each can do, and its layouts, dense, sparse (compressed rows), and mixed."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index, Ints, Mask
from rerank.data.arrays import is_masked, real_array
from rerank.data.columns.offsets import are_bounds, offsets_of, places_of
from rerank.data.npy import is_large, large_array, mapping, release, row_blocks, taken
from rerank.native.data import _matrix


def require_dense(n_items: int, n_features: int, dtype: Any = np.float64) -> None:
    """Raise RerankError if there is no memory for a dense matrix (n_items, n_features)."""
    memory.require(
        n_items * n_features * np.dtype(dtype).itemsize,
        f"a dense matrix of {n_items:,} x {n_features:,}",
        "sparse features need memory for the values present only (--layout sparse)",
    )


class NotFiniteError(DataError):
    """A value that is infinite, or NaN where that is not allowed.

    Attributes
    ----------
    item, column : its row and its column, from 0.
    value : what was found.
    """

    def __init__(self, item: int, column: int, value: float) -> None:
        super().__init__(f"item {item}, feature column {column}: value is {value}")
        self.item, self.column, self.value = item, column, value


def with_multiple(values: AnyArray, at: Any, factor: float) -> AnyArray:
    """Return a copy of an array with the values ``at`` multiplied; those that overflow are infinite."""
    new = values.copy()
    with np.errstate(over="ignore"):
        new[at] *= factor
    return new


class Features(ABC):
    """Features of items, a matrix (n_items, n_features).

    Every layout gives the same bits of scores for the same numbers: sums run in the order of the columns.
    """

    __slots__ = ()

    layout: ClassVar[str]

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of rows."""

    if TYPE_CHECKING:  # a field of Sparse, whose dataclass would take a property here for its default

        @property
        def n_features(self) -> int:
            """Number of columns."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of values stored; dense columns store their zeros."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values, float64 except for dense float32 features."""
        return np.dtype(np.float64)

    @abstractmethod
    def check(self, nan_allowed: bool) -> bool:
        """Check the invariants and return whether any value is NaN.

        Raises DataError if an invariant does not hold, a value is infinite, or NaN and not allowed.
        """

    @abstractmethod
    def matrix(self) -> Any:
        """Return the ``Matrix`` that kernels take, a view of these arrays."""

    def scores(self, w: Floats) -> Floats:
        """Return w·x of every item, float64 (n_items), for weights w (n_features)."""
        out = np.zeros(self.n_items)
        _matrix.scores(self.matrix(), w, out)
        return out

    def transposed_product(self, c: Floats) -> Floats:
        """Return the sum of c times x over all items, float64 (n_features), for c (n_items)."""
        out = np.zeros(self.n_features)
        if self.n_values:
            _matrix.transposed(self.matrix(), c, out)
        return out

    @abstractmethod
    def take(self, rows: Index | slice) -> Features:
        """Return the items at ``rows``, in that order."""

    @abstractmethod
    def column(self, j: int) -> Floats:
        """Return a copy of the values of column ``j``, float64 (n_items)."""

    def columns(self) -> Iterator[Floats]:
        """Yield every column in turn, as ``column`` returns it."""
        for items, values in self.by_column():
            out = values
            if items is not None:
                out = np.zeros(self.n_items)
                out[items] = values
            yield out

    def by_column(self) -> Iterator[tuple[Ints | None, Floats]]:
        """Yield the items of every column in turn, rising, and their values; items None: all items."""
        for j in range(self.n_features):
            yield None, self.column(j)

    @abstractmethod
    def select(self, columns: Index, n_features: int) -> Features:
        """Return the features with column j moved to columns[j] of ``n_features``, dropped if it is -1."""

    def widened(self, n_features: int) -> Features:
        """Return the features with columns of 0 after the last, ``n_features`` in all."""
        n = self.n_features
        return self if n == n_features else self.select(np.arange(n), n_features)

    @abstractmethod
    def with_columns(self, values: Floats) -> Features:
        """Return the features with the columns of ``values`` (n_items, n) after the last."""

    @abstractmethod
    def multiplied(self, column: int, factor: float) -> Features:
        """Return the features with one column multiplied; arrays that do not change are shared."""

    @abstractmethod
    def occurring(self) -> Index:
        """Return the columns that store a value of any item, rising."""

    @abstractmethod
    def largest(self) -> float:
        """Return the largest magnitude of any value, 0 if there is none."""

    @abstractmethod
    def to_dense(self) -> AnyArray:
        """Return the features as an array (n_items, n_features), without a copy if they are dense."""

    @abstractmethod
    def compressed(self) -> Any:
        """Return the features as compressed rows, Sparse; zeros of dense columns are left out."""

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray | None]:
        """Return the arrays that hold the features, under the names of their files in a store."""

    @abstractmethod
    def describe(self) -> str:
        """Return the layout and its size in a few words."""


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
    """

    values: Floats  # float64 (n_items, n), C-contiguous, the dense columns
    places: Ints  # int32 (n), rising, the column that each of them is
    rows: Sparse  # all other columns; its numbers of columns are those of the whole matrix

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


@dataclass(frozen=True, eq=False, slots=True)
class Dense(Features):
    """A C-contiguous float64 (or float32) array (n_items, n_features).

    ``missing``: whether a value is NaN, None = not looked for yet. The values are checked once.
    """

    values: AnyArray
    missing: bool | None = None

    layout: ClassVar[str] = "dense"

    @property
    def n_items(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    @property
    def n_values(self) -> int:
        return int(self.values.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def check(self, nan_allowed: bool) -> bool:
        if is_masked(self.values):
            raise DataError("dense features are a masked array, expected NaN for missing values")
        if self.values.ndim != 2 or not self.values.flags.c_contiguous:
            raise DataError("dense features must be a C-contiguous (n_items, n_features) array")
        if self.values.dtype not in (np.float64, np.float32):
            raise DataError(f"dense features must be float64 or float32, got {self.values.dtype}")
        if self.missing is not None and (nan_allowed or not self.missing):
            return self.missing
        any_nan = False
        for rows in row_blocks(self.values):
            fault, found = _matrix.value_fault(self.values[rows].reshape(-1), nan_allowed)
            if fault >= 0:
                row, column = rows.start + fault // self.n_features, fault % self.n_features
                raise NotFiniteError(row, column, self.values[row, column])
            any_nan |= found
        object.__setattr__(self, "missing", any_nan)
        return any_nan

    def matrix(self) -> Any:
        return _matrix.Matrix(self.n_items, self.n_features, self.values)

    def scores(self, w: Floats) -> Floats:
        out = np.zeros(self.n_items)
        for rows in row_blocks(self.values):
            _matrix.scores(Dense(self.values[rows]).matrix(), w, out[rows])
        return out

    def take(self, rows: Index | slice) -> Dense:
        if isinstance(rows, slice):
            return Dense(np.ascontiguousarray(self.values[rows]))
        return Dense(np.ascontiguousarray(taken(self.values, rows)))

    def column(self, j: int) -> Floats:
        return self.values[:, j].astype(np.float64)

    def by_column(self) -> Iterator[tuple[Ints | None, Floats]]:
        if mapping(self.values) is None or not is_large(self.values.nbytes):
            yield from Features.by_column(self)
            return
        columns = large_array(self.values.shape[::-1], self.dtype, "features by column")
        for rows in row_blocks(self.values):
            columns[:, rows] = self.values[rows].T
        for column in columns:
            yield None, column.astype(np.float64)
            release(column)

    def select(self, columns: Index, n_features: int) -> Dense:
        kept = np.flatnonzero(columns >= 0)
        if mapping(self.values) is not None and is_large(self.values.nbytes):
            out = large_array((self.n_items, n_features), self.dtype, "selected features")
            for rows in row_blocks(self.values):
                out[rows, columns[kept]] = self.values[rows][:, kept]
                release(out[rows])
            return Dense(out)
        require_dense(self.n_items, n_features, self.dtype)
        if np.array_equal(columns[kept], np.arange(n_features)):  # nothing absent, in the same order
            return Dense(np.take(self.values, kept, axis=1))
        out = np.zeros((self.n_items, n_features), dtype=self.values.dtype)
        out[:, columns[kept]] = self.values[:, kept]
        return Dense(out)

    def with_columns(self, values: Floats) -> Dense:
        require_dense(self.n_items, self.n_features + values.shape[1], self.dtype)
        return Dense(np.hstack([self.values, values.astype(self.values.dtype)]))

    def multiplied(self, column: int, factor: float) -> Dense:
        require_dense(self.n_items, self.n_features, self.dtype)
        return Dense(with_multiple(self.values, np.s_[:, column], factor))

    def occurring(self) -> Index:
        return np.arange(self.n_features, dtype=np.int64)

    def largest(self) -> float:
        return max(float(self.values.max(initial=0)), -float(self.values.min(initial=0)))

    def to_dense(self) -> AnyArray:
        return self.values

    def compressed(self) -> Sparse:
        rows, columns = np.nonzero(self.values)
        indptr = offsets_of(np.bincount(rows, minlength=self.n_items))
        data = self.values[rows, columns].astype(np.float64)
        return Sparse(indptr, columns.astype(np.int32), data, self.n_features)

    def arrays(self) -> dict[str, AnyArray | None]:
        return {"features": self.values}

    def describe(self) -> str:
        return f"dense {self.values.dtype}"


__all__ = ["Dense", "Features", "Mixed", "Sparse", "as_features", "require_dense", "split_missing"]


def as_features(X: Any) -> Features:
    """Return features from an array or a frame (n_items, n_features), a scipy sparse matrix, or Features.

    Values that are masked, null or NA become NaN, see ``data.arrays.real_array``. Duplicate entries of a
    sparse matrix are summed, as scipy does. Raises DataError if X is none of these.
    """
    if isinstance(X, Features):
        return X
    if hasattr(X, "tocsr"):
        if X.ndim != 2 or X.dtype.kind not in "biuf" or X.shape[1] > np.iinfo(np.int32).max:
            raise DataError(f"sparse features must be a matrix of real numbers, got {X.dtype} {X.shape}")
        csr = X.tocsr(copy=True)
        csr.sum_duplicates()
        csr.sort_indices()
        return Sparse(
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            np.ascontiguousarray(csr.indices, dtype=np.int32),
            np.ascontiguousarray(csr.data, dtype=np.float64),
            int(csr.shape[1]),
        )
    values = real_array(X, "features")
    if values.ndim != 2:
        raise DataError(f"features must be (n_items, n_features), got shape {values.shape}")
    return Dense(np.ascontiguousarray(values))


def split_missing(features: Features) -> tuple[Sparse, Sparse]:
    """Return the features with 0 for NaN, and indicators of what is NaN, both as compressed rows."""
    rows = features.compressed()
    data = np.ones(rows.n_values) if rows.data is None else rows.data
    gone = np.isnan(data)
    of = np.repeat(np.arange(rows.n_items), np.diff(rows.indptr))

    def some(chosen: Mask, values: Floats | None) -> Sparse:
        indptr = offsets_of(np.bincount(of[chosen], minlength=rows.n_items))
        return Sparse(indptr, rows.indices[chosen], values, rows.n_features)

    return some(~gone, data[~gone]), some(gone, None)
