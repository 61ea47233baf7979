"""Width by the features present: columns far apart are renumbered, and their names keep the indices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.core.types import Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.layouts.sparse import Sparse

WIDE = 1_000_000  # columns that are kept without a question
_SHARE = 4  # columns for each one present, from which on only those present are kept
_DIRECT = 8  # columns for each value, up to which a mark for every column is cheaper than sorting


def is_wide(n_columns: int, n_present: int) -> bool:
    """Return whether only the columns that are present should be kept."""
    return n_columns > WIDE and n_columns > _SHARE * n_present


def columns_to_keep(features: Sparse, named: Index, zeros: bool) -> Index | None:
    """Return the columns to keep of features whose indices are far apart, None to keep all.

    Parameters
    ----------
    features : sparse features.
    named : columns to keep in any case, rising.
    zeros : whether a column of nothing but zeros that a file gives is present.

    Returns
    -------
    ndarray or None
        int64, rising: those with a value, those named, and the last column.
    """
    n = features.n_features
    if n <= WIDE:
        return None
    some = features.indices if zeros or features.data is None else features.indices[features.data != 0]
    if n <= _DIRECT * len(some):
        seen = np.zeros(n, dtype=bool)
        seen[some] = True
        present = np.flatnonzero(seen)
    else:
        present = np.unique(some)
    kept = np.union1d(np.append(present, n - 1), named).astype(np.int64)
    return kept if is_wide(n, len(kept)) else None


def narrowed(features: Sparse, kept: Index) -> Sparse:
    """Return the columns ``kept``, int64, rising; a value in another column is dropped."""
    places = np.searchsorted(kept, features.indices)
    places[places == len(kept)] = 0
    there = kept[places] == features.indices
    indices = places.astype(np.int32)
    if np.all(there):
        return replace(features, indices=indices, n_features=len(kept))
    indptr = offsets_of(there)[features.indptr]
    data = None if features.data is None else features.data[there]
    return Sparse(indptr, indices[there], data, len(kept))
