"""RankBoost's distribution over pairs, each of which is stored."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Index
from rerank.native.learners import _rankboost_explicit

_RANGE = (1e-100, 1e100)  # of sums; shares that vanish beside one within it do not count


class ExplicitPairs:
    """A distribution over stored pairs of n items.

    Each pair has a weight D, which a weak ranker h with the step a multiplies by
    exp(-c * a * (h(better) - h(worse))). In RankBoost the cost c is 1. In AdaCost a pair has two costs: one
    counts if h and the sign of the step put the better item first, the other if they put it last.

    A round takes time for each pair, but an exponential only for pairs whose two items have different h.

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

    Notes
    -----
    The weak ranker and its step are those of RankBoost for D, whatever the costs: costs change D alone, as
    in Duh's Algorithm 7. Fan et al. instead choose both by r = the sum of D * u with u = c * (h(better) -
    h(worse)), as the sum of D * exp(-a * u) is at most sqrt(1 - r^2) at their step. With the costs
    0.5 - 0.5 * w of pairs that are put right and 0.5 + 0.5 * w of those put wrong, that r is half of
    RankBoost's less half of the sum of D * w over all pairs that h tells apart. It is 0 or less for every h
    if all w are 1, so that no round would be taken; and which h has the largest cannot be told from sums
    over items.

    References
    ----------
    Fan, Stolfo, Zhang, Chan: AdaCost: Misclassification cost-sensitive boosting. ICML 1999.
    Duh: Learning to rank with partially-labeled data. University of Washington, 2009, section 6.1.
    """

    def __init__(
        self, better: Index, worse: Index, n: int, weights: Floats, costs: Floats | None = None
    ) -> None:
        self.costs = None if costs is None else np.ascontiguousarray(costs, dtype=np.float64)
        self._pairs = np.array([better, worse], dtype=np.int32)
        with np.errstate(divide="ignore"):
            self._logs: Floats = np.log(weights)
        self._sums = np.empty((2, n))
        self._centre()

    def _centre(self) -> None:
        """Compute all shares anew, with the factor by which the largest is 1."""
        self._reference = float(self._logs.max())
        self._shares: Floats = np.exp(self._logs - self._reference)
        self._total = self._moved(np.zeros(self._sums.shape[1]), 0.0)

    def _moved(self, h: Floats, step: float) -> float:
        """Change the weights of pairs, and return the sum of shares."""
        found: float = _rankboost_explicit.advance(
            self._pairs, h, step, self.costs, self._logs, self._shares, self._reference, self._sums
        )
        return found

    def potentials(self) -> tuple[Floats, float]:
        """Return the potentials of items, and the log of the sum of weights.

        The potential of an item, in float64 (n), is the share of the weights of the pairs that it must win
        less that of those that it must lose.
        """
        out: Floats = (self._sums[0] - self._sums[1]) / self._total
        return out, self._reference + float(np.log(self._total))

    def split(self, h: Floats) -> tuple[float, float]:
        """Return the share of the pairs that a binary h (n) puts right, and of those that it puts wrong."""
        right, wrong = _rankboost_explicit.split(self._pairs, h, self._shares)
        return right / self._total, wrong / self._total

    def advance(self, h: Floats, step: float) -> None:
        """Multiply the weights of pairs for a weak ranker with values h (n)."""
        self._total = self._moved(h, step)
        if not _RANGE[0] < self._total < _RANGE[1]:
            self._centre()
