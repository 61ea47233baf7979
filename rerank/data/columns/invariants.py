"""What must be true of the columns of CandidateLists; checked once, so that kernels check nothing."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.data.columns.schema import TREE, Column, present
from rerank.data.columns.strings import utf8

TREE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
MAX_ITEMS = 2**31 - 1  # kernels number items in 32 bits


def check_lists(lists: Any) -> None:
    """Raise DataError at the first column of CandidateLists that does not fit the others."""
    offsets = lists.offsets
    if offsets.ndim != 1 or offsets.dtype != np.int64 or len(offsets) < 2 or offsets[0] != 0:
        raise DataError("offsets must be int64, start at 0 and bound one list at least")
    Column("positions", "list").check("offsets", offsets, len(offsets))
    if lists.features.n_items > MAX_ITEMS:
        raise DataError(f"{lists.features.n_items:,} items, expected at most {MAX_ITEMS:,}")
    empty = offsets[1:] <= offsets[:-1]
    if np.any(empty):
        raise DataError(f"list {np.argmax(empty)} is empty")
    if offsets[-1] != lists.features.n_items:
        raise DataError(f"the lists hold {offsets[-1]} items, the features {lists.features.n_items}")
    lengths = {"item": lists.n_items, "list": lists.n_lists, "feature": lists.n_features}
    names = lists.feature_names
    if names is not None and len(names) != lists.n_features:
        raise DataError(f"{len(names)} feature names for {lists.n_features} features")
    utf8(lists.selection)
    for name, column, values in present(lists):
        column.check(name, values, lengths[column.per])
    for name in lists.structures:
        if name == TREE or not TREE_NAME.fullmatch(name):
            expected = f"a letter or _, then letters, digits, _ and - (not {TREE!r})"
            raise DataError(f"structures: found the name {name!r}, expected {expected}")
    if lists.first_best is not None and np.any(np.isnan(lists.first_best)):
        raise DataError("first_best holds NaN, which has no place in an order")
    if lists.rows is not None and not np.array_equal(np.sort(lists.rows), np.arange(lists.n_items)):
        raise DataError(f"rows is not a permutation of 0..{lists.n_items - 1}")
