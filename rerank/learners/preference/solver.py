"""The dual problem of the preference SVM, solved on working sets of items.

For pairs p of a better item a and a worse one b, with limits C_p, the minimum of

    |w|² / 2 + the sum of C_p max(0, 1 - w·(phi(a) - phi(b)))

is the maximum over 0 <= alpha_p <= C_p of the sum of alpha_p less |w|² / 2, in which w is the sum over
pairs of alpha_p (phi(a) - phi(b)). The coefficient beta of an item is the sum of the alpha of its pairs,
negative for those in which it is the worse one. Then the score of an item x is f(x) = the sum of
beta_i K(x, i), and |w|² is the sum of beta_i f(i). The slope of the dual along alpha_p is 1 - f(a) + f(b):
the kernel of two pairs, K(a, c) + K(b, d) - K(a, d) - K(b, c), is never made. As a pair has no threshold,
there is no constraint over pairs, and each alpha can change alone.

A working set takes the items of the pairs that violate the conditions of the maximum most, and some of the
last set. All pairs within it are optimised one after the other, over a kernel that is small enough for the
processor's cache; then f moves along one row for each item whose beta changed. This replaces
shrinking: pairs that stay at their limits are not in working sets, and their items' rows are not computed.

References
----------
Joachims: Making large-scale SVM learning practical. Advances in Kernel Methods, 1999 (working sets).
Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM. ICML
2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core import memory, progress
from rerank.core.types import Floats, Index, Ints
from rerank.learners.deterministic import deterministic_dot
from rerank.native.learners import _preference
from rerank.similarity.expression import Items
from rerank.similarity.item_sums import kernel_rows


class KernelRows:
    """The kernel of items with all items.

    The kernel is symmetric: what is in a row that is kept is not computed again for other rows. If all rows
    fit, each value is computed once at most. Otherwise the rows that were not used for longest make room.

    - ``items``: all items.
    - ``room``: bytes that rows may take, which is enough for two rows if it is less.

    Raises RerankError if there is no memory for the rows.

    Attributes
    ----------
    values
        float64 (capacity, n).
    n, capacity
        Items, and rows that are kept at most.
    """

    def __init__(self, items: Items, room: float) -> None:
        self.n = items.n
        self.capacity = int(min(self.n, max(room // (8 * self.n), 2)))
        what = f"{self.capacity:,} rows of the kernel of {self.n:,} items"
        memory.require(8 * self.capacity * self.n, what, "a smaller cache needs less")
        self.values = np.empty((self.capacity, self.n))
        self._items = items
        self._slots = np.full(self.n, -1, dtype=np.int64)  # of each item's row
        self._owners = np.full(self.capacity, -1, dtype=np.int64)  # the item of each slot
        self._used = np.zeros(self.capacity, dtype=np.int64)  # when it was fetched last
        self._time = 0

    def fetch(self, wanted: Index) -> Index:
        """Return the places in ``values`` of the rows of items, ``capacity`` different ones at most."""
        self._time += 1
        kept = self._slots[wanted]
        self._used[kept[kept >= 0]] = self._time
        missing = np.sort(wanted[kept < 0])  # neighbours share trees, such as their question's
        if len(missing):
            slots = np.argsort(self._used, kind="stable")[: len(missing)]
            left = self._owners[slots]
            self._slots[left[left >= 0]] = -1
            self._compute(missing, slots)
            self._slots[missing] = slots
            self._owners[slots] = missing
            self._used[slots] = self._time
        found: Index = self._slots[wanted]
        return found

    def _compute(self, items: Index, slots: Index) -> None:
        """Fill the rows of some items, from the other rows that are kept as far as these go."""
        known, rest = np.flatnonzero(self._slots >= 0), np.flatnonzero(self._slots < 0)
        self.values[np.ix_(slots, known)] = self.values[np.ix_(self._slots[known], items)].T
        self.values[np.ix_(slots, rest)] = kernel_rows(self._items, items, self._items.take(rest))


ROOM = 192  # items of a working set
_FRESH = 0.75  # of them come from the pairs that violate most, the others from the last set
_SOLVED = 0.2  # of the largest violation may remain in a working set
_SWEEPS = 20  # over its pairs at most
_ROUNDING = 1e-13


class NotDefiniteError(Exception):
    """The kernel is not positive semi-definite, as items ``better`` and ``worse`` show."""

    def __init__(self, better: int, worse: int) -> None:
        self.better, self.worse = better, worse
        super().__init__(better, worse)


@dataclass(frozen=True, eq=False)
class Solution:
    """A point of the dual problem.

    Attributes
    ----------
    beta, scores
        float64 (n_items): the coefficients of items, and f.
    n_pairs
        Pairs whose alpha is not 0.
    loss, objective, gap
        The weighted loss of the pairs, the objective, and a bound of its distance from the minimum.
    iterations, converged
        Working sets, and whether the gap is small enough.
    """

    beta: Floats
    scores: Floats
    n_pairs: int
    loss: float
    objective: float
    gap: float
    iterations: int
    converged: bool


class PreferenceDual:
    """Pairs of items, and a point of their dual problem from which the next search starts.

    - ``rows``: the kernel.
    - ``better``, ``worse``: int32 (n_pairs), the items of each pair, two different ones.
    """

    def __init__(self, rows: KernelRows, better: Ints, worse: Ints) -> None:
        self.rows, self.better, self.worse = rows, better, worse
        self._alpha = np.zeros(len(better))
        self._beta, self._f = np.zeros(rows.n), np.zeros(rows.n)
        self._last = np.empty(0, dtype=np.int64)  # the last working set

    def maximise(self, most: Floats, tolerance: float, iterations: int) -> Solution:
        """Return the maximum under the limits ``most`` (n_pairs), 0 for pairs that do not count.

        The search starts at the point where the last one ended. The gap is at most ``tolerance`` times the
        objective, and times what it is below that of weights 0.

        Raises OverflowError if the kernel or a score is not finite. Raises NotDefiniteError if the kernel is
        found to be indefinite.
        """
        self._move_within(most)
        violation = np.empty(len(most))
        at_0 = float(most.sum())
        for done in progress.over(range(iterations + 1), "minimising the loss", None, "iteration"):
            loss, mass = _preference.measure(self.better, self.worse, most, self._alpha, self._f, violation)
            square = deterministic_dot(self._beta, self._f)
            objective = 0.5 * square + loss
            gap = max(square + loss - mass, 0.0)
            if not np.isfinite(objective):
                raise OverflowError
            enough = max(tolerance * min(objective, at_0 - objective), _ROUNDING * objective)
            if gap <= enough or done == iterations or not self._improve(most, violation):
                break
        n_pairs = int(np.count_nonzero(self._alpha))
        beta, f = self._beta.copy(), self._f.copy()
        return Solution(beta, f, n_pairs, loss, objective, gap, done, gap <= enough)

    def _move_within(self, most: Floats) -> None:
        """Go to the best multiple of the last point that keeps its limits; shorten what exceeds ``most``."""
        mass, square = float(self._alpha.sum()), deterministic_dot(self._beta, self._f)
        free = self._alpha > 0.0
        widest = float(np.min(most[free] / self._alpha[free], initial=np.inf))
        factor = min(widest, mass / square) if square > 0.0 else 1.0
        alpha = np.minimum(self._alpha * max(factor, 1.0), most)
        gains, losses = (np.bincount(side, alpha, self.rows.n) for side in (self.better, self.worse))
        beta = np.asarray(gains - losses, dtype=np.float64)
        self._alpha = alpha
        self._advance(beta - self._beta)
        self._beta = beta

    def _advance(self, change: Floats) -> None:
        """Move the scores by a change (n_items) of the coefficients."""
        items = np.flatnonzero(change)
        for first in range(0, len(items), self.rows.capacity):
            part = items[first : first + self.rows.capacity]
            _preference.advance(self.rows.values, self.rows.fetch(part), change[part], self._f)

    def _improve(self, most: Floats, violation: Floats) -> bool:
        """Optimise the pairs of one working set; return whether anything changed."""
        items, place = self._working_set(violation)
        if not len(items):
            return False
        slots = self.rows.fetch(items)
        pairs = np.empty(len(most), dtype=np.int64)
        pairs = pairs[: _preference.within(self.better, self.worse, place, pairs)]
        better, worse = place[self.better[pairs]], place[self.worse[pairs]]
        alpha, change = self._alpha[pairs], np.zeros(len(items))
        gram = self.rows.values[slots[:, None], items]
        enough = _SOLVED * float(violation[pairs].max(initial=0.0))
        steps, bad = _preference.ascend(
            better, worse, most[pairs], alpha, gram, self._f[items], change, enough, _SWEEPS
        )
        if bad >= 0:
            raise NotDefiniteError(int(items[better[bad]]), int(items[worse[bad]]))
        self._alpha[pairs] = alpha
        self._beta[items] += change
        _preference.advance(self.rows.values, slots, change, self._f)
        return bool(steps)

    def _working_set(self, violation: Floats) -> tuple[Index, Ints]:
        """The items of the next working set, and the place in it of each item (n_items), -1 of others."""
        n, room = self.rows.n, min(ROOM, self.rows.capacity)
        if room == n:
            return np.arange(n), np.arange(n, dtype=np.int32)
        place, items = np.full(n, -1, dtype=np.int32), np.empty(room, dtype=np.int64)
        order = _largest(violation, 4 * room)
        pairs = self.better, self.worse
        found = _preference.choose(order, *pairs, 0, place, items[: max(int(_FRESH * room), 2)])
        more = self._last[place[self._last] < 0][: room - found]
        place[more] = np.arange(found, found + len(more))
        items[found : found + len(more)] = more
        found = _preference.choose(order, *pairs, found + len(more), place, items)
        self._last = items[:found]
        return self._last, place


def _largest(values: Floats, k: int) -> Index:
    """The places of the ``k`` largest values above 0, largest first, on ties the first; fewer if not so many.

    No more is sorted than is needed.
    """
    positive = np.flatnonzero(values > 0.0)
    if len(positive) > k:
        bound = np.partition(values[positive], len(positive) - k)[len(positive) - k]
        above = np.flatnonzero(values > bound)
        equal = np.flatnonzero(values == bound)[: k - len(above)]
        positive = np.concatenate([above, equal])
    order: Index = positive[np.argsort(-values[positive], kind="stable")]
    return order
