"""The spaces of fragments of the subset tree and the partial tree kernel.

A fragment f has one component phi_f(t) for each tree t, and K(t, u) is the sum of phi_f(t) phi_f(u). phi_f(t)
is the sum over the occurrences of f in t of a product over the nodes of f:

- subset trees: sqrt(decay) for each node that has children in f. Such a node has all children of the tree's;
- partial trees: sqrt(mu) decay for each node without children in f, sqrt(mu) decay^g for one with children, g
  the tree's children that are left out between the first and the last of them.

Proof: the recursions of delta(u, v) (similarity.tree_kernels) multiply out to the sum over the fragments
that u and v share of these products for u and for v.

A fragment grows from its root in preorder, so that each is reached in one way: the new node hangs below the
last one, or below an ancestor of it, right of the branch that leads there.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of, places_of
from rerank.similarity.tree_sets import Nodes, TreeSet

Part = list[Any]  # a node of a fragment: its symbol, then a list of its children
NOISE = 1e-12  # of the sum of magnitudes: a smaller sum is the rounding error of 0
_BYTES_OF_A_PLACE = 120  # of the arrays below and those of spaces


@dataclass(frozen=True, eq=False)
class SupportTrees:
    """Weighted trees, each distinct one written out as places: the nodes level by level, siblings together.

    The places of a tree are a tree again: each has one parent, which a distinct node (``TreeSet``) has not.

    Attributes
    ----------
    trees : TreeSet
    coefficients : float64 (n)
        What a fragment's occurrences in each tree count.
    node : int64 (n_places)
        The distinct node at each place; the roots come first.
    parent : int64 (n_places)
        The place above, -1 for roots.
    first : int64 (n_places + 1)
        The children of place i are the places ``first[i]:first[i + 1]``, in their order.
    """

    trees: TreeSet
    coefficients: Floats
    node: Index
    parent: Index
    first: Index

    @classmethod
    def of(cls, trees: TreeSet, coefficients: Floats) -> SupportTrees:
        """Lay out trees with their coefficients; RerankError if there is no memory for the places."""
        inner, ends = trees.starts[1::2], trees.starts[2::2]
        filled = ends > trees.starts[:-1:2]
        roots = np.unique(
            trees.nodes[inner[filled] - 1]
        )  # a tree's nodes with children: the root is the last
        n_places = int(trees.counts.sum(dtype=np.int64))
        memory.require(_BYTES_OF_A_PLACE * n_places, f"the trees of a model, {n_places:,} nodes")
        nodes = trees.all_nodes
        n_children = np.diff(nodes.bounds) - 1
        level, start = roots.astype(np.int64), 0
        found, parents = [level], [np.full(len(level), -1, dtype=np.int64)]
        while len(level):
            counts = n_children[level]
            parents.append(np.repeat(np.arange(start, start + len(level)), counts))
            start += len(level)
            level = nodes.keys[runs(nodes.bounds[level] + 1, counts)].astype(np.int64)
            found.append(level)
        node = np.concatenate(found)
        first = len(roots) + offsets_of(n_children[node])
        return cls(trees, coefficients, node, np.concatenate(parents), first)

    @property
    def nodes(self) -> Nodes:
        """The distinct nodes."""
        return self.trees.all_nodes

    @cached_property
    def position(self) -> Index:
        """The number of each place among its siblings, from 0; roots are 0."""
        return np.where(self.parent < 0, 0, np.arange(len(self.node)) - self.first[self.parent])

    @cached_property
    def n_right(self) -> Index:
        """Return the number of siblings on the right of each place."""
        ends = self.first[self.parent + 1]  # of a root's: first[0], which is not used
        return np.where(self.parent < 0, 0, ends - np.arange(len(self.node)) - 1)

    @cached_property
    def representatives(self) -> Index:
        """The first place of each distinct node of these trees."""
        return np.unique(self.node, return_index=True)[1]

    @cached_property
    def _listed(self) -> Index:
        """The tree of each entry of ``trees.nodes``."""
        return np.repeat(np.arange(self.trees.n), np.diff(self.trees.starts[::2]))

    @cached_property
    def totals(self) -> Floats:
        """The sum of coefficients of each distinct node's occurrences; 0 if it is but rounding error.

        Raises DataError if one exceeds the largest number.
        """
        with np.errstate(over="ignore"):
            weights = self.trees.counts * self.coefficients[self._listed]
            sums, magnitudes = np.zeros((2, len(self.nodes)))
            np.add.at(sums, self.trees.nodes, weights)
            np.add.at(magnitudes, self.trees.nodes, np.abs(weights))
        require_finite(magnitudes)
        return np.where(np.abs(sums) > NOISE * magnitudes, sums, 0.0)

    @cached_property
    def sizes(self) -> Index:
        """The number of nodes of each distinct node's tree."""
        bounds, keys = self.nodes.bounds.tolist(), self.nodes.keys.tolist()
        sizes: list[int] = []
        for v in range(len(self.nodes)):  # children before parents
            sizes.append(1 + sum(sizes[child] for child in keys[bounds[v] + 1 : bounds[v + 1]]))
        return np.array(sizes, dtype=np.int64)

    @cached_property
    def _trees_by_node(self) -> tuple[Index, Index]:
        """Offsets by distinct node, and the trees that contain it."""
        order = np.argsort(self.trees.nodes, kind="stable")
        return offsets_of(np.bincount(self.trees.nodes, minlength=len(self.nodes))), self._listed[order]

    def containing(self, nodes: Index) -> Index:
        """Return the trees that contain one of these distinct nodes."""
        offsets, trees = self._trees_by_node
        return np.unique(trees[places_of(offsets, nodes)[0]])

    def subtree(self, node: int) -> Part:
        """Return the whole tree of a distinct node."""
        whole: Part = [node, []]
        waiting = [whole]
        while waiting:
            part = waiting.pop()
            start, end = self.nodes.bounds[part[0] : part[0] + 2].tolist()
            part[1] = [[child, []] for child in self.nodes.keys[start + 1 : end].tolist()]
            part[0] = int(self.nodes.keys[start])
            waiting += part[1]
        return whole


