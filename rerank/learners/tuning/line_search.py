"""Restarts of a tuner: where they end, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rerank.core import checkpoints
from rerank.core.errors import FitError
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.judge import PreparedMetric, SelectingJudge, value_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.npy import FileRoom, is_large
from rerank.learners.base import FitInputs, checked_list_weights
from rerank.learners.deterministic import deterministic_dot
from rerank.models.training import RestartRecord, SpreadRecord
from rerank.native.learners import _mert, _rise, _statistics
from rerank.native.learners._statistics import Statistics


class Rise(NamedTuple):
    """Lists in which a direction's slopes differ, and their items by ascending slope; see native._rise.

    lists : int32, their numbers. order : places of items within their list, of the smallest type that fits.
    slopes : of these items, float64, or float32 if that rounds none.
    """

    lists: Ints
    order: AnyArray
    slopes: AnyArray


class LineProblem:
    """Data of line searches. It never changes, so that several threads can search it.

    Lists whose items all have the same statistics add a constant and are not searched. Memory: 5 to 12
    bytes for each value of dense features that vary within their list (1, 2 or 4 for its place in the list, 4
    or 8 for the value); for sparse features, as much as the features take themselves. Statistics that are
    float64 counts are copied as int32; list weights make a copy of all statistics. Values of dense features
    that need more than half of the memory go to a temporary file.

    - ``lists``: training lists.
    - ``judge``: the metric, prepared for ``lists``.
    - ``list_weights``: not negative, float64 (n_lists) or None; they multiply the statistics of their lists
      (Duh 2009, Algorithm 12).

    Raises FitError if list weights are negative or not finite, or their number differs.
    """

    def __init__(self, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None) -> None:
        rows: AnyArray = np.ascontiguousarray(judge.per_item)
        if list_weights is not None:
            rows = rows * np.repeat(checked_list_weights(list_weights, lists), lists.lengths)[:, None]
        self.judge = judge
        self.form = judge.sum_form
        self.source = lists.source
        self.offsets = lists.offsets
        self.features: Features = lists.features
        self.stats = Statistics(rows, lists.n_lists)
        self.live = np.empty(lists.n_lists, dtype=bool)
        self.stats.differing(self.offsets, self.live.view(np.uint8))
        self.searched: Ints = np.flatnonzero(self.live).astype(np.int32)
        constant = self.stats.rows[self.offsets[:-1][~self.live]]
        self.constant: Floats = constant.astype(np.float64).sum(axis=0)
        self.scale = np.ones(lists.n_features)
        self._place = np.min_scalar_type(int(lists.lengths.max()) - 1)
        self._rises: dict[int, Rise] = {}
        self._columns: dict[int, tuple[Ints, Floats]] = {}
        self.varying = self._ready()

    def _ready(self) -> Index:
        """Find the scale of each column and keep what it takes to sort it; return the columns that vary."""
        varying = []
        d = self.features.n_features
        need = d * (4 * len(self.live) + (self._place.itemsize + 8) * len(self.stats.rows) + 24)
        large = isinstance(self.features, Dense) and is_large(need)
        room = FileRoom(need, f"sorted values of {d:,} features") if large else None
        for j, (items, values) in enumerate(self.features.by_column()):
            rise = self._sorted(values, items)
            if len(rise.lists):
                nearest = round(float(np.log2(_spread(rise, self.offsets))))
                self.scale[j] = 2.0 ** min(max(nearest, -1000), 1000)  # divides without loss
                varying.append(j)
            if items is None:
                rise = rise._replace(slopes=_narrowed(rise.slopes, self.scale[j]))
                self._rises[j] = rise if room is None else Rise(*map(room.kept, rise))
            else:
                self._columns[j] = items, values / self.scale[j]
        return np.array(varying, dtype=np.int64)

    @cached_property
    def most(self) -> float:
        """The metric of the best choice, negated if smaller is better; infinite for several lists."""
        if len(self.searched) != 1:
            return np.inf
        first, last = self.offsets[self.searched[0] :][:2]
        sums = self.stats.rows[first:last] + self.constant
        values = self.judge.better * np.asarray(self.judge.score_from_sums(sums))
        return float(np.fmax.reduce(values, initial=-np.inf))

    @cached_property
    def _list_of(self) -> Ints:
        """The list of each item, int32 (n), for sparse columns."""
        return np.repeat(np.arange(len(self.live), dtype=np.int32), np.diff(self.offsets))

    def along(self, feature: int) -> Rise:
        """Return the slopes of one feature, scaled."""
        if feature in self._rises:
            return self._rises[feature]
        items, values = self._columns[feature]
        return self._sorted(values, items)

    def towards(self, direction: Floats) -> Rise:
        """Return the slopes of any ``direction`` (n_features, scaled)."""
        return self._sorted(self.scores(direction))

    def scores(self, weights: Floats) -> Floats:
        """Return the scores (n_items) under scaled weights, with the bits of a model."""
        return self.features.scores(weights / self.scale)

    def _sorted(self, values: Floats, items: Ints | None = None) -> Rise:
        """Return the slopes of a column: values of all items, or of ``items`` and 0 elsewhere."""
        n_lists, n_items = len(self.live), len(self.stats.rows)
        room = Rise(np.empty(n_lists, np.int32), np.empty(n_items, self._place), np.empty(n_items))
        live, list_of = self.live.view(np.uint8), None if items is None else self._list_of
        lists, filled = _rise.rise(items, values, live, self.offsets, list_of, *room)
        return Rise(_first(room.lists, lists), _first(room.order, filled), _first(room.slopes, filled))


def _first(array: AnyArray, n: int) -> AnyArray:
    """The first ``n`` entries; a copy, so that memory of the others is freed, unless there are none."""
    return array if n == len(array) else array[:n].copy()


def _narrowed(slopes: Floats, scale: float) -> AnyArray:
    """Slopes divided by ``scale``, as float32 if that rounds none; ``slopes`` are overwritten."""
    slopes /= scale
    with np.errstate(over="ignore"):
        narrow = slopes.astype(np.float32)
    return narrow if np.array_equal(narrow, slopes) else slopes


def _spread(rise: Rise, offsets: Index) -> float:
    """Root mean square, over the lists that differ, of half the range of their slopes."""
    if len(rise.lists) == 1:
        return float(rise.slopes[-1] / 2 - rise.slopes[0] / 2)
    ends = np.cumsum(np.diff(offsets)[rise.lists])
    starts = np.concatenate([[0], ends[:-1]])
    ranges = rise.slopes[ends - 1] / 2 - rise.slopes[starts] / 2
    largest = float(ranges.max())
    return largest * float(np.sqrt(np.mean((ranges / largest) ** 2)))


FREE: _mert.Penalty = (0.0,) * 6


def _above(objective: float, least: float) -> bool:
    """Return whether an objective is above -infinity and ``least``, which may be NaN or -infinity."""
    return objective > -np.inf and not objective <= least


class _Choice(NamedTuple):
    """Choice by scores (n_items): an item of each list, int32 (n_lists), and the sums (k) of statistics.

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
        self._search = _mert.LineSearch(problem.offsets, problem.stats)
        self._here, self._spare = _Choice.of(problem), _Choice.of(problem)
        self._square: float | None = None  # the squared length of the weights

    @property
    def done(self) -> bool:
        """Return whether no step can gain, because the best item of the only list is chosen."""
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
        if len(rise.lists) == 0:
            return False
        if self._square is None:
            self._square = deterministic_dot(self.weights, self.weights)
        length = deterministic_dot(direction, direction) if length is None else length
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
