"""Sums over vectors that have the same bits on every machine of one architecture."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats


def inner(a: Floats, b: Floats) -> float:
    """Return a·b with the same bits on any number of threads, which BLAS does not promise.

    Parameters
    ----------
    a, b
        float64 (n).
    """
    return float(np.einsum("i,i->", a, b))
