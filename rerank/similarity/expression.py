"""Kernels of items: an expression over tree kernels and vector kernels, and sets prepared for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index
from rerank.data.alignment import aligned
from rerank.data.lists import CandidateLists
from rerank.similarity.base import ITEM_KERNELS, KERNELS, Kernel, PlainKernel, Prepared, PreparedPart
from rerank.similarity.grammar import Leaf, Product, Sum, made, parse

_PORTIONS = 32  # of the items: so often are those from a row on taken for a Gram matrix
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class ItemKernel:
    """A kernel of two items; every one is positive semi-definite, up to rounding.

    An expression is a sum of products; factors are numbers above 0, kernels and sums in parentheses. The
    kernels are those of ``rerank list kernels`` that compare items: ``st``, ``sst``, ``sst-leaves``, ``ptk``
    and ``bow`` of trees, whose first argument is the name of the trees (``tree``, the item's own, or such as
    ``question``; it may be left out if there is one kind); ``linear``, ``polynomial`` and ``gaussian`` of
    features, whose arguments without a name are names, ranges or globs of features (none = all).

    Attributes
    ----------
    expression : Sum

    Examples
    --------
    >>> kernel = ItemKernel.parse("ptk(question)*.5 + (gaussian(gamma = 2))")
    >>> kernel.text
    '0.5 * ptk(question) + gaussian(gamma=2)'
    """

    expression: Sum

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the kernel that an expression spells.

        Raises
        ------
        ConfigError
            If it is wrong; the error names the place and the nearest name.
        """
        return cls(parse(text))

    @classmethod
    def of(cls, name: str, settings: Mapping[str, Any] | None = None) -> Self:
        """Return one kernel by its name and settings; raise ConfigError if one is wrong."""
        try:
            return cls(_alone(made(name, (), dict(settings or {}))))
        except ConfigError as error:
            raise ConfigError(f"kernel {name}: {error}") from None

    @classmethod
    def default(cls, lists: CandidateLists) -> Self:
        """Return the sum of ``ptk`` of each kind of trees and, if there are features, ``linear``.

        Raises
        ------
        DataError
            If the lists have neither trees nor features.
        """
        parts = [f"ptk({name})" for name in lists.tree_names()] + ["linear"] * bool(lists.n_features)
        if not parts:
            raise DataError(f"{lists.source}: found no trees and no features; kernels of items compare them")
        return cls.parse(" + ".join(parts))

    @property
    def text(self) -> str:
        """The expression in its shortest form, which parses back to this kernel."""
        return str(self.expression)

    def __str__(self) -> str:
        return self.text

    def compares(self, what: str) -> bool:
        """Return whether a part of the expression compares "trees" or "features"."""
        return any(leaf.kernel.compares == what for leaf in self.expression.leaves())

    def trees(self) -> list[str]:
        """Return the names of the trees that it compares, each once, apart from those left out."""
        of = (leaf.of for leaf in self.expression.leaves() if leaf.kernel.compares == "trees")
        return list(dict.fromkeys(name for names in of for name in names))

    def resolved(self, lists: CandidateLists) -> ItemKernel:
        """Return the kernel with the names of trees that it leaves out, as these lists have them.

        Raises
        ------
        DataError
            If the lists lack trees that the kernel compares, or have several kinds and no name is given.
        """

        def named(leaf: Leaf) -> Leaf:
            return Leaf(leaf.kernel, leaf.kernel.resolved(leaf.of, lists))

        return ItemKernel(_mapped(self.expression, named))

    def prepare(self, *sets: CandidateLists) -> tuple[Items, ...]:
        """Return the items of each set, prepared to be compared with those of all sets.

        Names of trees that the kernel leaves out are those of the first set. Features are matched to those of
        the first set as those of a test set to a model's.

        Raises
        ------
        DataError
            If trees or features are missing, or sets have no feature in common.
        RerankError
            If there is no memory for them.
        """
        first, *others = sets
        kernel = self.resolved(first)
        if kernel.compares("features"):
            names = first.names()
            others = [aligned(one, names, first.source, selection=first.selection) for one in others]
        for one in others:
            kernel.resolved(one)
        leaves = dict.fromkeys(kernel.expression.leaves())
        parts = {leaf: leaf.kernel.prepare(leaf.of, [first, *others]) for leaf in leaves}
        return tuple(
            Items(kernel.expression, {leaf: parts[leaf][k] for leaf in leaves}) for k in range(len(sets))
        )


