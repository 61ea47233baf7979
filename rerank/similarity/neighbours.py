"""The nearest lists of every list by a Gram matrix, or by blocks of its rows."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.native.similarity import _nearest


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
    places, values = no_neighbours(n, min(k, m - square))
    _nearest.offer_rows(gram, 0, square, values, places)
    return by_similarity(places, values)


def no_neighbours(n: int, k: int) -> tuple[Index, Floats]:
    """Return the places and values of ``n`` lists to which ``_nearest`` has offered nothing yet."""
    return np.full((n, k), -1, dtype=np.int64), np.zeros((n, k))


def by_similarity(places: Index, values: Floats) -> tuple[Index, Floats]:
    """Return the neighbours that ``_nearest`` has kept, most similar first, the first list on ties."""
    order = np.lexsort((places, -values))
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(values, order, axis=1)
