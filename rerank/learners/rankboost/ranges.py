"""RankBoost's distribution over pairs, none of which is stored."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Ints
from rerank.data.pairs import Pairs
from rerank.native.data import _pairs
from rerank.native.learners._rankboost import RangePairs


class PairRanges:
    """The distribution of ``ExplicitPairs`` without costs, over ranges of items in the order of labels.

    Time and memory grow as the number of items. Weights are those of the scores F: D is proportional to
    w * exp(F(worse) - F(better)), with the weight w of the list.

    Parameters
    ----------
    pairs
        Which items must beat which.
    weights : float64 (n_lists)
        The initial weight of each pair of a list, times any constant; not negative and not all 0.
    reverse
        The worse item of each pair must beat the better one.
    """

    def __init__(self, pairs: Pairs, weights: Floats, *, reverse: bool = False) -> None:
        with np.errstate(divide="ignore"):
            logs = np.log(weights)
        ranges = ranges_of(pairs)
        if reverse:
            ranges = np.ascontiguousarray(ranges[[2, 3, 0, 1]])
        self._native = RangePairs(pairs.offsets, ranges, logs)
        self._scores: Floats = self._native.scores

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        out = np.empty(len(self._scores))
        total: float = self._native.potentials(out)
        return out, total

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        found: tuple[float, float] = self._native.split(h)
        return found

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        self._scores += step * h


def ranges_of(pairs: Pairs) -> Ints:
    """Return the positions in its list that each item must beat, and those that must beat it.

    Rows are the first position and that after the last one, of either kind: int32 (4, n_items).
    """
    sizes = np.diff(pairs.offsets)
    position = np.arange(len(pairs.items)) - np.repeat(pairs.offsets[:-1], sizes).astype(np.float64)
    out = np.empty((4, len(pairs.items)), dtype=np.int32)
    out[0], out[1] = pairs.start, pairs.stop
    _pairs.first_beyond(pairs.stop.astype(np.float64), pairs.offsets, position, out[2])
    _pairs.first_beyond(pairs.start.astype(np.float64), pairs.offsets, position, out[3])
    return out
