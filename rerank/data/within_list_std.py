"""How far each feature varies within lists."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists


def deviations_within(lists: CandidateLists) -> Floats:
    """Return each feature's standard deviation within lists, float64 (n_features).

    It is the root of the mean over all items of the squared deviation from the mean of the item's list.
    Missing values (NaN) count neither as items nor in means.
    """
    out = np.zeros(lists.n_features)
    for j, (items, values) in enumerate(lists.features.by_column()):
        out[j] = _deviation(lists, None if items is None else items.astype(np.int64), values)
    return out


def _deviation(lists: CandidateLists, items: np.ndarray | None, values: Floats) -> float:
    """The deviation of one column: values of ``items``, 0 for all others; items None: of all items."""
    known = ~np.isnan(values)
    index = lists.list_index if items is None else lists.list_index[items]
    missing = np.bincount(index[~known], minlength=lists.n_lists)
    sizes = lists.lengths - missing
    values, index = values[known], index[known]
    scale = float(np.abs(values).max(initial=0.0))
    if scale == 0.0:
        return 0.0
    small = values / scale  # squares of large values do not overflow
    means = np.bincount(index, weights=small, minlength=lists.n_lists) / np.maximum(sizes, 1)
    squares = float(np.sum((small - means[index]) ** 2))
    if items is not None:  # what is not stored is 0
        zeros = sizes - np.bincount(index, minlength=lists.n_lists)
        squares += float(np.sum(zeros * means**2))
    return scale * float(np.sqrt(squares / sizes.sum()))
