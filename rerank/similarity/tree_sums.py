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

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.types import Floats, Index
from rerank.native.similarity import _tree_parts
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
        weights = np.bincount(places, some.counts * each, len(nodes))
        inner = trees.all_nodes.productions[nodes] >= 0
        order = np.concatenate([np.flatnonzero(inner), np.flatnonzero(~inner)])
        starts = np.array([0, np.count_nonzero(inner), len(nodes)])
        counts, none = np.zeros(len(nodes), dtype=np.int32), np.full(1, -1)
        return cls(trees.all_nodes, starts, nodes[order], counts, none, trees.n_distinct, {}, weights[order])

    @property
    def largest(self) -> int:
        nodes = self.all_nodes
        links = np.diff(nodes.bounds)[self.nodes] - 1  # of a node to its children
        return max(len(self.nodes), int(links.sum()) + 1)

    @cached_property
    def lists(self) -> _tree_parts.Lists:
        return _tree_parts.Lists(self.starts, self.nodes, self.counts, self.weights)


def sums_of_trees(trees: TreeSet, which: Index, coefficients: Floats) -> list[TreeSum]:
    """Return sums of the trees ``which`` (n) times coefficients (n), which are the sum when added up."""
    bounds = range(0, len(which), _TREES)
    return [TreeSum.of_trees(trees, which[k : k + _TREES], coefficients[k : k + _TREES]) for k in bounds]
