"""Rows of tree kernels, part by part, and the memory that they need; see _tree_parts.pxd."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index
from rerank.native.similarity import _partial_trees, _shared_nodes, _subset_trees, _tree_parts
from rerank.similarity.trees.interning import LARGE_TABLE, TreeSet

_TABLE = 1 << 16  # pairs of nodes that there is room for at first


class Sweeps:
    """The values of a kernel before normalisation, for rows of one set."""

    def __init__(
        self, a: TreeSet, name: str, decay: float | None, mu: float | None, max_children: int | None
    ) -> None:
        self.a, self.nodes = a, a.all_nodes
        self.shared = name in ("st", "bow")
        self.words = name in ("bow", "sst-leaves")
        self.sums = 0
        if self.shared:
            self.weights = np.ones(len(self.nodes)) if decay is None else self.nodes.subtree_weights(decay)
        elif name == "ptk":
            most = max_children or 0
            self.kernel: _tree_parts.Kernel = _partial_trees.PartialTrees(decay, mu, most)
            self.sums = max(1, most) * self.nodes.most_children
        else:
            self.kernel = _subset_trees.SubsetTrees(decay, self.words)

    def rows(self, which: Index, b: TreeSet, out: Floats) -> None:
        """Compute K of the trees ``which`` and all trees of ``b``."""
        if self.shared:
            given = self.a.lists, which, b.lists, self.weights, self.words
            _shared_nodes.rows(*given, np.zeros(len(self.nodes)), out)
            return
        with self.nodes.room() as room:
            for first, last, part in b.parts:
                self._part(which, b, first, last, part, room, out)

    def diagonal(self) -> Floats:
        """Return K(x, x) of each tree."""
        out = np.empty(self.a.n)
        if self.shared:
            given = self.a.lists, self.weights, self.words
            _shared_nodes.diagonal(*given, np.zeros(len(self.nodes)), out)
            return out
        with self.nodes.room() as room:
            both = self.nodes.native, self.a.lists
            self._all(
                lambda row: self.kernel.diagonal(*both, row, room, out),
                self.a.n,
                self.nodes.largest,
                room,
            )
        return out

    def _part(
        self,
        which: Index,
        b: TreeSet,
        first: int,
        last: int,
        part: _tree_parts.Part,
        room: _tree_parts.Room,
        out: Floats,
    ) -> None:
        """Compute the columns first:last, those of a part of ``b``, or of halves of it for large trees."""
        given = self.nodes.native, self.a.lists, which

        def halves(row: int) -> None:
            middle = (first + last) // 2
            for begin, end in ((first, middle), (middle, last)):
                one = slice(row, row + 1)
                self._part(which[one], b, begin, end, b.part(begin, end), room, out[one])

        self._all(
            lambda row: self.kernel.rows(*given, row, part, room, out, first),
            len(which),
            part.n,
            room,
            halves if last - first > 1 else None,
        )

    def _all(
        self,
        compute: Callable[[int], tuple[int, int]],
        n: int,
        n_nodes: int,
        room: _tree_parts.Room,
        apart: Callable[[int], None] | None = None,
    ) -> None:
        """Compute n rows by a function that stops at rows for which the table is too small.

        Rows that need a large table are computed by ``apart`` if it is given.
        """
        row = 0
        while row < n:
            room.fit(n_nodes, _TABLE, self.sums)
            row, need = compute(row)
            if row == n:
                return
            if apart is not None and need > LARGE_TABLE:
                apart(row)
                row += 1
            else:
                memory.require(
                    8 * need, f"a table of {need:,} pairs of nodes of two trees", "smaller trees need less"
                )
                room.fit(n_nodes, need, self.sums)
