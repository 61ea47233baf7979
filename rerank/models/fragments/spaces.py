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

import numpy as np

from rerank.core.types import Floats, Index
from rerank.models.fragments.support import Part, SupportTrees


@dataclass(frozen=True, eq=False)
class Space(ABC):
    """How fragments grow, what each step multiplies, and how much is still to be gained.

    Attributes
    ----------
    root_keys, keys : int64 (n_places)
        What is added if a fragment begins, or goes on, at a place; -1 = nothing can.
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
    goes on right of c in the same manner, and is at least 1.
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