def require_finite(weights: Floats) -> None:
    """Raise DataError if a weight has overflowed."""
    if not np.isfinite(weights).all():
        raise DataError("fragments: a weight exceeds the largest number; a smaller decay gives smaller ones")


def runs(starts: Index, lengths: Index) -> Index:
    """Return the numbers from each start on, so many as its length, one run after the other."""
    offsets = offsets_of(lengths)
    return np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])


@dataclass(frozen=True, eq=False)
class Space(ABC):
    """Space of fragments: their growth, the factor of each step, and a bound of what can still be gained.

    Attributes
    ----------
    root_keys, keys : int64 (n_places)
        What is added if a fragment begins, or continues, at a place; -1 = nothing can.
    key_nodes : int64 (n_keys)
        How many nodes a fragment gains by each key.
    at_root, at_child, at_sibling, gap : float
        Factors of a new root, of a first child, of a further one, and of each child left out before it.
    most : int or None
        The largest number of children in a fragment.
    below, after, begun : float64 (n_places)
        Bounds of how the product of an occurrence whose last node is here, summed over the ways in which one
        fragment can go on, compares with the product as it is: with more nodes below this one; with or
        without further siblings (at least 1); with further siblings.
    """

    support: SupportTrees
    root_keys: Index
    keys: Index
    key_nodes: Index
    at_root: float
    at_child: float
    at_sibling: float
    gap: float
    most: int | None
    below: Floats
    after: Floats
    begun: Floats

    @abstractmethod
    def root(self, key: int) -> Part:
        """Return a fragment that begins with a key of ``root_keys``."""

    @abstractmethod
    def attached(self, parent: Part, key: int) -> Part:
        """Return the new last node, below ``parent``, which is changed."""


