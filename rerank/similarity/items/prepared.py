"""Items prepared for an expression of kernels: rows of the kernel with other items."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.similarity.base import Prepared
from rerank.similarity.items.base import PreparedPart
from rerank.similarity.items.parsing import Leaf, Sum

_PORTIONS = 32  # of the items: so often are those from a row on taken for a Gram matrix


class Items(Prepared):
    """The items of one set in the form in which an expression compares them; see ``ItemKernel.prepare``.

    Attributes
    ----------
    n : int
        The number of items.
    """

    def __init__(self, expression: Sum, parts: Mapping[Leaf, PreparedPart]) -> None:
        self._expression, self._parts = expression, dict(parts)
        self.n = next(iter(self._parts.values())).n
        self._rest: tuple[int, Items] | None = None

    @cached_property
    def empty(self) -> Index:  # type: ignore[override]  # K(x, x) of all items takes time
        """The items whose kernel with themselves is 0."""
        return np.flatnonzero(self.diagonal() == 0).astype(np.int64)

    def take(self, index: Index) -> Self:
        """Return the items at ``index``, in that order, to be compared with the same sets."""
        return type(self)(self._expression, {leaf: part.take(index) for leaf, part in self._parts.items()})

    def rows(self, which: Index, other: Items, out: Floats) -> None:
        """Compute the kernel of some items with all items of another set.

        A value has the same bits whatever else is computed with it, and whatever else the sets hold. K(x, y)
        and K(y, x) may differ in the last bits.

        Parameters
        ----------
        which : int64 (n)
            Items of this set.
        other
            A set that was prepared together with this one, this one itself, or items taken from one.
        out : float64 (n, other.n), C-contiguous

        Raises
        ------
        DataError
            If a value exceeds the largest float.
        """
        values = {}
        for leaf, part in self._parts.items():
            values[leaf] = out if len(self._parts) == 1 else np.empty_like(out)
            part.rows(which, other._parts[leaf], values[leaf])
        _combine(self._expression, values, out)

    def diagonal(self) -> Floats:
        """Return the kernel of each item with itself, float64 (n)."""
        out = np.empty(self.n)
        _combine(self._expression, {leaf: part.diagonal() for leaf, part in self._parts.items()}, out)
        return out

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        start, rest = self._from(first) if other is self else (0, other)
        rows = np.empty((last - first, rest.n))
        self.rows(np.arange(first, last), rest, rows)
        out[:, start:] = rows

    def _from(self, first: int) -> tuple[int, Items]:
        """Where the portion with item ``first`` begins, and all items from there on.

        They are taken once for all blocks of a portion: taking trees costs about as much as a row.
        """
        start = first - first % -(-self.n // _PORTIONS)
        known = self._rest
        if known is None or known[0] != start:
            known = self._rest = start, self.take(np.arange(start, self.n))
        return known


def _combine(expression: Sum, values: Mapping[Leaf, Floats], out: Floats) -> None:
    """Compute an expression of the values of its kernels; ``out`` may be one of them.

    Raises DataError if a value is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        found = _sum(expression, values)
    if not np.isfinite(found).all():
        advice = "normalise=true, scaled features or smaller weights give smaller values"
        raise DataError(f"kernel {str(expression)!r}: a value exceeds the largest number; {advice}")
    if found is not out:
        out[:] = found


def _sum(expression: Sum, values: Mapping[Leaf, Floats]) -> Floats:
    """The value of an expression; no array of ``values`` is changed."""
    total: Floats | None = None
    for term in expression.terms:
        product: Floats | None = None
        for factor in term.factors:
            value = values[factor] if isinstance(factor, Leaf) else _sum(factor, values)
            product = value if product is None else product * value
        if product is None:
            product = np.full(next(iter(values.values())).shape, term.weight)
        elif term.weight != 1:
            product = term.weight * product
        total = product if total is None else total + product
    assert total is not None  # an expression has terms
    return total
