"""Restarts of a tuner: where they end, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from rerank.core import checkpoints
from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.sums.lines import Choice, LineProblem, Rise
from rerank.models.training import RestartRecord, SpreadRecord
from rerank.native.learners import _mert

FREE: _mert.Penalty = (0.0,) * 6


def _above(objective: float, least: float) -> bool:
    """Return whether an objective is above -infinity and ``least``, which may be NaN or -infinity."""
    return objective > -np.inf and not objective <= least


class Climb:
    """A point that moves along lines, with its scratch arrays.

    The objective is the metric, negated if smaller is better, minus l2 * |u - u0|^2, where u are the scaled
    weights and u0 is ``near``. Both are unit vectors, because a common factor of the weights changes no
    choice. Along a line the metric is exact; the penalty is that of the point that represents an interval.
    All weights here are scaled by ``problem.scale``.

    - ``problem``: the lists.
    - ``near``: the weights that the penalty prefers, float64 (n_features).
    - ``l2``: weight of the penalty, in the metric's units.
    - ``min_gain``: a step must gain more than this.
    """

    def __init__(self, problem: LineProblem, near: Floats, *, l2: float = 0.0, min_gain: float = 0.0) -> None:
        self.problem = problem
        self.near = near
        self.l2 = l2
        self.min_gain = min_gain
        self.steps = 0
        self.searches = 0
        self._square: float | None = None  # the squared length of the weights
        self._begin()

    def _begin(self) -> None:
        """Make what the present point is kept in."""
        self._search = _mert.LineSearch(self.problem.offsets, self.problem.stats)
        self._here, self._spare = Choice.of(self.problem), Choice.of(self.problem)

    @property
    def done(self) -> bool:
        """Return whether no step can gain, because the best item of the only list is chosen."""
        return self.objective + self.min_gain >= self.problem.most

    def settle(self, weights: Floats) -> None:
        """Move to ``weights`` (n_features), which are kept unchanged; raises FitError if scores overflow."""
        self.weights = weights
        self._square = None
        sums = self.sums_at(weights)
        if sums is None:
            raise FitError(f"{self.problem.source}: the scores overflow; scale the features (--scaling)")
        self.value, self.objective = self._judge(sums, weights)

    def sums_at(self, weights: Floats) -> Floats | None:
        """Return the sums of the choice by ``weights``, where it goes; None if a score is not finite."""
        found = self._here.settled(self.problem, weights)
        self._here = found or self._here
        return found and found.sums

    def _judge(self, sums: Floats, weights: Floats) -> tuple[float, float]:
        """The metric and the objective of the chosen items' sums."""
        p, form = self.problem, self.problem.form
        if form is None:
            value = float(p.judge.score_from_sums(sums))
        else:
            value = _mert.value_of(sums, form.number, *form.parameters)
        objective = p.judge.better * value - self._cost(weights)
        return value, objective if objective == objective else -np.inf

    def _cost(self, weights: Floats) -> float:
        if self.l2 == 0:
            return 0.0
        length = deterministic_dot(weights, weights) ** 0.5
        share = deterministic_dot(weights, self.near) / length if length > 0 else 0.5
        return self.l2 * (2.0 - 2.0 * share)

    def _penalty(self, direction: Floats) -> _mert.Penalty:
        """``_cost`` along a direction, in the form of the kernels."""
        if self.l2 == 0:
            return FREE
        w, d, near = self.weights, direction, self.near
        return (
            self.l2,
            deterministic_dot(w, w),
            deterministic_dot(w, d),
            deterministic_dot(d, d),
            deterministic_dot(w, near),
            deterministic_dot(d, near),
        )

    def step(self, direction: Floats, rise: Rise, length: float | None = None) -> bool:
        """Move to the best point along ``direction`` (n_features) if it is better; return whether it was.

        ``rise`` are the direction's slopes, ``length`` is its squared length if that is known.
        """
        self.searches += 1
        if isinstance(rise, Rise) and len(rise.lists) == 0:  # otherwise it is not known here
            return False
        if self._square is None:
            self._square = deterministic_dot(self.weights, self.weights)
        length = deterministic_dot(direction, direction) if length is None else length
        unit = (self._square / length) ** 0.5 if self._square > 0 else 1.0
        least = self.objective + self.min_gain
        found, lower, upper = self.found_along(direction, rise, unit, least)
        return _above(found, least) and self._move(direction, rise, _mert.point_in(lower, upper, unit), least)

    def found_along(
        self, direction: Floats, rise: Rise, unit: float, least: float
    ) -> tuple[float, float, float]:
        """Return the best interval along a direction: its objective and ends."""
        self._search.gather(*rise, *self._here, unit)
        return self._best(direction, unit, least)

    def _best(self, direction: Floats, unit: float, least: float) -> tuple[float, float, float]:
        """The best interval along the gathered direction: objective and ends.

        If none is above ``least``, it may be any.
        """
        judge, form, penalty = self.problem.judge, self.problem.form, self._penalty(direction)
        if form is not None:
            return self._search.best(judge.better, form.number, *form.parameters, penalty, least)
        ends, sums = self._search.intervals()
        values = np.asarray(judge.score_from_sums(sums), dtype=np.float64)
        return _mert.best_of(ends, values, unit, judge.better, penalty)

    def _move(self, direction: Floats, rise: Rise, gamma: float, least: float) -> bool:
        """Move there, or stay if rounding changes a choice so that it is not above ``least``."""
        weights = self.weights + gamma * direction
        value, objective = self._judge(self.advanced(rise, gamma), weights)
        if not _above(objective, least) or not np.isfinite(weights).all():
            return False
        self.weights, self.value, self.objective = weights, value, objective
        self.accept()
        self._square = None
        self.steps += 1
        return True

    def advanced(self, rise: Rise, gamma: float) -> Floats:
        """The sums of the choice further along a direction; ``accept`` goes there."""
        return self._here.advanced(self.problem, rise, gamma, self._spare).sums

    def accept(self) -> None:
        """Go where ``advanced`` has looked."""
        self._here, self._spare = self._spare, self._here

    def climb(self, rng: np.random.Generator, passes: int, coordinates: bool, random: int) -> None:
        """Step along lines until none is better, for at most ``passes`` passes.

        A pass tries the coordinates in random order, none twice without a step in between. If none gains,
        it tries ``random`` normally distributed directions. After each pass the scores are computed again
        from the weights. With a single list it ends when no item is better than the chosen one.
        """
        best, highest = self.weights, self.objective
        idle: set[int] = set()  # coordinates that were searched since the last step
        for _ in range(passes):
            if self.done:
                break
            steps = self.steps
            if coordinates:
                self._along_coordinates(rng, idle)
            if steps == self.steps:
                self._along_random(rng, random, stop=coordinates)
                idle.clear()
            if steps == self.steps:
                break
            self.settle(self.weights)
            if self.objective > highest:
                best, highest = self.weights, self.objective
        if self.weights is not best:  # the last pass gained by rounding only
            self.settle(best)

    def _along_coordinates(self, rng: np.random.Generator, idle: set[int]) -> None:
        direction = np.zeros(len(self.weights))
        for j in rng.permutation(self.problem.varying).tolist():
            if j not in idle:
                direction[j] = 1.0
                if self.step(direction, self.problem.along(j), 1.0):
                    idle.clear()
                    if self.done:
                        return
                idle.add(j)
                direction[j] = 0.0

    def _along_random(self, rng: np.random.Generator, n: int, stop: bool) -> None:
        """``n`` random directions, or up to the first step."""
        varying = self.problem.varying
        for _ in range(n):
            direction = np.zeros(len(self.weights))
            direction[varying] = rng.standard_normal(len(varying))
            if self.step(direction, self.problem.towards(direction)) and stop:
                return


