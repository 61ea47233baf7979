"""Minimum risk training: the metric that a model expects of its own choices, made sharper and sharper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, NothingToLearnError, checked_list_weights
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.initial import base_weights, overflowing
from rerank.learners.loglinear import LogLinear, LogLoss
from rerank.learners.rounds import KEEP_HELP, Keep, Rounds, linear_scores
from rerank.learners.sums.parts import Parts, PartsOf, SummingLearner
from rerank.learners.tuning.mert import Mert
from rerank.models.base import Model
from rerank.models.linear import LinearModel

Start = Literal["auto", "given", "base", "loglinear", "mert"]

_STEP = 1e-5  # of a derivative, relative to the sum of magnitudes


class RiskPart:
    """The statistics of the items of one part, and their probabilities under a linear model.

    - ``lists``: lists of the part.
    - ``judge``: a metric of single candidates, prepared for them.
    - ``list_weights``: float64 (n_lists), what multiplies the statistics of a list; None = 1.
    """

    def __init__(
        self, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None = None
    ) -> None:
        self._lists, self._list_weights = lists, list_weights
        weights = checked_list_weights(list_weights, lists)
        self.features = lists.features
        self.starts, self.lengths = lists.offsets[:-1], lists.lengths
        self.stats = judge.per_item * np.repeat(weights, self.lengths)[:, None]
        self.sizes = np.abs(self.stats)
        self._known: tuple[Floats, float, Floats] | None = None

    @cached_property
    def loglinear(self) -> LogLoss | None:
        """What ``loglinear`` makes of the lists, None if it learns nothing from them."""
        if self._lists.labels is None or not self._lists.judged_lists().any():
            return None
        try:
            return _START.part(self._lists, FitInputs(list_weights=self._list_weights), [None])
        except NothingToLearnError:
            return None

    def judged(self) -> bool:
        """Return whether an item has a label."""
        return self._lists.labels is not None and bool(self._lists.judged_lists().any())

    def posterior(self, scores: Floats) -> Floats:
        """Return the probabilities (n_items) of items with these scores (n_items)."""
        shifted = scores - np.repeat(np.maximum.reduceat(scores, self.starts), self.lengths)
        share = np.exp(shifted)
        found: Floats = share / np.repeat(np.add.reduceat(share, self.starts), self.lengths)
        return found

    def even(self) -> tuple[Floats, Floats]:
        """Return the expected statistics (k), and magnitudes, if all items of a list are equally likely."""
        return self._expected(1.0 / np.repeat(self.lengths, self.lengths))

    def gap(self, slopes: Floats) -> float:
        """Return what the best items are worth beyond the mean of their list, for slopes (k)."""
        worth = np.einsum("ij,j->i", self.stats, slopes)
        gaps = np.maximum.reduceat(worth, self.starts) - np.add.reduceat(worth, self.starts) / self.lengths
        return float(gaps.sum())

    def _expected(self, chance: Floats) -> tuple[Floats, Floats]:
        return np.einsum("i,ij->j", chance, self.stats), np.einsum("i,ij->j", chance, self.sizes)

    def _chance(self, v: Floats, gamma: float) -> Floats | None:
        if self._known is None or self._known[1] != gamma or not np.array_equal(self._known[0], v):
            scores = self.features.scores(v)
            if not np.isfinite(scores).all():
                return None
            self._known = v.copy(), gamma, self.posterior(gamma * scores)
        return self._known[2]

    def expected(self, v: Floats, gamma: float) -> tuple[Floats, Floats] | None:
        """Return the expected statistics, and magnitudes; None if a score is not finite."""
        chance = self._chance(v, gamma)
        return None if chance is None else self._expected(chance)

    def gradient(self, v: Floats, gamma: float, slopes: Floats, unit: float) -> Floats:
        """Return the gradient of the risk, for the slopes (k) of the metric."""
        chance = self._chance(v, gamma)
        assert chance is not None  # asked after expected
        worth = np.einsum("ij,j->i", self.stats, slopes)
        mean = np.add.reduceat(chance * worth, self.starts)
        slope = chance * (np.repeat(mean, self.lengths) - worth) * (gamma / unit)
        return self.features.transposed_product(slope)

    def spread(self, weights: Floats) -> tuple[float, int]:
        """Return the sum of squares of scores less the mean of their list, and the number of items.

        It is NaN if a score is not finite.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.features.scores(weights)
        if not np.isfinite(scores).all():
            return np.nan, len(scores)
        means = np.add.reduceat(scores, self.starts) / self.lengths
        return float(((scores - np.repeat(means, self.lengths)) ** 2).sum()), len(scores)


