"""Rows of a kernel of items, and their weighted sums: f(y) = sum over i of c[i] K(x[i], y)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index
from rerank.core.workers import parallel
from rerank.similarity.base import PreparedPart
from rerank.similarity.expression import Items
from rerank.similarity.grammar import Leaf, Sum
from rerank.similarity.tree_sums import SummedTrees

_BLOCK = 4_000_000  # values of the kernel that exist at once
_ROWS = 16  # of it that one task computes


def item_sums(items: Items, which: Index, coefficients: Floats, others: Items) -> Floats:
    """Return the sum over the items ``which`` of their coefficients times the kernel, float64 (others.n).

    A tree kernel that stands alone in its term is computed once for all items (``SummedTrees.sums``); other
    kernels and products are computed item by item. A sum has the same bits whatever other items there are.

    Parameters
    ----------
    items : Items
        A prepared set.
    which : int64 (n)
        Items of it.
    coefficients : float64 (n)
        Of these items.
    others : Items
        A set that was prepared together with ``items``, or is taken from one.

    Returns
    -------
    float64 (others.n)
        Sums that overflow are infinite or NaN.

    Raises
    ------
    DataError
        If a value of a kernel exceeds the largest float.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # callers report what is not finite
        return _of_expression(items, items.expression, which, coefficients, others)


def _of_expression(
    items: Items, expression: Sum, which: Index, coefficients: Floats, others: Items
) -> Floats:
    out = np.zeros(others.n)
    for term in expression.terms:
        scaled = term.weight * coefficients
        if not term.factors:
            out += scaled.sum()
        elif len(term.factors) > 1:
            alone = Sum((term,))
            product = Items(alone, {leaf: items.parts[leaf] for leaf in alone.leaves()})
            out += expansion(product, others, coefficients, which)
        elif isinstance(factor := term.factors[0], Leaf):
            out += _of_part(items.parts[factor], which, scaled, others.parts[factor])
        else:
            out += _of_expression(items, factor, which, scaled, others)
    return out


def _of_part(part: PreparedPart, which: Index, coefficients: Floats, other: PreparedPart) -> Floats:
    if isinstance(part, SummedTrees) and isinstance(other, SummedTrees):
        return part.sums(which, coefficients, other)
    return expansion(part, other, coefficients, which)


def expansion(support: Any, items: Any, coefficients: Floats, which: Index | None = None) -> Floats:
    """Return sums over support items of their coefficients times the kernel with them, float64 (items.n).

    A sum has the same bits whatever other items there are: it runs over the support items in their order.

    - ``support``, ``items``: sets prepared together, of an expression or of one kernel in it.
    - ``coefficients``: float64, one for each item of ``which``.
    - ``which``: some items of ``support``, None = all.
    """
    which = np.arange(support.n) if which is None else which
    out = np.zeros(items.n)
    step = max(_BLOCK // max(items.n, 1), 1)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # score() reports what is not finite
        for first in range(0, len(which), step):
            part = slice(first, first + step)
            for row, factor in zip(kernel_rows(support, which[part], items), coefficients[part], strict=True):
                out += row * factor
    return out


def kernel_rows(items: Any, which: Index, others: Any) -> Floats:
    """Return the kernel of the items ``which`` with all of ``others``, float64 (len(which), others.n).

    Threads share the rows, see ``core.workers.parallel``.
    """
    n, m = len(which), others.n
    memory.require(8 * n * m, f"a kernel of {n:,} x {m:,} items")
    out = np.empty((n, m))

    def work(first: int) -> None:
        part = slice(first, first + _ROWS)
        items.rows(which[part], others, out[part])

    if n <= _ROWS:
        work(0)
    else:
        parallel.each(
            work, [(first,) for first in range(0, n, _ROWS)], threads=True, step=("scoring", "block")
        )
    return out
