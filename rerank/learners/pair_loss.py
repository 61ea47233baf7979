"""The loss of pairs of items whose scores should differ by a margin, and its slopes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats
from rerank.core.workers.parallel import each
from rerank.data.matrix import Features
from rerank.data.pairs import Pairs
from rerank.learners.deterministic import list_blocks
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


class Place(NamedTuple):
    """The weights w + length * step, each (n_features), and the lower margin of the smoothing.

    A place says all that a loss there depends on, so that any process can be asked.
    """

    w: Floats
    low: float
    step: Floats | None = None
    length: float = 0.0

    def same(self, other: Place) -> bool:
        """Return whether the other place is this one."""
        if (self.low, self.length, self.step is None) != (other.low, other.length, other.step is None):
            return False
        pairs = ((self.w, other.w), (self.step, other.step))
        return all(a is b or np.array_equal(a, b) for a, b in pairs if a is not None and b is not None)

    @property
    def weights(self) -> Floats:
        """The weights."""
        return self.w if self.step is None else self.w + self.length * self.step


def is_explicit(n_features: int, longest: int, values: float) -> bool:
    """Return whether the curvature is made as a matrix.

    - ``longest``: items of the longest list.
    - ``values``: mean number of values of an item.
    """
    small = n_features <= EXPLICIT and n_features * longest <= _ROOM
    return small and 0.5 * n_features * n_features <= _DEAR * (4.0 * values + 50.0)


class PairLoss:
    """Pairs of items whose scores w·x should differ by their margin g at least, which is 1 if it is even.

    A pair lacks g - w·(x - x') to its margin. As g is h - h' + c, that is c less the difference of w·x - h.
    Lists are divided into blocks, and the blocks' sums are added
    in their order, so that results have the same bits on any number of threads. ``set_point`` goes to a
    point, of which the other methods return slopes and curvature.

    - ``features``: of all items, of any layout.
    - ``pairs``: of the relation all or neighbours.
    - ``weight``: float64 (pairs.n_lists): the weight of each pair of a list. The loss of scores that are all
      0 is their sum over pairs, 1.
    - ``neighbours``: whether ``pairs`` are those of neighbouring ranks.
    """

    def __init__(self, features: Features, pairs: Pairs, weight: Floats, *, neighbours: bool) -> None:
        n, d = len(pairs.items), features.n_features
        lengths = np.diff(pairs.offsets)
        matrix = features.matrix()
        starts = np.diff(pairs.rank, prepend=0) != 0
        starts[pairs.offsets[:-1]] = True
        groups = np.append(np.flatnonzero(starts), n)
        first_group = np.searchsorted(groups, pairs.offsets)
        self.n_features = d
        self.slope = np.empty(n)
        self.h, self.c = pairs.h if pairs.h.any() else None, pairs.c
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

    def set_point(self, scores: Floats, low: float) -> tuple[HingeSums, HingeSums]:
        """Go to finite ``scores`` (n_items), and return the sums under margins g and under g - 1 + ``low``.

        ``slope`` is then, for each item, the sum of what its pairs lack to the one less what they lack to the
        other; less than 0 for pairs in which it is the worse one.
        """
        scores = scores if self.h is None else scores - self.h
        high, low = self.c, low - 1.0 + self.c
        tasks = [(lists, scores[rows], high, low) for lists, rows, _ in self._blocks]
        sums = np.array(each(_ranksvm.move, tasks, threads=True))
        a, b, c, d = _summed(sums).tolist()
        return HingeSums(a, b), HingeSums(c, d)

    def transposed_product(self, factors: Floats) -> Floats:
        """Return the sum of the items' features times their factors, float64 (n_features)."""
        parts = np.empty((len(self._blocks), self.n_features))
        given = zip(self._blocks, parts, strict=True)
        each(_ranksvm.gather, [(b.lists, factors[b.rows], part) for b, part in given], threads=True)
        return _summed(parts)

    def hessian_diagonal(self, values: Floats) -> Floats:
        """Return for each item the sum of its value less that of the other item of each pair.

        It is over the pairs that are violated under their margin but not under the lower one.

        - ``values``: float64 (n_items).
        """
        out = np.empty(len(self.slope))
        tasks = [(lists, values[rows], out[rows]) for lists, rows, _ in self._blocks]
        each(_ranksvm.curve, tasks, threads=True)
        return out

    def hessian_vector(self, v: Floats) -> Floats:
        """Return the curvature times ``v`` (n_features): the sum over these pairs of (x - x') (x - x')·v."""
        return self.transposed_product(self.hessian_diagonal(self.scores(v)))

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
