"""Minimum risk training: the metric that a model expects of its own choices, made sharper and sharper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.system import added
from rerank.core.types import Floats
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, NothingToLearnError
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.initial import base_weights, overflowing
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds, linear_scores
from rerank.learners.sums.parts import Parts, PartsOf, SummingLearner
from rerank.learners.sums.risk import START, Risk, RiskPart
from rerank.learners.tuning.mert import Mert
from rerank.models.base import Model
from rerank.models.linear import LinearModel

Start = Literal["auto", "given", "base", "loglinear", "mert"]


@LEARNERS.register("mrt", "minimum-risk")
class MinimumRisk(SummingLearner):
    """Minimum risk training: linear weights whose own posterior expects the best metric.

    The metric of the expected statistics of every list is maximised by L-BFGS, under the posterior
    P(x) = exp(gamma * v·x) / the sum of that over the list. Round after round gamma doubles: the first rounds
    have few local maxima, the last ones are nearly the metric of the chosen items, which only ``mert``
    maximises exactly. Each round begins with the weights of the one before. ``l2`` * |v - v0|² is
    subtracted, in units of what the metric gains if every list's best item were certain.

    The problem is not convex: where it begins matters. v0 is ``init``, scaled so that the scores of a list
    have a standard deviation of 1 on average; so gamma means the same on every set. The model's weights are
    gamma * v: the softmax of its scores is the posterior that was trained.

    Unlike ``mert`` it is made for any number of features, and unlike ``loglinear`` for any metric of single
    candidates (BLEU, WER, PARSEVAL, label@1). List weights multiply the statistics of their lists.

    References
    ----------
    Och: Minimum error rate training in statistical machine translation. ACL 2003 (smoothed error count).
    Smith, Eisner: Minimum risk annealing for training log-linear models. ACL 2006.
    """

    name = "mrt"
    summary = "minimum risk training: the metric expected under the model's own posterior, annealed"
    source = "Smith & Eisner 2006"
    needs_labels = False
    needs_judge = True
    needs_selecting = True
    default_scaling = "zscore"
    iterates = "rounds"
    accepts_list_weights = True
    accepts_initial = True
    judges_parts = True

    rounds: int = setting(5, "rounds of annealing: gamma doubles from one to the next", ge=1, le=60)
    gamma: float = setting(1.0, "sharpness of the posterior in the first round", gt=0, le=1e6)
    l2: float = setting(0.01, "regularisation strength: penalty on the distance from the first weights", ge=0)
    init: Start = setting(
        "auto",
        "first weights: given (with --init), base (they reproduce the first stage's scores), or those of "
        "loglinear or mert with their default settings; auto = given, else loglinear if there are labels, "
        "else mert",
    )
    iterations: int = setting(100, "maximum number of L-BFGS steps per round", ge=1)
    keep: Keep = setting("last", KEEP_HELP)

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> RiskPart:
        assert isinstance(inputs.judge, SelectingJudge)  # needs_selecting
        return RiskPart(lists, inputs.judge, inputs.list_weights)

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Model:
        risk = Risk(parts, lists.source)
        start, how = self._start(parts, lists, inputs)
        first = start / _spread(parts, start, lists.source)
        watch = Rounds(lists, inputs, self.keep)
        weights, v = start, first
        for r in watch.each(range(self.rounds), self.rounds):
            gamma = self.gamma * 2.0**r
            v, steps, value = self._minimum(risk, first, v, gamma, lists.source)
            weights = gamma * v
            watch.record(weights, linear_scores, gamma=gamma, risk=value, iterations=steps)
        if np.array_equal(v, first):
            text = f"{lists.source}: no step of mrt gained; the model has the first weights (init {how})"
            warnings.warn(text, DataNote, stacklevel=2)
        kept, rounds = watch.kept(weights, init=how)
        model = LinearModel(lists.names(), kept)
        model.initial, model.curve, model.training.rounds = start, watch.curve, rounds
        return model

    def _start(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> tuple[Floats, str]:
        """The weights to start from, and what they are; raises FitError if there are none."""
        init = self.init
        if inputs.initial is not None:
            if init not in ("auto", "given"):
                raise FitError(f"init={init}: initial weights are given too (--init FILE): leave one out")
            return inputs.initial.copy(), "given"
        if init == "given":
            raise FitError("init=given: no initial weights; give a model or weights file (--init FILE)")
        if init == "auto":
            init = "loglinear" if any(parts.each(RiskPart.judged)) else "mert"
        if init == "loglinear":
            some = PartsOf(parts, "loglinear")
            if not len(some):
                raise NothingToLearnError(f"{lists.source}: no list has two different labels")
            return START.fit_parts(some, lists, FitInputs()).weights, init
        if init == "base":
            found = base_weights(lists)
            if isinstance(found, str):
                raise FitError(f"{lists.source}: init=base: {found}")
            return found, init
        return Mert().fit_parts(PartsOf(parts, "lines"), lists, FitInputs(judge=inputs.judge)).weights, init

    def _minimum(
        self, risk: Risk, first: Floats, v: Floats, gamma: float, source: str
    ) -> tuple[Floats, int, float]:
        """The weights that minimise risk and penalty under gamma, from ``v``; steps, and their risk."""
        from scipy import optimize  # it takes longer to load than other learners take to fit

        def penalised(v: Floats) -> tuple[float, Floats]:
            value, slope = risk(v, gamma)
            away = v - first
            return value + self.l2 * deterministic_dot(away, away), slope + 2.0 * self.l2 * away

        found = optimize.minimize(
            penalised, v, jac=True, method="L-BFGS-B", options={"maxiter": self.iterations}
        )
        if not (np.isfinite(found.fun) and np.isfinite(found.x).all()):
            raise FitError(f"{source}: the scores overflow; scale the features (--scaling)")
        return found.x, int(found.nit), risk(found.x, gamma)[0]


def _spread(parts: Parts, weights: Floats, source: str) -> float:
    """The root mean square of scores less the mean of their list; 1 if all are 0."""
    squares, n = zip(*parts.each(RiskPart.spread, weights), strict=True)
    total = added(squares)
    if np.isnan(total):
        raise overflowing(source)
    return float(np.sqrt(total / sum(n))) or 1.0
