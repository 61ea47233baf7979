"""The scale that turns scores into probabilities of being the best item of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError, FitError
from rerank.core.types import Floats, Index, Ints, Mask
from rerank.data.folds import folds
from rerank.data.lists import CandidateLists
from rerank.data.overlap import copy_groups
from rerank.data.pairs import Pairs
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.preference.solver import KernelRows, NotDefiniteError, PreferenceDual, Solution
from rerank.native.learners import _preference
from rerank.similarity.expression import Items
from rerank.similarity.item_sums import expansion, kernel_rows

_PAIR_BYTES = 64  # of a pair in the columns below, and while they are made


@dataclass(frozen=True, eq=False)
class ItemPairs:
    """Pairs of items, in which equal items of training are one.

    Attributes
    ----------
    firsts : int64 (n)
        The first row in the set of each different item.
    numbers : int64 (n_items)
        The different item of each item of the set, -1 of those that no pair could have.
    better, worse : int32 (n_pairs)
        Of each pair.
    weight : float64 (n_pairs)
        The weight of its loss; the mean over all pairs is 1, also over those that are left out.
    of_list : int64 (n_pairs)
        The list that it is from.
    n_equal : int
        Pairs of equal items that were left out: no weights separate them, so that their loss is constant.
    """

    firsts: Index
    numbers: Index
    better: Ints
    worse: Ints
    weight: Floats
    of_list: Index
    n_equal: int

    @classmethod
    def of(
        cls, lists: CandidateLists, pairs: Pairs, codes: Index, list_weights: Floats, *, balance: bool
    ) -> ItemPairs:
        """Return the pairs of lists.

        - ``lists``: the training lists.
        - ``pairs``: of those whose weight is not 0.
        - ``codes``: int64 (n_items), see ``equal_items``.
        - ``list_weights``: float64 (n_lists).
        - ``balance``: whether every list counts as much as another.

        Raises RerankError if there is no memory for the pairs.
        """
        n_pairs, counts = pairs.n_pairs, pairs.counts
        memory.require(_PAIR_BYTES * n_pairs, f"{n_pairs:,} pairs", "pairs=neighbours may need less")
        _, firsts, codes_of = np.unique(codes[pairs.items], return_index=True, return_inverse=True)
        order = np.argsort(firsts, kind="stable")  # different items in the order of the set
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        numbers = np.full(lists.n_items, -1, dtype=np.int64)
        numbers[pairs.items] = number[codes_of]
        share = list_weights[pairs.lists] / list_weights[pairs.lists].max()  # sums do not overflow
        share = share / counts if balance else share
        share *= n_pairs / deterministic_dot(share, counts.astype(np.float64))
        better, worse = (numbers[pairs.items[side]].astype(np.int32) for side in pairs.explicit())
        kept = np.flatnonzero(better != worse)
        weight, of_list = np.repeat(share, counts)[kept], np.repeat(pairs.lists, counts)[kept]
        rows, n_equal = pairs.items[firsts[order]], n_pairs - len(kept)
        return cls(rows, numbers, better[kept], worse[kept], weight, of_list, n_equal)


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

    - ``lists``: the training lists.
    - ``pairs``: their pairs.
    - ``sets``: items of the training lists, and of each of ``others``, prepared together.
    - ``others``: further lists to score, such as those for development.
    - ``room``: bytes for rows of the kernel, and as many for those of other items.
    - ``stop``: the tolerance of ``PreferenceDual.maximise``, and its number of iterations.
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
            what = f"a kernel of {items.n:,} x {others.n:,} items"
            memory.require(need, what, "a smaller cache needs less")
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


_GRID = 121  # scales from 0.001 to 1000 times the inverse of the scores' deviation within lists
_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 60  # of golden sections, each of which shortens an interval to 0.618 of it


class Scale(NamedTuple):
    """A scale, the mean of -log P(best) over lists with it, and whether a larger one would be better."""

    scale: float
    loss: float
    at_end: bool


def learnt_scale(fits: Fits, pairs: Pairs, list_weights: Floats, strength: float, k: int) -> Scale:
    """Return the scale of the largest likelihood of the best items, by scores of models of other lists.

    The lists with pairs are divided into ``k`` folds; copies of a list stay together. The lists of a fold are
    scored by the minimum over the pairs of all others, under the same C.

    Raises FitError if there are fewer lists than folds.
    """
    every = copy_groups(fits.lists)
    copies = [every[i] for i in pairs.lists.tolist()]
    try:
        parts = folds(pairs.n_lists, k, key=copies if len(set(copies)) < len(copies) else None)
    except DataError as error:
        raise FitError(f"{fits.lists.source}: probability=true: {error}") from None
    limits, numbers = fits.limits(strength), fits.pairs.numbers[pairs.items]
    fold_of_list = np.full(fits.lists.n_lists, -1)
    for number, part in enumerate(parts):
        fold_of_list[pairs.lists[part.test]] = number
    fold_of = fold_of_list[fits.pairs.of_list]
    fold_of_item = np.repeat(fold_of_list[pairs.lists], np.diff(pairs.offsets))
    scores = np.empty(len(numbers))
    for number in range(k):
        found = fits.solution(np.where(fold_of == number, 0.0, limits))
        rows = np.flatnonzero(fold_of_item == number)
        scores[rows] = found.scores[numbers[rows]]
    return best_scale(scores, pairs.rank == 1, pairs.offsets, list_weights[pairs.lists])


def best_scale(scores: Floats, best: Mask, offsets: Index, weights: Floats) -> Scale:
    """Return the scale s of the largest sum over lists of log P, in which P is the softmax of s * scores.

    With several best items P is the sum of theirs.

    - ``scores``: float64 (n_items).
    - ``best``: bool (n_items), one or more of each list.
    - ``offsets``: int64 (n_lists + 1).
    - ``weights``: float64 (n_lists).
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    away = scores - np.repeat(np.add.reduceat(scores, starts) / lengths, lengths)
    unit = float(np.sqrt(np.mean(away**2)))

    def value(scale: float) -> float:
        every = _log_sums(scale * away, starts, lengths)
        good = _log_sums(np.where(best, scale * away, -np.inf), starts, lengths)
        return float(np.sum(weights * (every - good)) / weights.sum())

    if not unit > 0.0:
        return Scale(0.0, value(0.0), False)
    grid = np.concatenate([[0.0], 10.0 ** np.linspace(-3.0, 3.0, _GRID) / unit])
    losses = [value(scale) for scale in grid.tolist()]
    at = int(np.argmin(losses))
    at_end = losses[-1] == losses[at]  # without errors the loss falls to 0, and remains there
    if at == 0 or at_end:
        return Scale(float(grid[at]), losses[at], at_end and at > 0)
    scale = _least(value, float(grid[at - 1]), float(grid[at + 1]))
    return Scale(scale, value(scale), False)


def _log_sums(values: Floats, starts: Index, lengths: Index) -> Floats:
    """The logarithm of the sum of exp(values) of each list."""
    tops = np.maximum.reduceat(values, starts)
    with np.errstate(under="ignore"):
        sums: Floats = tops + np.log(np.add.reduceat(np.exp(values - np.repeat(tops, lengths)), starts))
    return sums


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The place of a minimum between two bounds, by golden sections."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = value(a), value(b)
    for _ in range(_STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = value(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = value(b)
    return 0.5 * (low + high)
