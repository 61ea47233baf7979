"""Kernels of items: an expression over tree kernels and vector kernels, and sets prepared for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from rerank.core.errors import ConfigError, DataError
from rerank.data.alignment import aligned
from rerank.data.lists import CandidateLists
from rerank.similarity.items.parsing import Leaf, Product, Sum, made, parse
from rerank.similarity.items.prepared import Items


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
