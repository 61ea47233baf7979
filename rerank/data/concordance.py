"""Pairs of items with different labels, and how many of them scores put in the order of the labels."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Index
from rerank.native.metrics import _concordance


class Concordance:
    """The pairs of different labels of each list, prepared to be counted under many scores.

    Parameters
    ----------
    labels : float64 (n_items)
        NaN = unjudged; such items are in no pair.
    offsets : int64 (n_lists + 1)

    Attributes
    ----------
    n_pairs : int64 (n_lists)
    """

    def __init__(self, labels: Floats, offsets: Index) -> None:
        self._offsets = offsets
        self._ranks = np.empty(len(labels), dtype=np.int32)
        self._n_ranks = np.empty(len(offsets) - 1, dtype=np.int32)
        self.n_pairs: Index = np.empty(len(offsets) - 1, dtype=np.int64)
        _concordance.label_ranks(
            np.ascontiguousarray(labels, dtype=np.float64), offsets, self._ranks, self._n_ranks, self.n_pairs
        )

    def right(self, scores: Floats) -> Floats:
        """Return the pairs in the right order under scores (n_items), a tie one half: float64 (n_lists)."""
        right = np.empty(len(self.n_pairs), dtype=np.int64)
        wrong = np.empty_like(right)
        _concordance.concordance(scores, self._offsets, self._ranks, self._n_ranks, right, wrong)
        return (self.n_pairs + right - wrong) / 2.0

    def accuracy(self, scores: Floats, list_weights: Floats | None = None) -> float:
        """Return the share of all pairs that scores put in the right order, a tie one half.

        Parameters
        ----------
        scores : float64 (n_items)
        list_weights : float64 (n_lists), optional
            What a pair of each list counts.

        Returns
        -------
        float
            NaN if there is no pair.
        """
        weights = np.ones(len(self.n_pairs)) if list_weights is None else list_weights
        total = float((weights * self.n_pairs).sum())
        return float((weights * self.right(scores)).sum()) / total if total else float("nan")
