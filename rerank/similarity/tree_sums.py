"""Weighted sums of trees as one row of a tree kernel: f(y) = sum over i of c[i] K(x[i], y) for all trees y.

K(x, y) is a sum over the nodes of both trees, so f is the kernel of y with one set of nodes: those of all x,
each with the sum of its counts times c. Equal subtrees of the x are compared with y once.

References
----------
Collins, Duffy: New ranking algorithms for parsing and tagging. ACL 2002 (the dual perceptron).
Aiolli, Da San Martino, Sperduti, Moschitti: Fast on-line kernel learning for trees. ICDM 2006 (the shared
subtrees of its support trees).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.types import Floats, Index
from rerank.native.similarity import _tree_parts
from rerank.similarity.base import PreparedPart
from rerank.similarity.tree_sets import TreeSet

_TREES = 64  # summed at a time: of more, the tables of their nodes no longer fit the caches


@dataclass(frozen=True, eq=False)
class TreeSum(TreeSet):
    """One sum of trees, which can be rows of kernels, not columns.

    Attributes
    ----------
    weights : float64, as long as ``nodes``
        What each node counts.
    """

    weights: Floats | None = None

    @classmethod
    def of_trees(cls, trees: TreeSet, which: Index, coefficients: Floats) -> TreeSum:
        """Return the sum of the trees ``which`` (n) times coefficients, float64 (n)."""
        some = trees.take(which)
        each = np.repeat(coefficients, np.diff(some.starts[::2]))
        nodes, places = np.unique(some.nodes, return_inverse=True)  # children come before parents
        weights = np.bincount(places, some.counts * each, len(nodes)).astype(np.float64)  # int if empty
        inner = trees.all_nodes.productions[nodes] >= 0
        order = np.concatenate([np.flatnonzero(inner), np.flatnonzero(~inner)])
        starts = np.array([0, np.count_nonzero(inner), len(nodes)])
        counts, none = np.zeros(len(nodes), dtype=np.int32), np.full(1, -1)
        links = np.diff(trees.all_nodes.bounds)[nodes] - 1  # of a node to its children
        most = max(len(nodes), int(links.sum()) + 1)
        every = replace(trees.all_nodes, largest=max(most, trees.all_nodes.largest))
        return cls(every, starts, nodes[order], counts, none, trees.n_distinct, {}, weights[order])

    @cached_property
    def lists(self) -> _tree_parts.Lists:
        return _tree_parts.Lists(self.starts, self.nodes, self.counts, self.weights)


class SummedTrees(PreparedPart):
    """The trees of items, which add up.

    Attributes
    ----------
    function : TreeFunction of extensions.parsing.tree_kernels
        The kernel of two trees: its rows before normalisation, and its norms.
    trees
        Different trees.
    places : int64 (n)
        The tree of each item among them.
    """

    function: Any
    trees: TreeSet
    places: Index

    def sums(self, which: Index, coefficients: Floats, other: Self) -> Floats:
        """Return the sum over the items ``which`` (n) of coefficients (n) times the kernel, float64 (m).

        It has the same bits whatever other items there are.
        """
        kernel, mine, theirs, trees = self.function, self.trees, other.trees, self.places[which]
        if kernel.normalise:
            coefficients = coefficients / kernel.norms(mine)[trees]
        out, row = np.zeros(theirs.n), np.empty((1, theirs.n))
        for k in range(0, len(trees), _TREES):
            some = TreeSum.of_trees(mine, trees[k : k + _TREES], coefficients[k : k + _TREES])
            if len(some.nodes) and theirs.n:
                kernel.sweeps(some).rows(np.zeros(1, dtype=np.int64), theirs, row)
                out += row[0]
        return (out / kernel.norms(theirs) if kernel.normalise else out)[other.places]
