"""Features of items behind one small interface: dense rows or CSR.

A kernel exists once per layout; what calls it asks ``isinstance(features, Dense)`` once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.data.columns.offsets import places_of
from rerank.data.types import AnyArray, Floats, Index, Ints
from rerank.errors import DataError
from rerank.native.data import _matrix


@dataclass(frozen=True, eq=False, slots=True)
class Dense:
    """A C-contiguous float64 (or float32) array (n_items, n_features)."""

    values: AnyArray

    @property
    def n_items(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    @property
    def n_values(self) -> int:
        """Values held, zeros among them."""
        return int(self.values.size)

    def check(self, nan_allowed: bool) -> bool:
        """Whether any value is NaN; raises DataError at an infinite value, or NaN where not allowed."""
        if self.values.ndim != 2 or not self.values.flags.c_contiguous:
            raise DataError("dense features must be a C-contiguous (n_items, n_features) array")
        if self.values.dtype not in (np.float64, np.float32):
            raise DataError(f"dense features must be float64 or float32, got {self.values.dtype}")
        fault, any_nan = _matrix.value_fault(self.values.reshape(-1), nan_allowed)
        if fault >= 0:
            row, column = divmod(fault, self.n_features)
            raise DataError(f"item {row}, feature column {column}: value is {self.values[row, column]}")
        return any_nan

    def scores(self, w: Floats) -> Floats:
        """w·x of every item, float64 (n_items); w is (n_features)."""
        out = np.zeros(self.n_items)
        if self.n_values:
            _matrix.dense_scores(self.values, w, out)
        return out

    def transposed_product(self, c: Floats) -> Floats:
        """The sum of c times x over all items, float64 (n_features); c is (n_items)."""
        out = np.zeros(self.n_features)
        if self.n_values:
            _matrix.dense_transposed(self.values, c, out)
        return out

    def take(self, rows: Index | slice) -> Dense:
        """The items at ``rows``, in that order."""
        return Dense(np.ascontiguousarray(self.values[rows]))

    def column(self, j: int) -> Floats:
        """Values of feature column ``j`` over all items, float64 (n_items), a copy."""
        return self.values[:, j].astype(np.float64)

    def columns(self) -> Iterator[Floats]:
        """Every feature column in turn, as ``column`` gives it."""
        for j in range(self.n_features):
            yield self.column(j)

    def select(self, columns: Index, n_features: int) -> Dense:
        """Columns moved to new places: old column j goes to columns[j], or away where that is -1."""
        out = np.zeros((self.n_items, n_features), dtype=self.values.dtype)
        kept = columns >= 0
        out[:, columns[kept]] = self.values[:, kept]
        return Dense(out)

    def with_columns(self, values: Floats) -> Dense:
        """The same features and the columns of ``values`` (n_items, n) behind them."""
        return Dense(np.hstack([self.values, values.astype(self.values.dtype)]))

    def to_dense(self) -> AnyArray:
        """The array itself."""
        return self.values


@dataclass(frozen=True, eq=False, slots=True)
class Sparse:
    """Compressed rows: int64 indptr (n_items + 1), int32 indices, float64 data or None.

    Indices rise strictly within a row. ``data`` None means that every listed feature is 1.
    """

    indptr: Index
    indices: Ints
    data: Floats | None
    n_features: int

    @property
    def n_items(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_values(self) -> int:
        """Values held."""
        return len(self.indices)

    def check(self, nan_allowed: bool) -> bool:
        """Whether any value is NaN; raises DataError where the invariants do not hold."""
        for array, dtype in ((self.indptr, np.int64), (self.indices, np.int32)):
            if array.ndim != 1 or array.dtype != dtype or not array.flags.c_contiguous:
                raise DataError(f"CSR features: expected a contiguous {np.dtype(dtype)} vector")
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != len(self.indices):
            raise DataError("CSR features: indptr must run from 0 to the number of values")
        if np.any(np.diff(self.indptr) < 0):
            raise DataError("CSR features: indptr must not fall")
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
            raise DataError(f"item {row}, feature column {self.indices[fault]}: value is {self.data[fault]}")
        return any_nan

    def scores(self, w: Floats) -> Floats:
        """w·x of every item, float64 (n_items); w is (n_features)."""
        out = np.zeros(self.n_items)
        if self.n_values:
            _matrix.csr_scores(self.indptr, self.indices, self.data, w, out)
        return out

    def transposed_product(self, c: Floats) -> Floats:
        """The sum of c times x over all items, float64 (n_features); c is (n_items)."""
        out = np.zeros(self.n_features)
        _matrix.csr_transposed(self.indptr, self.indices, self.data, c, out)
        return out

    def take(self, rows: Index | slice) -> Sparse:
        """The items at ``rows``, in that order."""
        if isinstance(rows, slice):
            rows = np.arange(self.n_items, dtype=np.int64)[rows]
        source, indptr = places_of(self.indptr, rows)
        data = None if self.data is None else self.data[source]
        return Sparse(indptr, self.indices[source], data, self.n_features)

    def column(self, j: int) -> Floats:
        """Values of feature column ``j`` over all items, float64 (n_items)."""
        at = np.flatnonzero(self.indices == j)
        out = np.zeros(self.n_items)
        out[np.searchsorted(self.indptr, at, side="right") - 1] = 1.0 if self.data is None else self.data[at]
        return out

    def columns(self) -> Iterator[Floats]:
        """Every feature column in turn, as ``column`` gives it, after one sort of the values."""
        order = np.argsort(self.indices, kind="stable")
        row = np.searchsorted(self.indptr, order, side="right") - 1
        bounds = np.searchsorted(self.indices[order], np.arange(self.n_features + 1))
        for first, last in itertools.pairwise(bounds.tolist()):
            out = np.zeros(self.n_items)
            out[row[first:last]] = 1.0 if self.data is None else self.data[order[first:last]]
            yield out

    def select(self, columns: Index, n_features: int) -> Sparse:
        """Columns moved to new places: old column j goes to columns[j], or away where that is -1."""
        new = columns[self.indices]
        kept = new >= 0
        row = np.repeat(np.arange(self.n_items, dtype=np.int64), np.diff(self.indptr))[kept]
        new = new[kept]
        order = np.lexsort((new, row))
        indptr = np.zeros(self.n_items + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=self.n_items), out=indptr[1:])
        data = None if self.data is None else self.data[kept][order]
        return Sparse(indptr, new[order].astype(np.int32), data, n_features)

    def with_columns(self, values: Floats) -> Sparse:
        """The same features and the columns of ``values`` (n_items, n) behind them, their zeros left out."""
        rows, columns = np.nonzero(values)
        more = np.bincount(rows, minlength=self.n_items)
        at = np.repeat(self.indptr[1:], more)
        old = np.ones(self.n_values) if self.data is None else self.data
        indices = np.insert(self.indices, at, (columns + self.n_features).astype(np.int32))
        data = np.insert(old, at, values[rows, columns])
        indptr = self.indptr.copy()
        indptr[1:] += np.cumsum(more)
        return Sparse(indptr, indices, data, self.n_features + values.shape[1])

    def to_dense(self) -> Floats:
        """A float64 array (n_items, n_features)."""
        out = np.zeros((self.n_items, self.n_features))
        rows = np.repeat(np.arange(self.n_items), np.diff(self.indptr))
        out[rows, self.indices] = 1.0 if self.data is None else self.data
        return out


Features = Dense | Sparse


def as_features(X: Any) -> Features:
    """Features from an array (n_items, n_features), a scipy sparse matrix, or Features.

    Raises DataError where X is neither; duplicate entries of a sparse matrix are summed, as scipy does.
    """
    if isinstance(X, Dense | Sparse):
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
    values = np.asarray(X)
    if values.ndim != 2:
        raise DataError(f"features must be (n_items, n_features), got shape {values.shape}")
    if values.dtype.kind == "c":
        raise DataError(f"features must be real numbers, got {values.dtype}")
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    try:
        return Dense(np.ascontiguousarray(values, dtype=dtype))
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers: {error}") from None
