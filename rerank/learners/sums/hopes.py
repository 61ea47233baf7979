"""Batch MIRA over parts of the lists: each visits its own, and what they reach is averaged after an epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rerank.core.checkpoints import State, copy_into
from rerank.core.errors import FitError
from rerank.core.system import added
from rerank.core.types import Floats, Index
from rerank.data.blocks import number_by_list
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import NothingToLearnError, checked_list_weights
from rerank.learners.rounds import restore, state_of, visit_orders
from rerank.learners.sums.parts import Own, Parts
from rerank.learners.sums.searches import ScoredPart, summed
from rerank.native.data._matrix import Difference
from rerank.native.learners import _mira
from rerank.native.learners._weights import Weights

_LARGEST = 1e150
_VALUES = -1  # the kernel's code for worths that are given


@dataclass(frozen=True)
class _Worth:
    """The worths of candidates for the kernel: statistics (n_items, k) and the form of their sums."""

    stats: Floats
    kind: int
    parameters: tuple[float, float]
    factor: float


def _background_worth(lists: CandidateLists, judge: SelectingJudge) -> _Worth:
    """The metric itself; one of 0 to 100 is divided by 100."""
    form = judge.sum_form
    if form is None:
        raise FitError(f"mira: no background for {judge.name}; use --label sBLEU --set value=sentence")
    stats = np.ascontiguousarray(judge.per_item, dtype=np.float64)
    if not _differ(lists, stats):
        raise NothingToLearnError(f"{lists.source}: {judge.name} is the same for all candidates of each list")
    full = form.parameters[0] if form.kind == "ratio" else 100.0
    return _Worth(stats, form.number, form.parameters, judge.better / full)


def _label_worth(lists: CandidateLists) -> _Worth:
    """The labels, in their own units."""
    if lists.labels is None:
        raise FitError(f"{lists.source}: value=sentence needs labels (--label sBLEU)")
    stats = np.ascontiguousarray(lists.labels[:, None])
    if not _differ(lists, stats):
        raise NothingToLearnError(f"{lists.source}: no list has two different labels")
    return _Worth(stats, _VALUES, (0.0, 0.0), 1.0)


def _differ(lists: CandidateLists, stats: Floats) -> bool:
    """Return whether any list has candidates of different statistics; NaN is ignored."""
    begin = lists.offsets[:-1]
    return bool(np.any(np.fmax.reduceat(stats, begin) > np.fmin.reduceat(stats, begin)))


class Visiting(NamedTuple):
    """Settings of the learner."""

    value: str
    c: float
    decay: float
    epochs: int
    shuffle: bool
    seed: int


class Epoch(NamedTuple):
    """The end of an epoch of one part: its state, the mean of its weights, updates and their losses."""

    state: State
    mean: Floats
    updates: int
    loss: float


class HopesPart(ScoredPart):
    """The lists of one part, which are visited from any weights and any background.

    Raises NothingToLearnError if nothing can be learnt from these lists, and FitError if squares of features
    overflow or the metric has no background.
    """

    def __init__(
        self, learner: Visiting, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None
    ) -> None:
        super().__init__(lists, judge, list_weights)
        if lists.features.n_values == 0:
            raise NothingToLearnError(f"{lists.source}: all features are 0")
        if lists.features.largest() > _LARGEST:
            raise FitError(f"{lists.source}: squares of the features overflow; scale them (--scaling)")
        worth = _label_worth(lists) if learner.value == "sentence" else _background_worth(lists, judge)
        weights = checked_list_weights(list_weights, lists)
        self._learner, self._caps = learner, learner.c * weights
        self._visited: Index = np.flatnonzero(weights)
        if len(self._visited) == 0:
            raise NothingToLearnError(f"{lists.source}: the weight of every list is 0")
        self._matrix = lists.features.matrix()
        rows = np.arange(lists.n_items, dtype=np.int64)
        most = number_by_list(self._matrix, lists.features, lists.offsets, rows, learner.epochs)
        self._weights = Weights(np.zeros(lists.n_features), most)
        self._step = Difference(self._matrix)
        self._worths = _mira.Worths(
            lists.offsets, worth.stats, worth.kind, *worth.parameters, worth.factor, learner.decay
        )
        self._next = -1, -1
        self._orders: Iterator[Index] = iter(())

    def n_visited(self) -> int:
        """Return the number of lists that are visited."""
        return len(self._visited)

    def epoch(self, number: int, epoch: int, begin: State) -> Epoch:
        """Visit all lists once, from a state; ``number`` is that of the part."""
        restore(self._weights, begin["weights"])
        background = begin["background"]
        copy_into(
            self._worths.sums_before,
            np.ones_like(self._worths.sums_before) if background is None else background,
        )
        order = self._order(number, epoch)
        done, loss = _mira.mira_round(
            self._matrix, self._worths, self._visited[order], self._caps, self._weights, self._step
        )
        state = {"weights": state_of(self._weights), "background": self._worths.sums_before.copy()}
        return Epoch(state, self._weights.mean(), done, loss)

    def _order(self, number: int, epoch: int) -> Index:
        """The order of visits of an epoch; each part draws by a seed of its own."""
        learner = self._learner
        if self._next != (number, epoch):
            seed = (learner.seed, number) if number else learner.seed
            orders = visit_orders(len(self._visited), learner.epochs, learner.shuffle, seed)
            self._orders = itertools.islice(orders, epoch, None)
        self._next = number, epoch + 1
        return next(self._orders)


class Hopes:
    """The state of all parts between two epochs.

    - ``parts``: ``HopesPart``.
    - ``start``: the first weights, float64 (n_features).

    Attributes
    ----------
    mean : ndarray
        The mean of the weights after each visit so far, float64 (n_features).
    """

    def __init__(self, parts: Parts, start: Floats) -> None:
        self._parts = parts
        self._begin: State = {"weights": _fresh(start), "background": None}
        self.mean, self._total, self._visits = start.copy(), np.zeros(len(start)), 0.0

    def run(self, epoch: int) -> tuple[int, float]:
        """Visit the lists of all parts; return the number of updates and the sum of their losses."""
        found = self._parts.each(HopesPart.epoch, Own(range(len(self._parts))), epoch, self._begin)
        if len(found) == 1:
            self._begin, self.mean = found[0].state, found[0].mean
        else:
            self._mix(found)
        return sum(one.updates for one in found), added(one.loss for one in found)

    def _mix(self, found: list[Epoch]) -> None:
        """Begin the next epoch with the means of all parts, which are added in their order."""
        for one in found:
            visits = one.state["weights"]["visits"]
            self._total = self._total + visits * one.mean
            self._visits += visits
        self.mean = self._total / self._visits
        weights = summed([one.state["weights"]["values"] for one in found]) / len(found)
        background = summed([one.state["background"] for one in found]) / len(found)
        self._begin = {"weights": _fresh(weights), "background": background}

    def state(self) -> State:
        """Return what later epochs depend on."""
        return {"begin": self._begin, "mean": self.mean, "total": self._total, "visits": self._visits}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(Weights(len(self.mean)), state["begin"]["weights"])  # it fits
        self._begin, self._visits = state["begin"], float(state["visits"])
        mean, total = np.empty_like(self.mean), np.empty_like(self._total)
        copy_into(mean, state["mean"])
        copy_into(total, state["total"])
        self.mean, self._total = mean, total


def _fresh(weights: Floats) -> State:
    """The state of weights before any visit."""
    return {"values": weights.copy(), "drift": np.zeros(len(weights)), "sums": np.zeros(0), "visits": 0.0}
