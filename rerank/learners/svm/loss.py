"""The hinge loss of all pairs of all lists, by blocks of lists that threads can share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats
from rerank.core.workers.parallel import each
from rerank.data.matrix import Features
from rerank.data.pairs import Pairs
from rerank.learners.blocks import list_blocks
from rerank.native.learners import _ranksvm

EXPLICIT = 512  # with at most so many features, the curvature is a matrix
_ROOM = 1 << 23  # values of a list at most for that
_DEAR = 200  # about as many products with the curvature cost as much as the matrix at most


class HingeSums(NamedTuple):
    """Sums over the pairs that are violated under a margin, each times the weight of its list.

    Attributes
    ----------
    total, squares
        What the pairs lack to the margin, and the squares of that.
    """

    total: float
    squares: float


class PairLoss:
    """Pairs of items whose scores w·x should differ by 1 at least.

    A pair lacks 1 - w·(x - x') to the margin 1. Lists are divided into blocks, and the blocks' sums are added
    in their order, so that results have the same bits on any number of threads. ``move`` goes to a point, of
    which the other methods return slopes and curvature.

    Parameters
    ----------
    features
        Of all items, of any layout.
    pairs
        Of the relation all or neighbours.
    weight
        float64 (pairs.n_lists): the weight of each pair of a list. The loss of scores that are all 0 is
        their sum over pairs, 1.
    neighbours
        Whether ``pairs`` are those of neighbouring ranks.
    """

    def __init__(self, features: Features, pairs: Pairs, weight: Floats, *, neighbours: bool) -> None:
        n, d, lengths = len(pairs.items), features.n_features, np.diff(pairs.offsets)
        matrix = features.matrix()
        starts = np.diff(pairs.rank, prepend=0) != 0
        starts[pairs.offsets[:-1]] = True
        groups = np.append(np.flatnonzero(starts), n)
        first_group = np.searchsorted(groups, pairs.offsets)
        self.n_features = d
        product = 4.0 * features.n_values / features.n_items + 50.0  # operations of an item
        small = d <= EXPLICIT and d * int(lengths.max()) <= _ROOM
        self.explicit = small and 0.5 * d * d <= _DEAR * product
        self.slope = np.empty(n)
        self._blocks: list[_Block] = []
        for a, b in list_blocks(pairs.offsets, d):
            low, high = (int(bound) for bound in pairs.offsets[[a, b]])
            of, rows = first_group[a : b + 1], slice(low, high)
            given = matrix, pairs.offsets[a : b + 1] - low, pairs.items[rows]
            bounds = groups[of[0] : of[-1] + 1] - low, of - of[0]
            lists = _ranksvm.PairLists(*given, *bounds, weight[a:b], neighbours, self.slope[rows])
            self._blocks.append(_Block(lists, rows, int(lengths[a:b].max())))

    def scores(self, w: Floats) -> Floats:
        """Return the scores of the items (n_items), in the order of the pairs."""
        out = np.empty(len(self.slope))
        each(_ranksvm.scores, [(lists, w, out[rows]) for lists, rows, _ in self._blocks], threads=True)
        return out

    def move(self, scores: Floats, low: float) -> tuple[HingeSums, HingeSums]:
        """Go to finite ``scores`` (n_items), and return the sums under the margin 1 and under ``low``.

        ``slope`` is then, for each item, the sum of what its pairs lack to 1 less what they lack to ``low``;
        less than 0 for pairs in which it is the worse one.
        """
        tasks = [(lists, scores[rows], 1.0, low) for lists, rows, _ in self._blocks]
        sums = np.array(each(_ranksvm.move, tasks, threads=True))
        a, b, c, d = _summed(sums).tolist()
        return HingeSums(a, b), HingeSums(c, d)

    def gather(self, factors: Floats) -> Floats:
        """Return the sum of the items' features times their factors, float64 (n_features)."""
        parts = np.empty((len(self._blocks), self.n_features))
        given = zip(self._blocks, parts, strict=True)
        each(_ranksvm.gather, [(b.lists, factors[b.rows], part) for b, part in given], threads=True)
        return _summed(parts)

    def bend(self, values: Floats) -> Floats:
        """Return for each item the sum of its value less that of the other item of each pair.

        It is over the pairs that are violated under the margin 1 but not under ``low``.

        Parameters
        ----------
        values
            float64 (n_items).
        """
        out = np.empty(len(self.slope))
        tasks = [(lists, values[rows], out[rows]) for lists, rows, _ in self._blocks]
        each(_ranksvm.curve, tasks, threads=True)
        return out

    def curved(self, v: Floats) -> Floats:
        """Return the curvature times ``v`` (n_features): the sum over these pairs of (x - x') (x - x')·v."""
        return self.gather(self.bend(self.scores(v)))

    def curvature(self) -> Floats:
        """Return the upper triangle of the curvature's matrix, float64 (n_features, n_features)."""
        d = self.n_features
        parts = np.empty((len(self._blocks), d, d))

        def fill(block: _Block, part: Floats) -> None:
            _ranksvm.curvature(block.lists, np.empty((2 * block.longest + 1, d)), part)

        each(fill, list(zip(self._blocks, parts, strict=True)), threads=True)
        return _summed(parts)


class _Block(NamedTuple):
    """Lists, their rows in columns of all items, and the length of the longest one."""

    lists: _ranksvm.PairLists
    rows: slice
    longest: int


def _summed(parts: Floats) -> Floats:
    """The sum over blocks, in their order."""
    total: Floats = parts[0].copy()
    for more in parts[1:]:
        total += more
    return total
