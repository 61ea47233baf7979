"""Dense features: one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.layouts.base import Features, NotFiniteError, require_dense, with_multiple
from rerank.data.layouts.sparse import Sparse
from rerank.data.mapped import row_blocks, taken
from rerank.native.data import _matrix


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
        if isinstance(self.values, np.ma.MaskedArray):
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

    def select(self, columns: Index, n_features: int) -> Dense:
        require_dense(self.n_items, n_features, self.dtype)
        kept = np.flatnonzero(columns >= 0)
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
