"""Distributions over pairs without labels, and several distributions as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.types import Bytes, Floats
from rerank.data.pairs import Pairs
from rerank.learners.rankboost.rounds import Distribution, ranges_of
from rerank.native.transductive import _pseudo_margin


class PseudoPairs:
    """The distribution over the pairs of one list of which the better item is the one that scores more now.

    The weight of a pair is exp(-|F_i - F_j|). Pairs of equal scores, which differ by 1e-10 at most, have no
    better item and no weight: with F = 0 none has one. Time grows as n log n with the number of items: they
    are visited in the order of their scores, and sums over ranges of partners come from a tree, in which
    nothing is subtracted.

    Parameters
    ----------
    pairs
        Of one list; which item of a pair is better does not count.
    scores : float64 (n_items)
        F of the items of the pairs.
    """

    def __init__(self, pairs: Pairs, scores: Floats) -> None:
        self.n_pairs = pairs.n_pairs
        self._ranges = ranges_of(pairs)
        self._scores = scores.copy()
        self._tree = np.empty(2 * len(scores))
        self._all = np.ones(len(scores), dtype=np.uint8)
        self._total = 0.0

    def _sums(self, member: Bytes, rate: float = 1.0) -> Floats:
        """The sums over the members of each item's pairs that score less, and that score more: (2, n)."""
        out = np.empty((2, len(self._scores)))
        order = np.argsort(-self._scores, kind="stable")
        _pseudo_margin.pair_sums(self._ranges, member, self._scores, order, rate, self._tree, out)
        return out

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        below, above = self._sums(self._all)
        self._total = float(below.sum())
        if self._total == 0.0:
            return np.zeros(len(below)), -np.inf
        return (below - above) / self._total, float(np.log(self._total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        if self._total == 0.0:
            return 0.0, 0.0
        below, above = self._sums((h == 0).astype(np.uint8))
        passed = h == 1
        return float(below[passed].sum() / self._total), float(above[passed].sum() / self._total)

    def advance(self, h: Floats, step: float) -> None:
        """Change the scores of items by a weak ranker with values h (n)."""
        self._scores += step * h

    def n_tied(self) -> int:
        """Return the number of pairs of equal scores."""
        return self.n_pairs - round(float(self._sums(self._all, rate=0.0)[0].sum()))


class Mixture:
    """Several distributions as one.

    Parameters
    ----------
    parts
        Each distribution, its items among all n, and the log of a factor of its weights.
    n
        The number of items.
    """

    def __init__(self, parts: Sequence[tuple[Distribution, slice, float]], n: int) -> None:
        self._parts, self._n = parts, n
        self._shares = [0.0] * len(parts)

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights; see ``ExplicitPairs``."""
        found = [part.potentials() for part, _, _ in self._parts]
        logs = [log + factor for (_, log), (_, _, factor) in zip(found, self._parts, strict=True)]
        total = float(np.logaddexp.reduce(logs))
        self._shares = [float(np.exp(log - total)) for log in logs]
        out = np.zeros(self._n)
        for (_, items, _), (own, _), share in zip(self._parts, found, self._shares, strict=True):
            out[items] += share * own
        return out, total

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of pairs that a binary h puts right, and of those that it puts wrong."""
        found = [part.split(h[items]) for part, items, _ in self._parts]
        right, wrong = (np.dot(self._shares, side) for side in zip(*found, strict=True))
        return float(right), float(wrong)

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        for part, items, _ in self._parts:
            part.advance(h[items], step)