@dataclass(frozen=True, eq=False)
class SubsetTrees(Space):
    """Subset trees: a step gives all its children to a node that has none in the fragment."""

    examples: Index  # a place of each production
    key_positions: Index
    key_productions: Index

    @classmethod
    def of(cls, support: SupportTrees, decay: float) -> SubsetTrees:
        """Return the space with a decay of at most 1."""
        productions = support.nodes.productions[support.node].astype(np.int64)
        n = support.nodes.n_productions
        inner = productions >= 0
        examples = np.zeros(n, dtype=np.int64)
        examples[productions[inner][::-1]] = np.flatnonzero(inner)[::-1]
        found, numbers = np.unique((support.position * n + productions)[inner], return_inverse=True)
        keys = np.full(len(productions), -1, dtype=np.int64)
        keys[inner] = numbers
        before = np.zeros(len(inner) + 1, dtype=np.int64)
        np.cumsum(inner, out=before[1:])
        places = np.arange(len(inner))
        step = math.sqrt(decay)
        below = before[support.first[1:]] > before[support.first[:-1]]
        begun = before[places + 1 + support.n_right] > before[places + 1]
        return cls(
            support=support,
            root_keys=productions,
            keys=keys,
            key_nodes=np.diff(support.first)[examples[found % max(n, 1)]],
            at_root=step,
            at_child=step,
            at_sibling=step,
            gap=1.0,
            most=None,
            below=np.where(below, step, 0.0),
            after=np.ones(len(inner)),
            begun=np.where(begun, step, 0.0),
            examples=examples,
            key_positions=found // max(n, 1),
            key_productions=found % max(n, 1),
        )

    def root(self, key: int) -> Part:
        place = int(self.examples[key])
        children = slice(*self.support.first[place : place + 2].tolist())
        symbols, node = self.support.nodes.symbols, self.support.node
        return [int(symbols[node[place]]), [[symbol, []] for symbol in symbols[node[children]].tolist()]]

    def attached(self, parent: Part, key: int) -> Part:
        child: Part = parent[1][self.key_positions[key]]
        child[1] = self.root(int(self.key_productions[key]))[1]
        return child


@dataclass(frozen=True, eq=False)
class PartialTrees(Space):
    """Partial trees: a step adds one node."""

    @classmethod
    def of(cls, support: SupportTrees, decay: float, mu: float, max_children: int | None) -> PartialTrees:
        """Return the space with a decay and a mu of at most 1."""
        symbols = support.nodes.symbols[support.node].astype(np.int64)
        below, after, begun = _partial_bounds(support, decay, math.sqrt(mu))
        slots = support.nodes.bounds[support.node[support.parent]] + 1 + support.position
        is_root = support.parent < 0
        slots[is_root] = 0  # the bounds of no child
        return cls(
            support=support,
            root_keys=symbols,
            keys=symbols,
            key_nodes=np.ones(support.nodes.n_symbols, dtype=np.int64),
            at_root=math.sqrt(mu) * decay,
            at_child=math.sqrt(mu),
            at_sibling=math.sqrt(mu) * decay,
            gap=decay,
            most=max_children,
            below=below[support.node],
            after=after[slots],
            begun=begun[slots],
        )

    def root(self, key: int) -> Part:
        return [key, []]

    def attached(self, parent: Part, key: int) -> Part:
        child: Part = [key, []]
        parent[1].append(child)
        return child


def _partial_bounds(support: SupportTrees, decay: float, step: float) -> tuple[Floats, Floats, Floats]:
    """Bounds as in ``Space``: below by distinct node, after and begun by entry of the keys of nodes.

    heavy(u), the largest component of a fragment rooted at node u, is at most the largest of step * decay
    (u alone) and, over the symbols s of its children c, step * sum of heavy(c) rest(c) over those with symbol
    s: a fragment's first child has one symbol. rest(c) bounds the sum over the ways in which one fragment
    continues right of c in the same manner, and is at least 1.
    """
    bounds, keys = support.nodes.bounds.tolist(), support.nodes.keys.tolist()
    symbols = support.nodes.symbols.tolist()
    n = len(symbols)
    heavy, below = [step * decay] * n, np.zeros(n)
    after, begun = np.ones(len(keys) + 1), np.zeros(len(keys) + 1)
    for u in range(n):  # children before parents
        firsts: dict[int, float] = {}
        rests: dict[int, tuple[float, int]] = {}  # by symbol: the sum, and the place it is relative to
        largest = 0.0
        for k in range(bounds[u + 1] - 1, bounds[u], -1):
            child = keys[k]
            begun[k] = largest
            after[k] = max(1.0, largest)
            value = heavy[child] * max(1.0, largest)
            symbol = symbols[child]
            firsts[symbol] = firsts.get(symbol, 0.0) + value
            known, place = rests.get(symbol, (0.0, k))
            rests[symbol] = (known * decay ** (place - k) + value, k)
            largest = max(largest * decay, rests[symbol][0])
        if firsts:
            grown = step * max(firsts.values())
            heavy[u] = max(heavy[u], grown)
            below[u] = grown / (step * decay)
    return below, after, begun
