"""Coordinate ascent on any metric (Metzler & Croft 2007)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Ints
from rerank.core.workers.parallel import each
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.initial import INIT_HELP, Init, initial_weights
from rerank.learners.regularization_path import require_dev
from rerank.learners.tuning.line_search import (
    End,
    best_first,
    dev_value,
    kept_end,
    metric_value,
    shrunk,
    spread_of,
    unit_vector,
)
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.training import RestartsRecord

PAIRS = 4096  # drawn from all lists together
_LEAST = 4  # from each list


class Crossings:
    """The columns of features that vary within lists, and pairs of items whose order matters.

    Along a feature the score of an item is s + gamma * x, and two items change places where their lines
    cross. All pairs of a list of 1,000 items cross in half a million places for every feature, most of which
    change no metric; the crossings of a sample of pairs show where the order changes. It never changes, so
    that several threads can use it.

    - ``lists``: training lists.
    - ``rng``: draws pairs in each list, of items with different labels if it has any.
    """

    def __init__(self, lists: CandidateLists, rng: np.random.Generator) -> None:
        self.features = lists.features
        self.columns: dict[int, tuple[Ints, Floats]] = {}  # of features that are not dense
        if not isinstance(self.features, Dense):
            n = self.features.n_values
            memory.require(12 * n, f"columns of {n:,} values", "fewer features need less")
        starts, varying = lists.offsets[:-1], []
        self.pairs = drawn_pairs(lists, rng)
        for j, (items, values) in enumerate(self.features.by_column()):
            if len(values):
                if items is not None:
                    self.columns[j] = items, values
                column = values if items is None else self.column(j)
                if np.any(np.maximum.reduceat(column, starts) > np.minimum.reduceat(column, starts)):
                    varying.append(j)
                else:
                    self.columns.pop(j, None)
        self.varying: Index = np.array(varying, dtype=np.int64)

    def column(self, feature: int) -> Floats:
        """Return the values (n_items) of a feature that varies.

        Those of dense features are gathered again: that is a small part of a line search, and columns that
        are kept take twice the memory of a float32 matrix.
        """
        if feature not in self.columns:
            return self.features.column(feature)
        items, values = self.columns[feature]
        column = np.zeros(self.features.n_items)
        column[items] = values
        return column

    def along(self, scores: Floats, column: Floats) -> Floats:
        """Return the different gamma, rising, at which ``scores`` + gamma * ``column`` tie a drawn pair.

        Both are float64 (n_items). Crossings that overflow are left out.
        """
        a, b = self.pairs
        slope = column[a] - column[b]
        crossing = slope != 0
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = (scores[b] - scores[a])[crossing] / slope[crossing]
        return np.unique(gamma[np.isfinite(gamma)] + 0.0)


def drawn_pairs(lists: CandidateLists, rng: np.random.Generator) -> tuple[Index, Index]:
    """Return pairs of items drawn in each list, int64 (n_pairs) each.

    They have different labels; if no list has two different labels, they are any pairs.
    """
    each = max(_LEAST, PAIRS // lists.n_lists)
    size = (lists.n_lists, each)
    memory.require(64 * lists.n_lists * each, f"{lists.n_lists * each:,} pairs")
    lengths = lists.lengths[:, None]
    a, b = ((rng.random(size) * lengths).astype(np.int64) + lists.offsets[:-1, None] for _ in range(2))
    if lists.labels is not None:
        differ = np.abs(lists.labels[a] - lists.labels[b]) > 0  # NaN does not
        if differ.any():
            return a[differ], b[differ]
    return a[a != b], b[a != b]


_LEVELS = (12, 6, 6)  # intervals that are tried along a line, and then between the neighbours of the best
_RESTART_BYTES = 4096  # of a restart beside its weights and scores


@LEARNERS.register("coordinate-ascent")
class CoordinateAscent(Learner):
    """Linear weights that maximise any metric directly, one feature after the other, from several starts.

    Along a feature's line the order of a list changes where two of its items cross. The metric is constant
    between two crossings. Crossings of a few thousand drawn pairs of items with different labels divide the
    line into intervals. The metric is computed in the middle of 13 intervals from the first to the last, then
    twice in those between the neighbours of the best one. On ties the point nearest to the present weight
    wins, and the weight stays unless the metric rises by more than ``min_gain``. So no step depends on the
    scale of a feature, and every value is that of the metric itself, with its rule for tied scores.

    Features come in a new random order in each pass, none twice without a step in between, until a pass gains
    nothing. The best restart becomes the model, by the training or by the dev lists. If nothing is better
    than the initial weights, the model has those. For metrics of single candidates (BLEU, WER, label@1)
    ``mert`` searches all intervals exactly; it knows only the best item along a line, not the order below it,
    which ranking metrics need.

    References
    ----------
    Metzler, Croft: Linear feature-based models for information retrieval. Information Retrieval 10, 2007.
    """

    name = "coordinate-ascent"
    summary = "line searches for any metric, feature by feature, with restarts"
    source = "Metzler & Croft 2007"
    needs_labels = False
    needs_judge = True
    default_scaling = "zscore"
    accepts_list_weights = True
    accepts_initial = True
    resumable = True

    restarts: int = setting(7, "random starts in addition to the initial weights", ge=0)
    init: Init = setting("auto", INIT_HELP)
    passes: int = setting(25, "maximum number of passes over the features per start", ge=1)
    min_gain: float = setting(1e-6, "minimum gain of a step, in the metric's units", ge=0)
    best: Literal["train", "dev"] = setting("train", "lists that select the best restart")
    average: int = setting(1, "use the mean weights of so many of the best restarts; 1 = the best one", ge=1)
    seed: int = setting(1, "random seed of starts, sampled pairs and the order of features", ge=0)

    def check_values(self) -> None:
        if self.average > self.restarts + 1:
            raise ConfigError(f"average: found {self.average}, but there are {self.restarts + 1} restarts")
        if self.best == "dev" and self.restarts == 0:
            raise ConfigError("best=dev chooses among restarts: found restarts=0")

    @property
    def chooses_on_dev(self) -> bool:
        return self.best == "dev"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = inputs.judge
        assert judge is not None  # needs_judge
        if self.best == "dev":
            require_dev(self.name, "best", inputs)
        initial, how = initial_weights(lists, inputs, self.init)
        ends = self._search(lists, judge, inputs.list_weights, shrunk(initial))
        devs = [dev_value(inputs, end.weights) for end in ends]
        ranked, judged = best_first(ends), (judge, lists, inputs.list_weights)
        if self.best == "dev" and inputs.dev is not None:
            values = [_larger_is_better(inputs.dev[1], dev) for dev in devs if dev is not None]
            ranked = [ends[i] for i in np.argsort(np.negative(values), kind="stable")]
            judged = (inputs.dev[1], inputs.dev[0], None)
        weights = ranked[0].weights
        if self.average > 1:
            weights = np.mean([unit_vector(end.weights) for end in ranked[: self.average]], axis=0)
        improved = _objective(*judged, weights) > _objective(*judged, initial) + self.min_gain
        model = LinearModel(lists.names(), weights if improved else initial)
        model.initial = initial
        model.training.rounds = RestartsRecord(
            train=metric_value(judge, lists, model.weights, inputs.list_weights),
            dev=dev_value(inputs, model.weights),
            initial=metric_value(judge, lists, initial, inputs.list_weights),
            init=how,
            improved=improved,
            averaged=self.average if improved else 1,
            best=ranked[0].value,
            restarts=tuple(end.record(i, devs[i]) for i, end in enumerate(ends)),
            spread=spread_of(ends, lists.names()),
        )
        return model

    def _search(
        self, lists: CandidateLists, judge: PreparedMetric, list_weights: Floats | None, initial: Floats
    ) -> list[End]:
        """Return the ends of the restarts; the first one starts from the initial weights."""
        n = self.restarts + 1
        size = _RESTART_BYTES + 24 * (len(initial) + lists.n_items)
        memory.require(n * size, f"{n:,} restarts", "fewer restarts need less (--set restarts)")
        starts, pairs = np.random.SeedSequence(self.seed).spawn(2)
        crossings = Crossings(lists, np.random.default_rng(pairs))
        weight = None if list_weights is None else checked_list_weights(list_weights, lists)
        tasks = []
        for i, child in enumerate(starts.spawn(n)):
            rng = np.random.default_rng(child)
            start = initial
            if i:
                start = np.zeros(len(initial))
                start[crossings.varying] = rng.standard_normal(len(crossings.varying))
            tasks.append((self, _Climb(lists, judge, weight, crossings, start), rng))
        return each(_climbed, tasks, threads=True, step=("training", "restart"))


def _climbed(learner: CoordinateAscent, climb: _Climb, rng: np.random.Generator) -> End:
    """The end of a climb; it is kept in a checkpoint."""
    return kept_end(lambda: _end_of(learner, climb, rng))


def _end_of(learner: CoordinateAscent, climb: _Climb, rng: np.random.Generator) -> End:
    """The end of a climb."""
    start, begun = climb.value, climb.objective
    climb.climb(rng, learner.passes, learner.min_gain)
    weights, value, objective = climb.best
    length = float(np.abs(weights).sum())
    if 0 < length < np.inf:
        weights = weights * 2.0 ** -np.round(np.log2(length))  # about 1, without rounding
    return End(weights, start, begun, value, objective, climb.steps, climb.searches)


class _Climb:
    """A point that moves along features.

    - ``lists``, ``judge``, ``list_weights``: what the metric is computed of; the weights multiply the
      statistics of lists, None = 1.
    - ``crossings``: of the same lists.
    - ``weights``: where it begins, float64 (n_features).
    """

    def __init__(
        self,
        lists: CandidateLists,
        judge: PreparedMetric,
        list_weights: Floats | None,
        crossings: Crossings,
        weights: Floats,
    ) -> None:
        self.lists = lists
        self.judge = judge
        self.list_weights = list_weights
        self.crossings = crossings
        self.steps = 0
        self.searches = 0
        self._settle(weights)
        self.best = (self.weights, self.value, self.objective)

    def _settle(self, weights: Floats) -> None:
        """Move to ``weights``; raises FitError if scores overflow."""
        self.weights = weights
        self._scores = self.lists.features.scores(weights)
        if not np.isfinite(self._scores).all():
            raise FitError(f"{self.lists.source}: the scores overflow; scale the features (--scaling)")
        self.value = self._metric(self._scores)
        self.objective = _larger_is_better(self.judge, self.value)

    def _metric(self, scores: Floats) -> float:
        return value_of(self.judge, scores, self.list_weights)

    def climb(self, rng: np.random.Generator, passes: int, min_gain: float) -> None:
        """Step along features until none gains more than ``min_gain``, for at most ``passes`` passes.

        After each pass the scores are computed again from the weights. ``best`` is the best of these points.
        """
        idle: set[int] = set()  # features that were searched since the last step
        for _ in range(passes):
            steps = self.steps
            for j in rng.permutation(self.crossings.varying).tolist():
                if j not in idle:
                    if self._step(j, min_gain):
                        idle.clear()
                    idle.add(j)
            if steps == self.steps:
                break
            self._settle(self.weights)
            if self.objective > self.best[2]:
                self.best = (self.weights, self.value, self.objective)

    def _step(self, feature: int, min_gain: float) -> bool:
        """Move to the best point along a feature if it is better; return whether it was."""
        self.searches += 1
        column = self.crossings.column(feature)
        middles = _middles(self.crossings.along(self._scores, column))
        found = self._best_of(middles, column)
        if found is None or not found[0] > self.objective + min_gain:
            return False
        weights = self.weights.copy()
        weights[feature] += found[1]
        if not np.isfinite(weights[feature]):
            return False
        self.weights = weights
        self._scores = self._scores + found[1] * column
        self.value = self._metric(self._scores)
        self.objective = _larger_is_better(self.judge, self.value)
        self.steps += 1
        return True

    def _best_of(self, middles: Floats, column: Floats) -> tuple[float, float] | None:
        """The largest objective at points along a column, and the point nearest to 0 that has it."""
        seen: dict[int, tuple[float, float, float]] = {}
        low, high = 0, len(middles) - 1
        best = -1
        for n in _LEVELS:
            if high < low:
                break
            tried = np.unique(np.round(np.linspace(low, high, n + 1)).astype(np.int64))
            for k in tried.tolist():
                if k not in seen:
                    gamma = float(middles[k])
                    seen[k] = (self._objective_at(gamma, column), -abs(gamma), gamma)
            best = max(seen, key=lambda k: seen[k])
            order = sorted(seen)
            at = order.index(best)
            low, high = order[max(at - 1, 0)], order[min(at + 1, len(order) - 1)]
        return None if best < 0 else (seen[best][0], seen[best][2])

    def _objective_at(self, gamma: float, column: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores + gamma * column
        if not np.isfinite(scores).all():
            return -np.inf
        return _larger_is_better(self.judge, self._metric(scores))


def _middles(crossings: Floats) -> Floats:
    """A point between each two crossings, and one beyond either end."""
    if not len(crossings):
        return crossings
    reach = float(np.median(np.abs(crossings))) or 1.0
    with np.errstate(over="ignore"):
        ends = crossings[:1] - reach, crossings[-1:] + reach
        between = crossings[:-1] / 2.0 + crossings[1:] / 2.0
    return np.concatenate([ends[0], between, ends[1]])


def _larger_is_better(judge: PreparedMetric, value: float) -> float:
    """The metric, negated if smaller is better; -infinity if there is none."""
    return judge.better * value if value == value else -np.inf


def _objective(
    judge: PreparedMetric, lists: CandidateLists, list_weights: Floats | None, weights: Floats
) -> float:
    return _larger_is_better(judge, metric_value(judge, lists, weights, list_weights))
