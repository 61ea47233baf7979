"""RankBoost's distribution over pairs, each of which is stored."""

from __future__ import annotations

import numpy as np

from rerank.data.types import Floats, Index


class ExplicitPairs:
    """A distribution over stored pairs of n items.

    Each pair has a weight D, which a weak ranker h with the step a multiplies by
    exp(-c * a * (h(better) - h(worse))). In RankBoost the cost c is 1. In AdaCost a pair has two costs: one
    counts if h and the sign of the step put the better item first, the other if they put it last.

    Parameters
    ----------
    better, worse : int64 (n_pairs)
        Positions of items.
    n
        The number of items.
    weights : float64 (n_pairs)
        The initial distribution times any constant; not negative and not all 0.
    costs : float64 (2, n_pairs), optional
        The costs of pairs that are put right, and of those that are put wrong; None = 1.
    """

    def __init__(
        self, better: Index, worse: Index, n: int, weights: Floats, costs: Floats | None = None
    ) -> None:
        self.better, self.worse, self.n, self.costs = better, worse, n, costs
        with np.errstate(divide="ignore"):
            self._log = np.log(weights)
        self._share = np.empty(0)

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights.

        The potential of an item, in float64 (n), is the share of the weights of the pairs that it must win
        less that of those that it must lose.
        """
        top = self._log.max()
        share = np.exp(self._log - top)
        total = share.sum()
        self._share = share / total
        wins, losses = (np.bincount(items, self._share, self.n) for items in (self.better, self.worse))
        out: Floats = wins.astype(np.float64) - losses
        return out, float(top + np.log(total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of the pairs that a binary h (n) puts right, and of those that it puts wrong.

        ``potentials`` must have been called after the last change.
        """
        difference = h[self.better] - h[self.worse]
        return float(self._share[difference > 0].sum()), float(self._share[difference < 0].sum())

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        change = step * (h[self.better] - h[self.worse])
        if self.costs is not None:
            change *= np.where(change > 0, self.costs[0], self.costs[1])
        self._log -= change
