"""Tree kernels as kernels of items; equal trees, such as a list's question, are compared once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import TREE_NAME
from rerank.data.lists import CandidateLists
from rerank.similarity.items.base import ITEM_KERNELS, PlainKernel, PreparedPart
from rerank.similarity.trees.functions import LEAST, TreeFunction
from rerank.similarity.trees.interning import TreeSet


class PreparedTrees(PreparedPart):
    """The distinct trees of items, and which of them each item has.

    Parameters
    ----------
    function
        The kernel of two trees.
    trees
        Different trees.
    places : int64 (n)
        The tree of each item among them.
    """

    def __init__(self, function: TreeFunction, trees: TreeSet, places: Index) -> None:
        self.function, self.trees, self.places = function, trees, places
        self.n = len(places)

    @classmethod
    def of(cls, function: TreeFunction, forests: Sequence[Forest]) -> list[Self]:
        """Return the trees of each forest, prepared to be compared with those of all."""
        found = []
        for trees in TreeSet.of(*forests):
            _, firsts, places = np.unique(trees.distinct, return_index=True, return_inverse=True)
            distinct = trees.take(firsts)
            if function.normalise:
                function.diagonal(distinct)  # the set keeps it, and so do the sets taken from it
            found.append(cls(function, distinct, places))
        return found

    def take(self, index: Index) -> Self:
        kept, places = np.unique(self.places[index], return_inverse=True)
        return type(self)(self.function, self.trees.take(kept), places)

    def rows(self, which: Index, other: Self, out: Floats) -> None:
        mine, rows = np.unique(self.places[which], return_inverse=True)
        values = np.empty((len(mine), other.trees.n))
        self.function.rows(self.trees, mine, other.trees, values)
        for i, row in enumerate(rows):
            np.take(values[row], other.places, out=out[i], mode="clip")

    def diagonal(self) -> Floats:
        values = self.function.diagonal(self.trees)
        return (
            (values > 0).astype(np.float64)[self.places] if self.function.normalise else values[self.places]
        )


class OnTrees(PlainKernel):
    """A kernel of the trees of two items; a missing tree has nothing in common with any tree."""

    compares: ClassVar[Literal["trees"]] = "trees"
    usage: ClassVar[str] = "(TREES, KEY=VALUE); TREES may be left out if items have one kind of trees"

    normalise: bool = setting(
        True, "divide K(x, y) by the square root of K(x, x) K(y, y); 0 if one of them is 0"
    )

    def check(self, of: tuple[str, ...]) -> None:
        self.function()  # which has limits of its own
        if len(of) > 1:
            raise ConfigError(f"found the arguments {', '.join(of)}, expected the name of one kind of trees")
        if of and not TREE_NAME.fullmatch(of[0]):
            raise ConfigError(f"found {of[0]!r}, expected the name of trees, such as question")

    def resolved(self, of: tuple[str, ...], lists: CandidateLists) -> tuple[str, ...]:
        names = lists.tree_names()
        if of:
            lists.forest(of[0])  # which knows how to say what is missing
            return of
        if not names:
            raise DataError(f"{lists.source}: found no trees, which kernel {self.name} compares")
        if len(names) > 1:
            example = f"{self.name}({names[0]})"
            found = ", ".join(names)
            raise DataError(f"{lists.source}: found trees {found}; expected the name of one, as in {example}")
        return (names[0],)

    def prepare(self, of: tuple[str, ...], sets: Sequence[CandidateLists]) -> list[PreparedPart]:
        return list(PreparedTrees.of(self.function(), [lists.forest(of[0]) for lists in sets]))

    def function(self) -> TreeFunction:
        """Return the kernel of two trees."""
        return TreeFunction(self.name, **self.get_params())


class _WithDecay(OnTrees):
    decay: float = setting(0.4, "lambda: weight of each node with children in a fragment", ge=LEAST, le=1)


@ITEM_KERNELS.register("st")
class Subtrees(_WithDecay):
    """Subtrees: pairs of equal nodes with everything below them (Vishwanathan & Smola 2002)."""

    name = "st"
    summary = "equal subtrees, down to the words"


@ITEM_KERNELS.register("sst")
class SubsetTrees(_WithDecay):
    """Subset trees: fragments in which each node has all of its children or none (Collins & Duffy 2002)."""

    name = "sst"
    summary = "equal subset trees: a node has all of its children or none"


@ITEM_KERNELS.register("sst-leaves")
class SubsetTreesAndLeaves(_WithDecay):
    """Subset trees, and single words as fragments of the weight decay (Zhang & Lee 2003)."""

    name = "sst-leaves"
    summary = "equal subset trees, and equal words"


@ITEM_KERNELS.register("ptk")
class PartialTrees(_WithDecay):
    """Partial trees: fragments in which a node has any of its children, in order (Moschitti 2006).

    SVM-light-TK compares at most 5 children at a time: ``max_children=5`` gives its values.
    """

    name = "ptk"
    summary = "equal partial trees: a node has any of its children, in order"

    decay: float = setting(
        0.4,
        "lambda: weight of each child left out between those of a fragment; squared, of each of its leaves",
        ge=LEAST,
        le=1,
    )
    mu: float = setting(0.4, "weight of each node of a fragment", ge=LEAST, le=1)
    max_children: int | None = setting(None, "most children of a node of a fragment; none = any number", ge=1)


@ITEM_KERNELS.register("bow")
class BagOfWords(OnTrees):
    """The words of two trees, without their order: pairs of equal words are counted."""

    name = "bow"
    summary = "equal words of trees, without their order"
