"""Features permuted within lists: the same values in every list, without what they say of its items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.core.types import Index, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse


def random_order(lists: CandidateLists, seed: int, repeat: int) -> Index:
    """Return the items of each list in a random order: int64 (n_items), a permutation within each list.

    The items of a list are sorted by ``Generator(PCG64([seed, repeat])).random(n_items)``, so that all
    features and groups of a repeat meet the same order.
    """
    keys = np.random.Generator(np.random.PCG64([seed, repeat])).random(lists.n_items)
    return np.lexsort((keys, lists.list_index)).astype(np.int64)


def permuted(features: Features, columns: Mask, order: Index) -> Features:
    """Return features whose ``columns`` have the values of the items at ``order``, together.

    Parameters
    ----------
    features
        Of any layout, which stays.
    columns
        bool (n_features).
    order
        int64 (n_items): item i takes the values of item ``order[i]``.
    """
    if isinstance(features, Dense):
        values = features.values.copy()
        places = np.flatnonzero(columns)
        values[:, places] = features.values[np.ix_(order, places)]
        return Dense(values)
    if isinstance(features, Mixed):
        values = features.values.copy()
        places = np.flatnonzero(columns[features.places])
        values[:, places] = features.values[np.ix_(order, places)]
        return replace(features, values=values, rows=_permuted_rows(features.rows, columns, order))
    assert isinstance(features, Sparse)
    return _permuted_rows(features, columns, order)


def _permuted_rows(rows: Sparse, columns: Mask, order: Index) -> Sparse:
    """The kept columns of each row, and the permuted ones of another row, in the order of the columns."""
    here = np.arange(rows.n_features, dtype=np.int64)
    kept = rows.select(np.where(columns, -1, here), rows.n_features)
    moved = rows.select(np.where(columns, here, -1), rows.n_features).take(order)
    sizes = [np.diff(part.indptr) for part in (kept, moved)]
    row = np.concatenate([np.repeat(np.arange(rows.n_items), size) for size in sizes])
    indices = np.concatenate([kept.indices, moved.indices])
    to = np.lexsort((indices, row))
    data = None
    if kept.data is not None and moved.data is not None:
        data = np.concatenate([kept.data, moved.data])[to]
    return Sparse(offsets_of(sizes[0] + sizes[1]), indices[to], data, rows.n_features)
