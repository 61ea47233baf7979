"""Gram matrices: the similarity of every list to every other, in blocks of rows on several threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.core import memory, progress
from rerank.core.errors import DataError, DataNote
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.alignment import aligned
from rerank.data.lists import CandidateLists
from rerank.similarity.base import KERNELS, Prepared
from rerank.similarity.expression import ItemKernel

_PAIRS = 1 << 18  # of a block of rows
_TILE = 256  # rows of a tile: its columns, too, lie in few pages


def gram(
    lists: CandidateLists,
    other: CandidateLists | None = None,
    kernel: str = "list",
    *,
    jobs: int | None = None,
    out: Floats | None = None,
    **settings: Any,
) -> Floats:
    """Return the similarity of every list to every list of ``other``, or of ``lists`` itself.

    Features are compared as they are: bring them to comparable units first (``data.scaling``). A list of
    equal items has no axes, and the similarity 0 to every list, also to itself, by all kernels but
    ``bhattacharyya``; a DataNote reports how many there are.

    Parameters
    ----------
    lists, other : CandidateLists
        Features of ``other`` are matched to those of ``lists`` as those of a test set to a model's.
    kernel : str
        ``list``, ``angles``, ``angles-subspace``, ``bhattacharyya``; see ``rerank list kernels``.
    jobs : int, optional
        Threads, 0 = one per core, None = as ``core.workers.parallel.using`` says. The result is
        the same for any.
    out : float64 (n_lists, n_other), optional
        The array to fill, such as one of ``numpy.lib.format.open_memmap`` for more lists than memory holds.
    **settings
        Those of the kernel: ``components`` (5), the number of principal axes; for ``bhattacharyya``
        ``ridge``.

    Returns
    -------
    float64 (n_lists, n_other)
        ``out`` if given. Without ``other`` it is symmetric.

    Raises
    ------
    ConfigError, DataError, RerankError
        If the kernel or a setting is unknown, features are missing or have nothing in common, ``out`` has
        another shape, or there is no memory for the matrix.

    Examples
    --------
    >>> from rerank import CandidateLists
    >>> from rerank.similarity import gram
    >>> lists = CandidateLists.from_arrays([[0, 0], [2, 0], [1, 1], [5, 2], [5, 3]], group=[2, 3])
    >>> gram(lists).round(3).tolist()
    [[1.0, 0.992], [0.992, 1.0]]
    """
    made = KERNELS.get(kernel)(**settings)
    if other is not None:
        other = aligned(other, lists.names(), f"{lists.source}", selection=lists.selection)
    mine, theirs = made.prepare(lists, other)
    for one, source in dict.fromkeys(((mine, lists.source), (theirs, (other or lists).source))):
        if len(one.empty):
            text = f"{count(len(one.empty), 'list')} of equal items: similarity 0 to every list"
            warnings.warn(f"{source}: {text}", DataNote, stacklevel=2)
    with parallel.using(jobs):
        return filled(mine, theirs, out)


def filled(mine: Prepared, theirs: Prepared, out: Floats | None = None) -> Floats:
    """Return the Gram matrix of prepared lists; see ``gram``."""
    shape = (mine.n, theirs.n)
    if out is None:
        memory.require(8 * mine.n * theirs.n, f"a Gram matrix of {mine.n:,} x {theirs.n:,}")
        out = np.zeros(shape)
    if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
        raise DataError(f"out: found {out.dtype} {out.shape}, expected a C-contiguous float64 array {shape}")
    same = mine is theirs

    def take(first: int, rows: Floats) -> None:
        start = first if same else 0
        out[first : first + len(rows), start:] = rows[:, start:]

    in_blocks(mine, theirs, take)
    if same:
        _mirror(out)
    return out


def _mirror(out: Floats) -> None:
    """Copy the triangle above the diagonal to the one below, in tiles: the matrix may be a file."""
    for i in range(0, len(out), _TILE):
        for j in range(0, i, _TILE):
            out[i : i + _TILE, j : j + _TILE] = out[j : j + _TILE, i : i + _TILE].T
        tile = out[i : i + _TILE, i : i + _TILE]
        below = np.tri(len(tile), k=-1, dtype=bool)
        tile[below] = tile.T[below]


def in_blocks(mine: Prepared, theirs: Prepared, take: Callable[[int, Floats], None]) -> None:
    """Compute the Gram matrix of prepared lists in blocks of rows, without holding it.

    Parameters
    ----------
    mine, theirs
        If they are one object, entries below the diagonal are left out.
    take
        Called with the first row of each block and its rows, float64 (rows, theirs.n). Blocks come in any
        order, on several threads.
    """
    step = max(1, min(_PAIRS // max(1, theirs.n), -(-mine.n // (4 * parallel.jobs()))))
    blocks = [(first, min(first + step, mine.n)) for first in range(0, mine.n, step)]
    if parallel.remote():
        tasks = [(mine, theirs, *block) for block in blocks]
        every = progress.over(parallel.in_order(_rows, tasks), "computing similarities", len(tasks), "block")
        for (first, _), rows in zip(blocks, every, strict=True):
            take(first, rows)
    else:

        def work(first: int, last: int) -> None:
            take(first, _rows(mine, theirs, first, last))

        parallel.each(work, blocks, threads=True, step=("computing similarities", "block"))


def _rows(mine: Prepared, theirs: Prepared, first: int, last: int) -> Floats:
    """Some rows of the Gram matrix."""
    out = np.empty((last - first, theirs.n))
    mine.fill(theirs, first, last, out)
    return out


def item_gram(
    kernel: ItemKernel | str,
    lists: CandidateLists,
    other: CandidateLists | None = None,
    *,
    jobs: int | None = None,
    out: Floats | None = None,
) -> Floats:
    """Return the kernel of every item with every item of ``other``, or of ``lists`` itself.

    Features are compared as they are: bring them to comparable units first (``data.scaling``). Rows and
    columns have the order of the items in the lists.

    Parameters
    ----------
    kernel : ItemKernel or str
        The kernel, or its expression, such as ``"ptk(question) + linear"``.
    lists, other : CandidateLists
        Features of ``other`` are matched to those of ``lists`` as those of a test set to a model's.
    jobs : int, optional
        Threads, 0 = one per core, None = as ``parallel.using`` says. The result is the same for any.
    out : float64 (n_items, n_other), optional
        The array to fill, such as one of ``numpy.lib.format.open_memmap`` for more items than memory holds.

    Returns
    -------
    float64 (n_items, n_other)
        ``out`` if given. Without ``other`` it is symmetric.

    Raises
    ------
    ConfigError, DataError, RerankError
        If the expression is wrong, trees or features are missing, ``out`` has another shape, or there is no
        memory for the matrix.

    Examples
    --------
    >>> from rerank import CandidateLists
    >>> lists = CandidateLists.from_arrays([[0, 2], [1, 1], [3, 4]], group=[2, 1])
    >>> item_gram("linear", lists).tolist()
    [[4.0, 2.0, 8.0], [2.0, 2.0, 7.0], [8.0, 7.0, 25.0]]
    """
    made = ItemKernel.parse(kernel) if isinstance(kernel, str) else kernel
    sets = made.prepare(lists) if other is None else made.prepare(lists, other)
    with parallel.using(jobs):
        return filled(sets[0], sets[-1], out)
