"""Sums that have the same bits on any number of threads."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Index


def deterministic_dot(a: Floats, b: Floats) -> float:
    """Return a·b with the same bits on any number of threads, which BLAS does not promise.

    - ``a``, ``b``: float64 (n).
    """
    return float(np.einsum("i,i->", a, b))


_BLOCKS = 8
_ITEMS = 1024  # of a block at least
_PER_ITEM = 64  # at most so many features for each item of a block, which has a gradient of its own


def list_blocks(offsets: Index, n_features: int) -> list[tuple[int, int]]:
    """Return the first list of each block and the one after its last.

    They do not depend on the number of threads, so that sums over blocks have the same bits on any.

    - ``offsets``: int64 (n_lists + 1).
    - ``n_features``: more than 0.
    """
    n = int(offsets[-1])
    n_blocks = max(1, min(_BLOCKS, n // _ITEMS, _PER_ITEM * n // n_features))
    if n_blocks == 1:
        return [(0, len(offsets) - 1)]
    bounds = np.unique(np.searchsorted(offsets, np.linspace(0, n, n_blocks + 1)))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