@dataclass(frozen=True)
class End:
    """End of a restart.

    weights : (n_features) with an L1 norm of 1, or near it. start, value : the metric at the start and at
    the end. begun, objective : the same with the penalty; larger is better.
    """

    weights: Floats
    start: float
    begun: float
    value: float
    objective: float
    steps: int
    searches: int

    def record(self, restart: int, dev: float | None) -> RestartRecord:
        """Return the row that is reported for it."""
        return RestartRecord(
            restart=restart,
            start=self.start,
            train=self.value,
            steps=self.steps,
            searches=self.searches,
            dev=dev,
        )


def kept_end(find: Callable[[], End]) -> End:
    """Return the end that ``find`` returns, or the one that a checkpoint has kept in its place."""
    place = checkpoints.slot()
    if place is not None and place.state is not None:
        with place.restoring() as state:
            return End(**state)
    end = find()
    if place is not None:
        place.keep({one.name: getattr(end, one.name) for one in fields(end)})
    return end


def best_first(ends: list[End]) -> list[End]:
    """Return ends by descending objective; ties stay in their order."""
    return sorted(ends, key=lambda end: -end.objective)


def shrunk(weights: Floats) -> Floats:
    """Return weights divided by a power of two so that the largest is about 1, which changes no choice."""
    largest = float(np.abs(weights).max(initial=0.0))
    return weights / 2.0 ** np.floor(np.log2(largest)) if 0 < largest < np.inf else weights


def unit_vector(weights: Floats) -> Floats:
    """Return weights of length 1, or zeros."""
    near_one = shrunk(weights)
    length = deterministic_dot(near_one, near_one) ** 0.5
    return near_one / length if length > 0 else near_one


def metric_value(
    judge: PreparedMetric, lists: CandidateLists, weights: Floats, list_weights: Floats | None = None
) -> float:
    """Return the metric of a linear model over all lists, each with its list weight if there are any."""
    return value_of(judge, lists.features.scores(weights), list_weights)


def dev_value(inputs: FitInputs, weights: Floats) -> float | None:
    """Return the metric on the development lists, None if there are none."""
    return None if inputs.dev is None else metric_value(inputs.dev[1], inputs.dev[0], weights)


def spread_of(ends: list[End], names: list[str]) -> tuple[SpreadRecord, ...]:
    """Return how much the weights of the better half of the restarts differ, feature by feature."""
    half = best_first(ends)[: (len(ends) + 1) // 2]
    weights = np.array([end.weights for end in half])
    columns = zip(names, weights.min(axis=0), weights.max(axis=0), weights.std(axis=0), strict=True)
    return tuple(SpreadRecord(feature=name, min=low, max=high, sd=sd) for name, low, high, sd in columns)
