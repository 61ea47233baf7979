"""Weighted sums of a kernel of items: f(y) = sum over i of c[i] K(x[i], y), term by term of its expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.similarity.base import PreparedPart
from rerank.similarity.expression import Items
from rerank.similarity.grammar import Leaf, Sum
from rerank.similarity.tree_sums import SummedTrees


def item_sums(items: Items, which: Index, coefficients: Floats, others: Items) -> Floats:
    """Return the sum over the items ``which`` of their coefficients times the kernel, float64 (others.n).

    A tree kernel that stands alone in its term is computed once for all items (``SummedTrees.sums``); a
    product of kernels is computed item by item. A sum has the same bits whatever other items there are.

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

    Raises
    ------
    DataError
        If a sum exceeds the largest float.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = _of_expression(items, items.expression, which, coefficients, others)
    if not np.isfinite(found).all():
        advice = "normalise=true, scaled features or smaller weights give smaller values"
        raise DataError(f"kernel {str(items.expression)!r}: a sum exceeds the largest number; {advice}")
    return found


def stands_alone(expression: Sum) -> bool:
    """Return whether every kernel stands alone in its term, and one of them compares trees."""
    alone = all(len(term.factors) < 2 for part in _nested(expression) for term in part.terms)
    return alone and any(leaf.kernel.compares == "trees" for leaf in expression.leaves())


def _nested(expression: Sum) -> Iterator[Sum]:
    """An expression and the sums within it."""
    yield expression
    for term in expression.terms:
        for factor in term.factors:
            if isinstance(factor, Sum):
                yield from _nested(factor)


def _of_expression(
    items: Items, expression: Sum, which: Index, coefficients: Floats, others: Items
) -> Floats:
    out = np.zeros(others.n)
    for term in expression.terms:
        scaled = term.weight * coefficients
        if len(term.factors) == 1 and isinstance(term.factors[0], Leaf):
            leaf = term.factors[0]
            out += _of_part(items.parts[leaf], which, scaled, others.parts[leaf])
        elif len(term.factors) == 1:
            out += _of_expression(items, term.factors[0], which, scaled, others)  # type: ignore[arg-type]
        elif term.factors:
            alone = Sum((term,))
            product = Items(alone, {leaf: items.parts[leaf] for leaf in alone.leaves()})
            out += _by_rows(product, which, coefficients, others)
        else:
            out += scaled.sum()
    return out


def _of_part(part: PreparedPart, which: Index, coefficients: Floats, other: PreparedPart) -> Floats:
    if isinstance(part, SummedTrees):
        assert isinstance(other, SummedTrees)
        return part.sums(which, coefficients, other)
    return _by_rows(part, which, coefficients, other)


def _by_rows(part: Any, which: Index, coefficients: Floats, other: Any) -> Floats:
    """The sum of rows of one kernel, or of an expression."""
    out, row = np.zeros(other.n), np.empty((1, other.n))
    for k, factor in enumerate(coefficients):
        part.rows(which[k : k + 1], other, row)
        out += factor * row[0]
    return out
