"""What holds of every CandidateLists, checked once when one is made; kernels check nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rerank.errors import DataError

if TYPE_CHECKING:
    from rerank.data.lists import CandidateLists


def check_columns(lists: CandidateLists) -> None:
    """Raises DataError at the first column that does not fit the others."""
    offsets = lists.offsets
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2 or offsets[0] != 0:
        raise DataError(f"{lists.source}: offsets must be int64, start at 0 and bound one list at least")
    if np.any(np.diff(offsets) <= 0):
        empty = int(np.argmax(np.diff(offsets) <= 0))
        raise DataError(f"{lists.source}: list {empty} is empty")
    if offsets[-1] != lists.features.n_items:
        raise DataError(
            f"{lists.source}: the lists hold {offsets[-1]} items, the features {lists.features.n_items}"
        )
    if lists.feature_names is not None and len(lists.feature_names) != lists.features.n_features:
        raise DataError(
            f"{lists.source}: {len(lists.feature_names)} feature names "
            f"for {lists.features.n_features} features"
        )
    n_items, n_lists = lists.n_items, lists.n_lists
    for name, column, length in (
        ("labels", lists.labels, n_items),
        ("base_scores", lists.base_scores, n_items),
        ("first_best", lists.first_best, n_items),
        ("item_ids", lists.item_ids, n_items),
        ("rows", lists.rows, n_items),
        ("texts", lists.texts, n_items),
        ("trees", lists.trees, n_items),
        ("gold", lists.gold, n_lists),
        ("list_ids", lists.list_ids, n_lists),
        ("unretrieved", lists.unretrieved, n_lists),
        *((f"references[{r}]", column, n_lists) for r, column in enumerate(lists.references)),
        *((f"counts[{key}]", column, n_items) for key, column in lists.counts.items()),
    ):
        if column is not None and len(column) != length:
            raise DataError(f"{lists.source}: {name} has {len(column)} entries, expected {length}")
    if lists.unretrieved is not None and np.any(lists.unretrieved.values <= 0):
        raise DataError(f"{lists.source}: unretrieved holds a label of 0 or less, which nothing counts")
    _check_values(lists)


def _check_values(lists: CandidateLists) -> None:
    """What kernels take for granted of the columns of numbers; their lengths are checked."""
    n_items = lists.n_items
    for name, column, dtype, ndim in (
        ("offsets", lists.offsets, np.int64, 1),
        ("labels", lists.labels, np.float64, 1),
        ("base_scores", lists.base_scores, np.float64, 1),
        ("first_best", lists.first_best, np.float64, 1),
        ("rows", lists.rows, np.int64, 1),
        *((f"counts[{key}]", values, np.float64, 2) for key, values in lists.counts.items()),
    ):
        if column is None:
            continue
        if column.dtype != dtype or column.ndim != ndim or not column.flags.c_contiguous:
            raise DataError(
                f"{lists.source}: {name} must be a contiguous {np.dtype(dtype)} array "
                f"of {ndim} dimension{'s' * (ndim > 1)}"
            )
        if np.any(np.isinf(column)):
            raise DataError(f"{lists.source}: {name} holds an infinite value")
    if lists.first_best is not None and np.any(np.isnan(lists.first_best)):
        raise DataError(f"{lists.source}: first_best holds NaN, which has no place in an order")
    if lists.rows is not None and not np.array_equal(np.sort(lists.rows), np.arange(n_items)):
        raise DataError(f"{lists.source}: rows is not a permutation of 0..{n_items - 1}")
