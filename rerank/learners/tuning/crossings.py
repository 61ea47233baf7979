"""Lists prepared for coordinate ascent: where along a feature's line the order of items changes."""

from __future__ import annotations

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense

PAIRS = 4096  # drawn from all lists together
_LEAST = 4  # from each list


class Crossings:
    """The columns of features that vary within lists, and pairs of items whose order matters.

    Along a feature the score of an item is s + gamma * x, and two items change places where their lines
    cross. All pairs of a list of 1,000 items cross in half a million places for every feature, most of which
    change no metric; the crossings of a sample of pairs show where the order changes. It never changes, so
    that several threads can use it.

    Parameters
    ----------
    lists
        Training lists.
    rng
        Draws pairs in each list, of items with different labels if it has any.
    """

    def __init__(self, lists: CandidateLists, rng: np.random.Generator) -> None:
        self.features = lists.features
        self.columns: dict[int, tuple[Ints, Floats]] = {}  # of features that are not dense
        if not isinstance(self.features, Dense):
            n = self.features.n_values
            memory.require(12 * n, f"columns of {n:,} values", "fewer features need less")
        starts, varying = lists.offsets[:-1], []
        self.pairs = drawn_pairs(lists, rng)
        for j, (items, values) in enumerate(self.features.by_column()):
            if len(values):
                if items is not None:
                    self.columns[j] = items, values
                column = values if items is None else self.column(j)
                if np.any(np.maximum.reduceat(column, starts) > np.minimum.reduceat(column, starts)):
                    varying.append(j)
                else:
                    self.columns.pop(j, None)
        self.varying: Index = np.array(varying, dtype=np.int64)

    def column(self, feature: int) -> Floats:
        """Return the values (n_items) of a feature that varies.

        Those of dense features are gathered anew: that is a small part of a line search, and columns that
        are kept take twice the memory of a float32 matrix.
        """
        if feature not in self.columns:
            return self.features.column(feature)
        items, values = self.columns[feature]
        column = np.zeros(self.features.n_items)
        column[items] = values
        return column

    def along(self, scores: Floats, column: Floats) -> Floats:
        """Return the different gamma, rising, at which ``scores`` + gamma * ``column`` tie a drawn pair.

        Both are float64 (n_items). Crossings that overflow are left out.
        """
        a, b = self.pairs
        slope = column[a] - column[b]
        crossing = slope != 0
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = (scores[b] - scores[a])[crossing] / slope[crossing]
        return np.unique(gamma[np.isfinite(gamma)] + 0.0)


def drawn_pairs(lists: CandidateLists, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return pairs of items drawn in each list, int64 (n_pairs) each.

    They have different labels; if no list has two different labels, they are any pairs.
    """
    each = max(_LEAST, PAIRS // lists.n_lists)
    size = (lists.n_lists, each)
    memory.require(64 * lists.n_lists * each, f"{lists.n_lists * each:,} pairs")
    lengths = lists.lengths[:, None]
    a, b = ((rng.random(size) * lengths).astype(np.int64) + lists.offsets[:-1, None] for _ in range(2))
    if lists.labels is not None:
        differ = np.abs(lists.labels[a] - lists.labels[b]) > 0  # NaN does not
        if differ.any():
            return a[differ], b[differ]
    return a[a != b], b[a != b]
