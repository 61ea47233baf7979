"""Coordinate ascent on any metric (Metzler & Croft 2007)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, checked_list_weights
from rerank.learners.initial import INIT_HELP, Init
from rerank.learners.regularization_path import require_dev
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.learners.sums.rankings import Crossings, RankedPart, SharedRankings, best_point, larger_is_better
from rerank.learners.sums.searches import Place, each_of, start_of, train_value
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

_RESTART_BYTES = 4096  # of a restart beside its weights and scores


@LEARNERS.register("coordinate-ascent")
class CoordinateAscent(SummingLearner):
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
    judges_parts = True

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

    def refused(self) -> str | None:
        return None

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> RankedPart:
        assert inputs.judge is not None  # needs_judge
        return RankedPart(lists, inputs.judge, inputs.list_weights, self.seed)

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = parts.judge
        assert judge is not None  # needs_judge
        if self.best == "dev":
            require_dev(self.name, "best", inputs)
        initial, how = start_of(parts, lists, inputs, self.init)
        ends = self._search(parts, lists, inputs, shrunk(initial))
        devs = [dev_value(inputs, end.weights) for end in ends]
        ranked, value = best_first(ends), partial(train_value, parts)
        better = judge
        if self.best == "dev" and inputs.dev is not None:
            better = inputs.dev[1]
            values = [larger_is_better(better, dev) for dev in devs if dev is not None]
            ranked = [ends[i] for i in np.argsort(np.negative(values), kind="stable")]
            value = partial(metric_value, better, inputs.dev[0])
        weights = ranked[0].weights
        if self.average > 1:
            weights = np.mean([unit_vector(end.weights) for end in ranked[: self.average]], axis=0)
        reached, begun = (larger_is_better(better, value(w)) for w in (weights, initial))
        improved = reached > begun + self.min_gain
        model = LinearModel(lists.names(), weights if improved else initial)
        model.initial = initial
        model.training.rounds = RestartsRecord(
            train=train_value(parts, model.weights),
            dev=dev_value(inputs, model.weights),
            initial=train_value(parts, initial),
            init=how,
            improved=improved,
            averaged=self.average if improved else 1,
            best=ranked[0].value,
            restarts=tuple(end.record(i, devs[i]) for i, end in enumerate(ends)),
            spread=spread_of(ends, lists.names()),
        )
        return model

    def _search(self, parts: Parts, lists: CandidateLists, inputs: FitInputs, initial: Floats) -> list[End]:
        """Return the ends of the restarts; the first one starts from the initial weights."""
        n = self.restarts + 1
        size = _RESTART_BYTES + 24 * (len(initial) + lists.n_items)
        memory.require(n * size, f"{n:,} restarts", "fewer restarts need less (--set restarts)")
        starts, pairs = np.random.SeedSequence(self.seed).spawn(2)
        weights, judge = inputs.list_weights, parts.judge
        shared = None if parts.here else SharedRankings(parts, lists.source)
        if shared is not None:
            varying = shared.varying
            climb: Callable[..., _Climb] = partial(_SharedClimb, shared)
        else:
            assert judge is not None  # needs_judge
            crossings = Crossings(lists, np.random.default_rng(pairs))
            weights = None if weights is None else checked_list_weights(weights, lists)
            varying = crossings.varying
            climb = partial(_Climb, lists, judge, weights, crossings)
        tasks = []
        for i, child in enumerate(starts.spawn(n)):
            rng = np.random.default_rng(child)
            start = initial
            if i:
                start = np.zeros(len(initial))
                start[varying] = rng.standard_normal(len(varying))
            tasks.append((self, climb, start, rng))
        return each_of(shared, _climbed, tasks, "training")


def _climbed(
    learner: CoordinateAscent, climb: Callable[[Floats], _Climb], start: Floats, rng: np.random.Generator
) -> End:
    """The end of a climb; it is kept in a checkpoint."""
    return kept_end(lambda: _end_of(learner, climb(start), rng))


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
        value = self.value_at(weights)
        if value is None:
            raise FitError(f"{self.lists.source}: the scores overflow; scale the features (--scaling)")
        self.value, self.objective = value, larger_is_better(self.judge, value)

    def value_at(self, weights: Floats) -> float | None:
        """Go to ``weights`` and return the metric; None if a score is not finite."""
        self._scores = self.lists.features.scores(weights)
        return self._metric(self._scores) if np.isfinite(self._scores).all() else None

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
        found = self.best_along(feature)
        if found is None or not found[0] > self.objective + min_gain:
            return False
        weights = self.weights.copy()
        weights[feature] += found[1]
        if not np.isfinite(weights[feature]):
            return False
        self.weights = weights
        self.value = self.value_after(feature, found[1])
        self.objective = larger_is_better(self.judge, self.value)
        self.steps += 1
        return True

    def best_along(self, feature: int) -> tuple[float, float] | None:
        """Return the largest objective along a feature and where it is, see ``best_point``."""
        column = self.crossings.column(feature)
        search = best_point(self.crossings.along(self._scores, column))
        try:
            tried = next(search)
            while True:
                tried = search.send([self._objective_at(gamma, column) for gamma in tried])
        except StopIteration as end:
            found: tuple[float, float] | None = end.value
            return found

    def value_after(self, feature: int, gamma: float) -> float:
        """Take a step along a feature and return the metric."""
        self._scores = self._scores + gamma * self.crossings.column(feature)
        return self._metric(self._scores)

    def _objective_at(self, gamma: float, column: Floats) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores + gamma * column
        if not np.isfinite(scores).all():
            return -np.inf
        return larger_is_better(self.judge, self._metric(scores))


class _SharedClimb(_Climb):
    """A climb over the lists of all parts; it asks for what it does not have."""

    def __init__(self, lists: SharedRankings, weights: Floats) -> None:
        self._shared = lists
        super().__init__(lists, lists.judge, None, lists, weights)  # type: ignore[arg-type]

    def value_at(self, weights: Floats) -> float | None:
        self._place = Place(weights)
        return self._shared.value(self._place)

    def best_along(self, feature: int) -> tuple[float, float] | None:
        return self._shared.best_along(self._place, feature)

    def value_after(self, feature: int, gamma: float) -> float:
        self._place = self._place._replace(steps=(*self._place.steps, (feature, gamma)))
        value = self._shared.value(self._place)
        assert value is not None  # it was tried
        return value
