"""The trees of a model's support items, laid out for the search of fragments."""

from __future__ import annotations

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
        """How many siblings each place has on its right."""
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
