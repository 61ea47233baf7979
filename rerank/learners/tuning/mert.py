"""Minimum error rate training: weights tuned for a corpus metric of the chosen items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.initial import INIT_HELP, Init
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.learners.sums.searches import (
    LinePart,
    Lines,
    climber,
    each_of,
    lines_of,
    shared_by,
    start_of,
    train_value,
)
from rerank.learners.tuning.line_search import (
    Climb,
    End,
    best_first,
    dev_value,
    kept_end,
    shrunk,
    spread_of,
    unit_vector,
)
from rerank.models.linear import LinearModel
from rerank.models.training import RestartsRecord

# How far weights are perturbed, relative to their length: measured on lists of translations and transcripts.
_RESTART, _PERTURBATION = 0.6, 0.15
_RESTART_BYTES = 4096  # of a restart beside its weights
_PERTURBED = 3  # restarts that are perturbed, the best ones
# The share of l2 that a step must gain. The penalty slopes everywhere: steps would creep down by thousands.
_CREEP = 1e-3


@LEARNERS.register("mert")
class Mert(SummingLearner):
    """Exact line searches for any metric of summed statistics (BLEU, WER, label@1, ...), from many starts.

    Along a direction, the best item of each list changes at the corners of the upper envelope of its items'
    lines. The metric is therefore known on every interval between two corners of any list. From each start
    the weights go to the middle of the best interval, coordinate after coordinate, until no step gains. The
    three best ends are then perturbed and climb again. List weights multiply the statistics of their lists.
    The weights are scaled to an L1 norm of 1. If nothing is better than the initial weights, the model has
    those, unchanged. It is made for tens of features: each pass searches a line for every one of them.

    average=10 uses the mean of the ten best restarts' weights u (see below) instead of the best ones, unless
    it is no better than the initial weights. Its metric is lower on the training lists. Whether it gains on
    others depends on the set: three sets gained 0.1 to 0.6 points on average over seeds, another one, of
    1,502 lists of 16, lost 0.5 points in training and gained nothing (see 'rerank help tuning').

    l2 penalises the distance from the initial weights: it subtracts l2 * |u - u0|^2 from the metric (in its
    own units, 0 to 100 for BLEU), where u and u0 are the weights times each feature's spread, scaled to
    length 1.

    References
    ----------
    Och: Minimum error rate training in statistical machine translation. ACL 2003.
    Duh: Learning to rank with partially-labeled data. Dissertation, University of Washington, 2009
    (Algorithm 12: list weights).
    """

    name = "mert"
    summary = "minimum error rate training: exact line searches for a corpus metric, restarts"
    source = "Och 2003; with list weights Duh 2009, Algorithm 12"
    needs_labels = False
    needs_judge = True
    needs_selecting = True
    scale_invariant = True
    accepts_list_weights = True
    accepts_initial = True
    resumable = True
    judges_parts = True

    restarts: int = setting(20, "random starts in addition to the initial weights", ge=0)
    perturbations: int = setting(4, "further climbs from perturbations of the three best restarts", ge=0)
    directions: Literal["coordinate", "random", "both"] = setting(
        "coordinate", "lines: one per feature, or as many random ones; both = random ones if no feature gains"
    )
    init: Init = setting("auto", INIT_HELP)
    passes: int = setting(100, "maximum number of passes over the directions per climb", ge=1)
    min_gain: float = setting(1e-6, "minimum gain of a step, in the metric's units", ge=0)
    l2: float = setting(0.0, "regularisation strength: penalty on distance from the initial weights", ge=0)
    average: int = setting(1, "use the mean weights of so many of the best restarts; 1 = the best one", ge=1)
    seed: int = setting(1, "random seed of starts, directions and their order", ge=0)

    def refused(self) -> str | None:
        return None

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> LinePart:
        assert isinstance(inputs.judge, SelectingJudge)  # needs_selecting
        return LinePart(lists, inputs.judge, inputs.list_weights)

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> LinearModel:
        initial, how = start_of(parts, lists, inputs, self.init)
        if self.l2 > 0 and not initial.any():
            raise FitError("learner mert: l2 needs initial weights that are not zero")
        n = self.restarts + 1
        if self.average > n:
            raise FitError(f"learner mert: average={self.average}, but there are {n} restarts")
        problem = lines_of(parts, lists.source)
        scaled = shrunk(initial * problem.scale)
        ends = self._search(problem, scaled)
        best = best_first(ends)
        least = ends[0].begun + self.min_gain
        kept, averaged = best[0], 1
        if self.average > 1:
            mean = self._mean(problem, unit_vector(scaled), best[: self.average])
            if mean.objective > least:
                kept, averaged = mean, self.average
        improved = kept.objective > least
        weights = kept.weights if improved else initial
        model = LinearModel(lists.names(), weights)
        model.initial = initial
        model.training.rounds = RestartsRecord(
            train=train_value(parts, weights),
            dev=dev_value(inputs, weights),
            initial=train_value(parts, initial),
            init=how,
            improved=improved,
            averaged=averaged,
            best=best[0].value,
            restarts=tuple(end.record(i, dev_value(inputs, end.weights)) for i, end in enumerate(ends)),
            spread=spread_of(ends, lists.names()),
        )
        return model

    def _search(self, problem: Lines, initial: Floats) -> list[End]:
        """Return the ends of the restarts; the first one starts from the initial weights (scaled).

        With a single list none is begun after one that chooses the best item.
        """
        n = self.restarts + 1
        size = _RESTART_BYTES + 24 * len(initial)
        memory.require(n * size, f"{n:,} restarts", "fewer restarts need less (--set restarts)")
        starts, noises = np.random.SeedSequence(self.seed).spawn(2)
        near = unit_vector(initial)
        tasks = self._tasks(problem, near, initial, starts)
        if problem.most < np.inf and self.average == 1:
            ends: list[End] = []
            for task in tasks:
                ends.append(_climbed(*task))
                if ends[-1].objective >= problem.most:
                    return ends
        else:
            ends = each_of(shared_by(problem), _climbed, tasks, "training")
        if self.perturbations:
            best = sorted(range(len(ends)), key=lambda i: -ends[i].objective)[:_PERTURBED]
            again = [
                (self, problem, near, ends[i], np.random.default_rng(child))
                for i, child in zip(best, noises.spawn(len(best)), strict=True)
            ]
            found = each_of(shared_by(problem), _perturbed, again, "training: perturbations")
            for i, end in zip(best, found, strict=True):
                ends[i] = end
        return ends

    def _tasks(
        self, problem: Lines, near: Floats, initial: Floats, seeds: np.random.SeedSequence
    ) -> Iterator[tuple[Mert, Lines, Floats, Floats, np.random.Generator]]:
        """Yield what ``_climbed`` is given, for each restart."""
        for i in range(self.restarts + 1):
            rng = np.random.default_rng(seeds.spawn(1)[0])
            start = initial if i == 0 else _noisy(near, _RESTART, problem, rng)
            yield self, problem, near, start, rng

    def _mean(self, problem: Lines, near: Floats, ends: list[End]) -> End:
        """The mean of the weights of ``ends``, each scaled to length 1."""
        climb = self._new_climb(problem, near)
        climb.settle(np.mean([unit_vector(end.weights * problem.scale) for end in ends], axis=0))
        return _end(climb, ends[0].start, ends[0].begun)

    def _new_climb(self, problem: Lines, near: Floats) -> Climb:
        least = self.min_gain + _CREEP * self.l2
        return climber(problem)(near, l2=self.l2, min_gain=least)

    def _climb(self, climb: Climb, rng: np.random.Generator) -> None:
        random = len(climb.problem.varying) if self.directions != "coordinate" else 0
        climb.climb(rng, self.passes, self.directions != "random", random)


def _climbed(learner: Mert, problem: Lines, near: Floats, start: Floats, rng: np.random.Generator) -> End:
    """A climb from ``start``; its end is kept in a checkpoint."""

    def climbed() -> End:
        climb = learner._new_climb(problem, near)
        climb.settle(start)
        value, objective = climb.value, climb.objective
        learner._climb(climb, rng)
        return _end(climb, value, objective)

    return kept_end(climbed)


def _perturbed(learner: Mert, problem: Lines, near: Floats, end: End, rng: np.random.Generator) -> End:
    """The best of further climbs; it is kept in a checkpoint."""
    return kept_end(lambda: _best_perturbed(learner, problem, near, end, rng))


def _best_perturbed(learner: Mert, problem: Lines, near: Floats, end: End, rng: np.random.Generator) -> End:
    """The best of further climbs, each from a perturbation of the best point so far."""
    climb = learner._new_climb(problem, near)
    climb.steps, climb.searches = end.steps, end.searches
    best = end.weights * problem.scale
    highest = end.objective
    for _ in range(learner.perturbations):
        climb.settle(_noisy(unit_vector(best), _PERTURBATION, problem, rng))
        learner._climb(climb, rng)
        if climb.objective > highest:
            best, highest = climb.weights, climb.objective
        if highest >= problem.most:
            break
    climb.settle(best)
    return _end(climb, end.start, end.begun)


def _end(climb: Climb, start: float, begun: float) -> End:
    """The end of a climb, its weights normalised."""
    scale = climb.problem.scale
    reached, objective = climb.weights, climb.objective
    length = float(np.abs(reached / scale).sum())
    if 0 < length < np.inf:
        climb.settle(reached / scale / length * scale)
        if climb.objective < objective:  # rounding broke a tie; a power of two rounds nothing
            climb.settle(reached * 2.0 ** -np.round(np.log2(length)))
    weights = climb.weights / scale
    return End(weights, start, begun, climb.value, climb.objective, climb.steps, climb.searches)


def _noisy(at: Floats, far: float, problem: Lines, rng: np.random.Generator) -> Floats:
    """``at``, of length 1 or 0, plus noise of length about ``far`` in the features that vary."""
    weights = at.copy()
    varying = problem.varying
    noise = rng.standard_normal(len(varying)) / np.sqrt(max(len(varying), 1))
    weights[varying] += noise * (far if at.any() else 1.0)
    return weights
