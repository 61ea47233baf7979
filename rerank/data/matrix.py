"""Features of items with one interface, in the layout that suits them: dense, sparse or mixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Mask
from rerank.data.arrays import real_array
from rerank.data.columns.offsets import offsets_of
from rerank.data.layouts.base import Features, require_dense
from rerank.data.layouts.dense import Dense
from rerank.data.layouts.sparse import Mixed, Sparse

__all__ = ["Dense", "Features", "Mixed", "Sparse", "as_features", "require_dense", "split_missing"]


def as_features(X: Any) -> Features:
    """Return features from an array or a frame (n_items, n_features), a scipy sparse matrix, or Features.

    Values that are masked, null or NA become NaN, see ``data.arrays.real_array``. Duplicate entries of a
    sparse matrix are summed, as scipy does.

    Raises
    ------
    DataError
        If X is none of these.
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
