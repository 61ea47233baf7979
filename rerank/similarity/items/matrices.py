"""Gram matrices of items, in blocks of rows on several threads."""

from __future__ import annotations

from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.lists import CandidateLists
from rerank.similarity.items.expression import ItemKernel
from rerank.similarity.matrices import filled


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