class Risk:
    """The expected metric of lists under the posterior of a linear model, and its gradient.

    P(x) of an item is exp(gamma * v·x), divided by the sum of that over its list. The expected statistics of
    a list are the sum over its items of P times the item's statistics; the metric is that of their sums over
    lists. For means (label@1, WER) it is the expected metric itself; for BLEU and PARSEVAL it is the metric
    of expected counts (Och 2003, equation 7; Smith & Eisner 2006, section 3.2).

    - ``parts``: ``RiskPart``, with their metric.
    - ``source``: of the lists.

    Attributes
    ----------
    unit : float
        What the metric gains if the best item of each list is certain instead of all being equally likely,
        to the first order. The risk is measured in it: it is 0 if all are equally likely.

    Raises
    ------
    FitError
        If the metric is the same for all candidates of each list.
    """

    def __init__(self, parts: Parts, source: str) -> None:
        assert parts.judge is not None  # needs_judge
        self._parts, self._judge = parts, parts.judge
        self.even, slopes = self._worth(parts.each(RiskPart.even))
        self.unit = sum(parts.each(RiskPart.gap, slopes))
        if not 0 < self.unit < np.inf:
            raise FitError(f"{source}: {self._judge.name} is the same for all candidates of each list")

    @classmethod
    def of(cls, lists: CandidateLists, judge: SelectingJudge, list_weights: Floats | None = None) -> Risk:
        """Return the risk of lists in memory."""
        return cls(Parts([RiskPart(lists, judge, list_weights)], lists.n_lists, judge), lists.source)

    def _worth(self, found: list[tuple[Floats, Floats]]) -> tuple[float, Floats]:
        """The metric of expected statistics, larger is better, and its slope in each statistic (k).

        The slope in a sum is taken from differences on both sides of it. A sum without counts has none.
        """
        sums, sizes = found[0]
        for more, others in found[1:]:
            sums, sizes = sums + more, sizes + others
        steps = np.diag(np.where(sizes > 0, sizes, 1.0) * _STEP)
        around = np.concatenate([sums[None], sums + steps, sums - steps])
        values = self._judge.better * np.asarray(self._judge.score_from_sums(around), dtype=np.float64)
        k = len(sums)
        slopes = (values[1 : k + 1] - values[k + 1 :]) / (2.0 * np.diag(steps))
        return float(values[0]), slopes

    def __call__(self, v: Floats, gamma: float) -> tuple[float, Floats]:
        """Return the risk at weights v (n_features), less is better, and its gradient."""
        expected = self._parts.each(RiskPart.expected, v, gamma)
        found = [one for one in expected if one is not None]
        if len(found) < len(expected):
            return np.inf, np.zeros(len(v))
        value, slopes = self._worth(found)
        gradient, *others = self._parts.each(RiskPart.gradient, v, gamma, slopes, self.unit)
        for more in others:
            gradient = gradient + more
        return (self.even - value) / self.unit, gradient


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

    def refused(self) -> str | None:
        return "init=mert" if self.init == "mert" else super().refused()

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
            return _START.fit_parts(some, lists, FitInputs()).weights, init
        if not parts.here:
            text = f"{lists.source}: learner mrt starts from mert without labels, which needs all lists"
            raise FitError(f"{text} in memory; give a model or weights file (--init FILE)")
        if init == "base":
            found = base_weights(lists)
            if isinstance(found, str):
                raise FitError(f"{lists.source}: init=base: {found}")
            return found, init
        model = Mert().fit(lists, judge=inputs.judge, list_weights=inputs.list_weights)
        assert isinstance(model, LinearModel)
        return model.weights, init

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


_START = LogLinear(targets="tied")


def _spread(parts: Parts, weights: Floats, source: str) -> float:
    """The root mean square of scores less the mean of their list; 1 if all are 0."""
    squares, n = zip(*parts.each(RiskPart.spread, weights), strict=True)
    total = sum(squares)
    if np.isnan(total):
        raise overflowing(source)
    spread = float(np.sqrt(total / sum(n)))
    return spread if spread > 0 else 1.0
