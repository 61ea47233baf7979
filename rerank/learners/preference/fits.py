"""Minima of the preference SVM under several C, and the scores that they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core import memory
from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.preference.items import ItemPairs
from rerank.learners.preference.rows import KernelRows
from rerank.learners.preference.solver import NotDefiniteError, PreferenceDual, Solution
from rerank.models.preference import expansion, kernel_rows
from rerank.native.learners import _preference
from rerank.similarity.expression import Items


@dataclass(frozen=True, eq=False)
class Fitted:
    """A minimum and its C."""

    strength: float
    solution: Solution

    def row(self) -> dict[str, float]:
        """Return what the learning curve has of it."""
        found = self.solution
        support = int(np.count_nonzero(found.beta))
        return {
            "C": self.strength,
            "iterations": found.iterations,
            "objective": found.objective,
            "support": support,
        }


class Fits:
    """Minima of the loss of the same pairs.

    Parameters
    ----------
    lists
        The training lists.
    pairs
        Their pairs.
    sets
        Items of the training lists, and of each of ``others``, prepared together.
    others
        Further lists to score, such as those for development.
    room
        Bytes for rows of the kernel, and as many for those of other items.
    stop
        The tolerance of ``PreferenceDual.maximise``, and its number of iterations.
    """

    def __init__(
        self,
        lists: CandidateLists,
        pairs: ItemPairs,
        sets: Sequence[Items],
        others: Sequence[CandidateLists],
        room: float,
        stop: tuple[float, int],
    ) -> None:
        self.lists, self.pairs = lists, pairs
        self.items = sets[0].take(pairs.firsts)
        self.stop = stop
        self.iterations = 0  # of all minima
        self._dual = PreferenceDual(KernelRows(self.items, room), pairs.better, pairs.worse)
        self._rest = np.flatnonzero(pairs.numbers < 0)
        self._scorers = {id(lists): _Scorer(self.items, sets[0].take(self._rest), room)}
        for some, items in zip(others, sets[1:], strict=True):
            self._scorers[id(some)] = _Scorer(self.items, items, room)

    def mean_norm(self) -> float:
        """Return the mean over pairs of |phi(better) - phi(worse)|, by rows that the search needs too."""
        better, worse = self.pairs.better, self.pairs.worse
        if len(np.unique(better)) > len(np.unique(worse)):
            better, worse = worse, better
        items, number = np.unique(better, return_inverse=True)
        own, rows = self.items.diagonal(), self._dual.rows
        norms = np.empty(len(better))
        for first in range(0, len(items), rows.capacity):
            slots = rows.fetch(items[first : first + rows.capacity].astype(np.int64))
            of = np.flatnonzero((number >= first) & (number < first + len(slots)))
            cross = rows.values[slots[number[of] - first], worse[of]]
            norms[of] = np.sqrt(np.maximum(own[better[of]] + own[worse[of]] - 2.0 * cross, 0.0))
        return float(norms.mean())

    def limits(self, strength: float) -> Floats:
        """Return the weight of each pair's loss under C, float64 (n_pairs)."""
        return strength * self.pairs.weight

    def minimum(self, strength: float, before: Fitted | None = None) -> Fitted:
        """Return the minimum under C, searched from the last one; it does not matter which ``before`` is."""
        return Fitted(strength, self.solution(self.limits(strength)))

    def solution(self, most: Floats) -> Solution:
        """Return the minimum under limits of the pairs, searched from the last one.

        Raises FitError if a value overflows, or the kernel is not positive semi-definite.
        """
        source = self.lists.source
        try:
            found = self._dual.maximise(most, *self.stop)
        except OverflowError:
            raise FitError(f"{source}: the loss overflows; scale the features (--scaling)") from None
        except NotDefiniteError as error:
            places = (self.lists.place_of(int(self.pairs.firsts[i])) for i in (error.better, error.worse))
            text = "the kernel is not positive semi-definite: K(a, a) + K(b, b) - 2 K(a, b) is negative for"
            raise FitError(f"{source}: {text} {' and '.join(places)}") from None
        self.iterations += found.iterations
        return found

    def scores(self, step: Fitted, lists: CandidateLists) -> Floats:
        """Return the scores of the training lists or of other ones, float64 (n_items)."""
        found = self._scorers[id(lists)].scores(step.solution.beta)
        if lists is not self.lists:
            return found
        out = step.solution.scores[self.pairs.numbers]
        out[self._rest] = found
        return out


class _Scorer:
    """Scores of other items than those trained on; rows of the kernel are kept if there is room for all."""

    def __init__(self, items: Items, others: Items, room: float) -> None:
        self._items, self._others = items, others
        need, self._rows = 8 * items.n * others.n, None
        if need <= room:
            memory.require(
                need, f"a kernel of {items.n:,} x {others.n:,} items", "a smaller cache needs less"
            )
            self._rows = np.empty((items.n, others.n))
        self._known = np.zeros(items.n, dtype=bool)

    def scores(self, beta: Floats) -> Floats:
        """Return the scores of the items under the coefficients ``beta`` of those trained on."""
        out, support = np.zeros(self._others.n), np.flatnonzero(beta)
        if len(out) == 0:
            return out
        if self._rows is None:
            return expansion(self._items.take(support), self._others, beta[support])
        missing = support[~self._known[support]]
        self._rows[missing] = kernel_rows(self._items, missing, self._others)
        self._known[missing] = True
        _preference.advance(self._rows, support, beta[support], out)
        return out