def _alone(leaf: Leaf) -> Sum:
    return Sum((Product(1.0, (leaf,)),))


def _mapped(expression: Sum, change: Callable[[Leaf], Leaf]) -> Sum:
    """The expression with each kernel changed."""
    return Sum(
        tuple(
            Product(
                term.weight,
                tuple(change(one) if isinstance(one, Leaf) else _mapped(one, change) for one in term.factors),
            )
            for term in expression.terms
        )
    )


class Items(Prepared):
    """The items of one set in the form in which an expression compares them; see ``ItemKernel.prepare``.

    Attributes
    ----------
    n : int
        The number of items.
    expression, parts
        The kernel, and the items as each kernel in it compares them.
    """

    def __init__(self, expression: Sum, parts: Mapping[Leaf, PreparedPart]) -> None:
        self.expression, self.parts = expression, dict(parts)
        self.n = next(iter(self.parts.values())).n
        self._rest: tuple[int, Items] | None = None

    @cached_property
    def empty(self) -> Index:  # type: ignore[override]  # K(x, x) of all items takes time
        """The items whose kernel with themselves is 0."""
        return np.flatnonzero(self.diagonal() == 0).astype(np.int64)

    def take(self, index: Index) -> Self:
        """Return the items at ``index``, in that order, to be compared with the same sets."""
        return type(self)(self.expression, {leaf: part.take(index) for leaf, part in self.parts.items()})

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
        for leaf, part in self.parts.items():
            values[leaf] = out if len(self.parts) == 1 else np.empty_like(out)
            part.rows(which, other.parts[leaf], values[leaf])
        _combine(self.expression, values, out)

    def diagonal(self) -> Floats:
        """Return the kernel of each item with itself, float64 (n)."""
        out = np.empty(self.n)
        _combine(self.expression, {leaf: part.diagonal() for leaf, part in self.parts.items()}, out)
        return out

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        start, rest = self._from(first) if other is self else (0, other)
        rows = np.empty((last - first, rest.n))
        self.rows(np.arange(first, last), rest, rows)
        out[:, start:] = rows

    def _from(self, first: int) -> tuple[int, Items]:
        """Return where the portion with item ``first`` begins, and all items from there on.

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


def kernel_class(name: str) -> type[Kernel] | type[PlainKernel]:
    """Return the kernel of lists or of items ``name``; raise ConfigError, with the nearest, if unknown."""
    if name in ITEM_KERNELS.names():
        return ITEM_KERNELS.get(name)
    try:
        return KERNELS.get(name)
    except ConfigError:
        known = [*KERNELS.names(), *ITEM_KERNELS.names()]
        raise ConfigError(f"unknown kernel {name!r}; {did_you_mean(name, known)}") from None


def kernel_of(text: str, settings: Mapping[str, Any] | None = None) -> Kernel | ItemKernel:
    """Return the kernel that ``text`` names or spells.

    Parameters
    ----------
    text : str
        The name of a kernel of lists or of items, or an expression over kernels of items.
    settings
        Settings of a kernel given by its name; an expression has its own.

    Raises
    ------
    ConfigError
        If the kernel or a setting is unknown or wrong, or settings are given with an expression.
    """
    if _NAME.fullmatch(text) is None:
        if settings:
            where = "settings of an expression are written within it, as in ptk(decay=0.3)"
            raise ConfigError(f"{next(iter(settings))}: {where}")
        return ItemKernel.parse(text)
    kind = kernel_class(text)
    if issubclass(kind, PlainKernel):
        return ItemKernel.of(text, settings)
    return kind.checked(settings or {}, f"kernel {text}")
