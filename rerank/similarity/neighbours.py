"""The nearest lists of every list by a Gram matrix."""

from __future__ import annotations

import numpy as np

from rerank.data.types import Floats, Index
from rerank.errors import DataError


def nearest(gram: Floats, k: int, *, square: bool = True) -> tuple[Index, Floats]:
    """Return the ``k`` most similar lists of each row, most similar first, the first list on ties.

    Parameters
    ----------
    gram : float64 (n, m)
    k : int
        1 or more.
    square : bool
        Whether rows and columns are the same lists: none is its own neighbour.

    Returns
    -------
    places : int64 (n, k)
        Columns; -1 if fewer lists have a similarity above 0. k is at most the number of other lists.
    values : float64 (n, k)
        Similarities, 0 there.

    Raises
    ------
    DataError
        If ``k`` is below 1, or the matrix is not square although it should be.
    """
    n, m = gram.shape
    if k < 1 or (square and n != m):
        raise DataError(f"nearest: found k = {k} and shape {gram.shape}, expected 1 or more and a matrix")
    k = min(k, m - square)
    places, values = np.full((n, k), -1, dtype=np.int64), np.zeros((n, k))
    for i, row in enumerate(gram):
        allowed = row > 0
        if square:
            allowed[i] = False
        found = np.flatnonzero(allowed)
        order = found[np.argsort(-row[found], kind="stable")[:k]]
        places[i, : len(order)] = order
        values[i, : len(order)] = row[order]
    return places, values
