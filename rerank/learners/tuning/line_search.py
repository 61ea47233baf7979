"""The climb of minimum error rate training: along lines in weight space from one point to a better one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Ints
from rerank.learners.tuning.line_problem import LineProblem, Rise
from rerank.learners.vectors import inner
from rerank.native.learners import _mert, _statistics

FREE: _mert.Penalty = (0.0,) * 6


def _above(objective: float, least: float) -> bool:
    """Whether an objective exists (not -infinity) and is above ``least``, which may be NaN or -infinity."""
    return objective > -np.inf and not objective <= least


class _Choice(NamedTuple):
    """What scores (n_items) choose: an item of each list, int32 (n_lists), and the sums (k) of statistics.

    Chosen items are known of the searched lists only.
    """

    scores: Floats
    chosen: Ints
    sums: Floats

    @classmethod
    def of(cls, problem: LineProblem) -> _Choice:
        """Room for a choice; a climb fills the same memory again and again, as first touching it is slow."""
        n_items, width = problem.stats.rows.shape
        return cls(np.empty(n_items), np.zeros(len(problem.live), dtype=np.int32), np.empty(width))


class Climb:
    """A point that moves along lines, with its scratch arrays.

    The objective is the metric, negated if smaller is better, minus l2 * |u - u0|^2, where u are the scaled
    weights and u0 is ``near``. Both are unit vectors, because a common factor of the weights changes no
    choice. Along a line the metric is exact; the penalty is that of the point that represents an interval.
    All weights here are scaled by ``problem.scale``.

    Parameters
    ----------
    problem
        The lists.
    near
        The weights that the penalty prefers, float64 (n_features).
    l2
        Weight of the penalty, in the metric's units.
    min_gain
        A step must gain more than this.
    """

    def __init__(self, problem: LineProblem, near: Floats, *, l2: float = 0.0, min_gain: float = 0.0) -> None:
        self.problem = problem
        self.near = near
        self.l2 = l2
        self.min_gain = min_gain
        self.steps = 0
        self.searches = 0
        self._search = _mert.LineSearch(problem.offsets, problem.stats)
        self._here, self._spare = _Choice.of(problem), _Choice.of(problem)
        self._square: float | None = None  # the squared length of the weights

    @property
    def done(self) -> bool:
        """Whether no step can gain, because the best item of the only list is chosen."""
        return self.objective + self.min_gain >= self.problem.most

    def settle(self, weights: Floats) -> None:
        """Move to ``weights`` (n_features), which are kept unchanged; raises FitError if scores overflow."""
        self.weights = weights
        self._square = None
        p = self.problem
        here = self._here = self._here._replace(scores=p.scores(weights))
        if not _statistics.choose(p.stats, p.searched, p.offsets, *here):
            raise FitError(f"{p.source}: the scores overflow; scale the features (--scaling)")
        here.sums[:] += p.constant
        self.value, self.objective = self._judge(here.sums, weights)

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
        length = inner(weights, weights) ** 0.5
        return self.l2 * (2.0 - 2.0 * inner(weights, self.near) / length) if length > 0 else self.l2

    def _penalty(self, direction: Floats) -> _mert.Penalty:
        """``_cost`` along a direction, in the form of the kernels."""
        if self.l2 == 0:
            return FREE
        w, d, near = self.weights, direction, self.near
        return (self.l2, inner(w, w), inner(w, d), inner(d, d), inner(w, near), inner(d, near))

    def step(self, direction: Floats, rise: Rise, length: float | None = None) -> bool:
        """Move to the best point along ``direction`` (n_features) if it is better; return whether it was.

        ``rise`` are the direction's slopes, ``length`` is its squared length if that is known.
        """
        self.searches += 1
        if len(rise.lists) == 0:
            return False
        if self._square is None:
            self._square = inner(self.weights, self.weights)
        length = inner(direction, direction) if length is None else length
        unit = (self._square / length) ** 0.5 if self._square > 0 else 1.0
        self._search.gather(*rise, *self._here, unit)
        least = self.objective + self.min_gain
        found, lower, upper = self._best(direction, unit, least)
        return _above(found, least) and self._move(direction, rise, _mert.point_in(lower, upper, unit), least)

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
        p = self.problem
        weights = self.weights + gamma * direction
        here, there = self._here, self._spare
        there.scores[:], there.chosen[:], there.sums[:] = here.scores, here.chosen, here.sums - p.constant
        _statistics.advance(p.stats, p.searched, p.offsets, *rise, gamma, *there)
        there.sums[:] += p.constant
        value, objective = self._judge(there.sums, weights)
        if not _above(objective, least) or not np.isfinite(weights).all():
            return False
        self.weights, self.value, self.objective = weights, value, objective
        self._here, self._spare = there, here
        self._square = None
        self.steps += 1
        return True

    def climb(self, rng: np.random.Generator, passes: int, coordinates: bool, random: int) -> None:
        """Step along lines until none is better, for at most ``passes`` passes.

        A pass tries the coordinates in random order, none twice without a step in between. If none gains,
        it tries ``random`` normally distributed directions. After each pass the scores are computed anew
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
