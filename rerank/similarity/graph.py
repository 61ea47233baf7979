"""Graphs of lists: each list is joined to the lists nearest to it, without the Gram matrix in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.native.similarity import _nearest
from rerank.similarity.base import Kernel, Prepared, note_tied
from rerank.similarity.gram_matrices import filled, in_blocks

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_LEAST = 1e-280  # a similarity, such as that of far Gaussians, whose ratios to others do not underflow
_BYTES_OF_A_PAIR = 20  # of a dense matrix and a sparse one
_BYTES_OF_A_NEIGHBOUR = 80  # of heaps, and of sparse matrices with one or both directions of edges


@dataclass(frozen=True, eq=False)
class Graph:
    """Lists joined by their similarities.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array float64 (n, n)
        The similarities of joined lists, all above 0: symmetric, without a diagonal, columns rising.
    empty : int64
        The lists that the kernel takes for equal items: their similarity to every list is 0.
    """

    matrix: csr_array
    empty: Index


def neighbour_graph(
    lists: CandidateLists, kernel: Kernel, neighbours: int | Literal["all"], *, mutual: bool = False
) -> Graph:
    """Return the graph in which each list is joined to its nearest lists.

    Two lists are joined if one is among the nearest lists of the other, and their similarity is above 0, or
    above 1e-280 to be exact. Of equally similar lists the first ones are the nearest. The work is shared by
    the threads of ``core.workers.parallel``, and the graph is the same for any number.

    Parameters
    ----------
    lists : CandidateLists
        The nodes.
    kernel : Kernel
        The similarity of two lists.
    neighbours : int or "all"
        How many nearest lists of each list. All lists are joined if it is ``all``, or as large as the number
        of other lists; the Gram matrix is held only then.
    mutual : bool
        Whether two lists are joined only if each is among the nearest of the other.

    Raises
    ------
    ConfigError, DataError, RerankError
        If ``neighbours`` is something else, the kernel cannot compare the lists, or there is no memory for
        the graph.

    Examples
    --------
    >>> from rerank import CandidateLists
    >>> from rerank.similarity.graph import neighbour_graph
    >>> from rerank.similarity.axes import ListKernel
    >>> lists = CandidateLists.from_arrays([[0, 0], [2, 1], [0, 0], [1, 1], [0, 0], [0, 5]], group=[2, 2, 2])
    >>> neighbour_graph(lists, ListKernel(), 1).matrix.toarray().round(3).tolist()
    [[0.0, 0.949, 0.0], [0.949, 0.0, 0.707], [0.0, 0.707, 0.0]]
    """
    n = lists.n_lists
    if neighbours != "all" and (not isinstance(neighbours, int) or neighbours < 1):
        raise ConfigError(f"neighbours: found {neighbours!r}, expected 1 or more, or 'all'")
    if neighbours == "all" or neighbours >= n - 1:
        memory.require(
            _BYTES_OF_A_PAIR * n * n, f"a graph of all pairs of {n:,} lists", "join fewer neighbours"
        )
        prepared, _ = kernel.prepare(lists)
        note_tied(prepared, lists.source)
        return Graph(_of_all(prepared), prepared.empty)
    what = f"a graph of {n:,} lists with {neighbours:,} neighbours each"
    memory.require(_BYTES_OF_A_NEIGHBOUR * n * neighbours, what, "join fewer neighbours")
    prepared, _ = kernel.prepare(lists)
    note_tied(prepared, lists.source)
    directed = _of_nearest(prepared, neighbours)
    joined = directed.minimum(directed.T) if mutual else directed.maximum(directed.T)
    return Graph(joined.tocsr(), prepared.empty)


def nearest_in(nodes: CandidateLists, others: CandidateLists, kernel: Kernel, k: int) -> tuple[Index, Floats]:
    """Return the ``k`` nodes most similar to each other list, most similar first, the first node on ties.

    Parameters
    ----------
    nodes, others : CandidateLists
        Lists with the same features.
    kernel : Kernel
    k : int
        1 or more.

    Returns
    -------
    places : int64 (others, k)
        Nodes; -1 if fewer have a similarity above 0. k is at most the number of nodes.
    values : float64 (others, k)
        Similarities, 0 there.

    Raises
    ------
    DataError, RerankError
        If ``k`` is below 1, the kernel cannot compare the lists, or there is no memory.
    """
    if k < 1 or nodes.n_features != others.n_features:
        found = f"k = {k}, and {nodes.n_features} and {others.n_features} features"
        raise DataError(f"nearest lists: found {found}, expected 1 or more, and the same features")
    k = min(k, nodes.n_lists)
    memory.require(
        _BYTES_OF_A_NEIGHBOUR * k * others.n_lists, f"{k:,} neighbours of {others.n_lists:,} lists"
    )
    theirs, mine = kernel.prepare(nodes, others)
    note_tied(mine, others.source)
    places, values = no_neighbours(mine.n, k)
    in_blocks(mine, theirs, lambda first, rows: _nearest.offer_rows(rows, first, False, values, places))
    return by_similarity(places, values)


def _of_all(prepared: Prepared) -> csr_array:
    """The whole Gram matrix without its diagonal."""
    from scipy.sparse import csr_array

    gram = filled(prepared, prepared)
    np.fill_diagonal(gram, 0.0)
    gram[gram <= _LEAST] = 0.0
    bounds = offsets_of(np.count_nonzero(gram, axis=1))
    columns = np.empty(bounds[-1], dtype=np.int32)
    values = np.empty(bounds[-1])
    for i, row in enumerate(gram):
        at = slice(bounds[i], bounds[i + 1])
        columns[at] = np.flatnonzero(row)
        values[at] = row[columns[at]]
    return csr_array((values, columns, bounds), shape=gram.shape)


def _of_nearest(prepared: Prepared, k: int) -> csr_array:
    """A row for each list with the similarities of its nearest ones."""
    from scipy.sparse import csr_array

    n = prepared.n
    places, values = no_neighbours(n, k)
    lock = threading.Lock()  # a block changes the heaps of all later lists

    def take(first: int, rows: Floats) -> None:
        with lock:
            _nearest.offer_pairs(rows, first, values, places)

    in_blocks(prepared, prepared, take)
    found = values > _LEAST
    bounds = offsets_of(np.count_nonzero(found, axis=1))
    directed = csr_array((values[found], places[found], bounds), shape=(n, n))
    directed.sort_indices()
    return directed


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
