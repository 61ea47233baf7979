"""Tree kernels as functions of two trees: subtrees, subset trees, partial trees, words.

Notation: delta(u, v) is the weighted number of fragments that two nodes have in common, and K(x, y) is its
sum over all nodes u of x and v of y. A word is a node without children. Labels and words are compared as
strings, so a word equals a label with the same spelling.

=========== ==========================================================================================
st          subtrees: a node with everything below it; delta = decay^(nodes with children) if equal
sst         subset trees: a node has all of its children or none; words alone are no fragment
sst-leaves  sst, plus decay for each pair of equal words
ptk         partial trees: a node has any subsequence of its children; single nodes are fragments
bow         bag of words: each pair of equal words counts 1
=========== ==========================================================================================

References
----------
Vishwanathan, Smola: Fast kernels on strings and trees. NIPS 2002 (st). Collins, Duffy: New ranking algorithms
for parsing and tagging. ACL 2002 (sst). Zhang, Lee: Question classification using support vector machines.
SIGIR 2003 (sst-leaves). Moschitti: Efficient convolution kernels for dependency and constituent syntactic
trees. ECML 2006 (ptk, and sst by pairs of equal productions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.settings import Settings, setting
from rerank.core.types import Floats, Index
from rerank.data.columns.forests import Forest
from rerank.data.columns.schema import TREE_NAME
from rerank.data.lists import CandidateLists
from rerank.similarity.base import ITEM_KERNELS, PlainKernel, PreparedPart
from rerank.similarity.tree_sets import Sweeps, TreeSet
from rerank.similarity.tree_sums import SummedTrees

TreeName = Literal["st", "sst", "sst-leaves", "ptk", "bow"]
USES = {
    "st": ("decay",),
    "sst": ("decay",),
    "sst-leaves": ("decay",),
    "ptk": ("decay", "mu", "max_children"),
    "bow": (),
}
DEFAULT = 0.4  # of decay and mu
LEAST = 1e-9  # of decay and mu: mu * decay^2 must not vanish


class TreeFunction(Settings):
    """A kernel of two trees; ``decay`` and ``mu`` stay None if the kernel does not use them.

    Raises
    ------
    ConfigError
        If a setting is out of range, or the kernel does not use it.

    Examples
    --------
    >>> from rerank.data.columns.forests import Forest
    >>> (trees,) = TreeSet.of(Forest.from_strings(["(S (D a) (N dog))", "(S (D a) (N cat))"]))
    >>> TreeFunction("sst", decay=1, normalise=False).matrix(trees, trees).tolist()
    [[6.0, 3.0], [3.0, 6.0]]
    """

    name: TreeName
    decay: float | None = setting(
        None,
        "lambda: weight of each node with children, ptk: of leaves and gaps; 0.4 if None",
        ge=LEAST,
        le=1,
    )
    mu: float | None = setting(None, "ptk: weight of each node; 0.4 if None", ge=LEAST, le=1)
    max_children: int | None = setting(None, "ptk: most children of a node in a fragment; None = any", ge=1)
    normalise: bool = setting(True, "divide K(x, y) by the root of K(x, x) K(y, y)")

    def __init__(self, name: str, **settings: Any) -> None:
        given = {key: value for key, value in settings.items() if value is not None}
        uses = USES.get(name, ())
        for key in ("decay", "mu"):
            if key in uses:
                given.setdefault(key, DEFAULT)
        super().__init__(name=name, **given)
        unused = [key for key in ("decay", "mu", "max_children") if key in given and key not in uses]
        if unused:
            raise ConfigError(f"{unused[0]}: not used by the tree kernel {name}")

    def matrix(self, a: TreeSet, b: TreeSet) -> Floats:
        """Return K of all trees of two sets, float64 (a.n, b.n)."""
        memory.require(8 * a.n * b.n, f"a matrix of {a.n:,} x {b.n:,}")
        out = np.empty((a.n, b.n))
        self.rows(a, np.arange(a.n), b, out)
        return out

    def rows(self, a: TreeSet, which: Index, b: TreeSet, out: Floats) -> None:
        """Compute K of the trees ``which`` of ``a`` and all trees of ``b``.

        A value has the same bits whatever trees are in the sets, and whatever rows are computed together.
        K(x, y) and K(y, x) may differ in the last bits: a symmetric matrix is made by copying one triangle.
        The interpreter's lock is released.

        Parameters
        ----------
        a, b
            Sets that were made together by ``TreeSet.of``.
        which : int64 (n)
        out : float64 (n, b.n), C-contiguous
            0 for missing trees, and for all trees if K(x, x) = 0. Normalised values of equal trees are 1.

        Raises
        ------
        DataError
            If a value exceeds the largest float, or the sets were not made together.
        RerankError
            If there is no memory for the pairs of nodes of two trees.
        """
        a.check_with(b)
        which = a.checked(which)
        shape = len(which), b.n
        if out.shape != shape or out.dtype != np.float64 or not out.flags.c_contiguous:
            raise DataError(
                f"out: found {out.dtype} {out.shape}, expected a C-contiguous float64 array {shape}"
            )
        if out.size == 0:
            return
        self.sweeps(a).rows(which, b, out)
        if not np.isfinite(out).all():
            row, column = np.argwhere(~np.isfinite(out))[0].tolist()
            raise _too_large(self.name, (a, int(which[row])), (b, column))
        if self.normalise:
            left, right = self.norms(a)[which], self.norms(b)
            for i, row in enumerate(out):
                row /= left[i] * right
                row[(b.distinct == a.distinct[which[i]]) & (row > 0)] = 1.0

    def diagonal(self, a: TreeSet) -> Floats:
        """Return K(x, x) of each tree before normalisation, float64 (n), which the set keeps.

        Raises
        ------
        DataError
            If a value exceeds the largest float.
        """
        key = self.name, self.decay, self.mu, self.max_children
        found = a.diagonals.get(key)
        if found is None:
            found = self.sweeps(a).diagonal()
            if not np.isfinite(found).all():
                raise _too_large(self.name, *2 * [(a, int(np.isfinite(found).argmin()))])
            a.diagonals[key] = found
        return found

    def norms(self, a: TreeSet) -> Floats:
        """Return the root of K(x, x) of each tree, infinite where it is 0."""
        return np.sqrt(np.where(self.diagonal(a) > 0, self.diagonal(a), np.inf))

    def sweeps(self, a: TreeSet) -> Sweeps:
        """Return what computes rows of one set before normalisation."""
        return Sweeps(a, self.name, self.decay, self.mu, self.max_children)


def _too_large(name: str, *pair: tuple[TreeSet, int]) -> DataError:
    """The error for a value that is no float."""
    trees = " and ".join(f"tree {tree} ({some.size_of(tree):,} nodes)" for some, tree in pair)
    return DataError(f"{name}: K of {trees} exceeds the largest number; a smaller decay gives smaller values")


class PreparedTrees(SummedTrees):
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
