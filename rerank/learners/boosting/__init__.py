"""Boosting for reranking (Collins & Koo 2005)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.base_scores import base_column, base_scores_of
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, MarginName
from rerank.learners.base import LEARNERS, FitInputs, Learner, top_costs
from rerank.learners.boosting.examples import Examples, class_examples, ranking_examples, thresholds_of
from rerank.learners.boosting.rounds import Run, run, values_by_round
from rerank.learners.rounds import KEEP_HELP, Keep
from rerank.models.base import Model
from rerank.models.stumps import StumpModel, Thresholds
from rerank.models.training import DataRecord, RoundsRecord
from rerank.native.learners._boosting_exp import ExpLoss
from rerank.native.learners._boosting_index import hits as hits_of
from rerank.native.learners._boosting_index import index
from rerank.native.learners._boosting_log import LogLoss, ScaledLogLoss

LEAST, MOST = 0.001, 10.0


def exact_weight(differences: Floats, log_importance: Floats) -> float:
    """Return the alpha in [0.001, 10] that minimises the sum of exp(log_importance - alpha * difference).

    The logarithm of the sum is convex: Newton's method finds the minimum, kept inside by bisection.

    - ``differences``: of the base score, float64 (n_pairs), finite and not all 0.
    - ``log_importance``: float64 (n_pairs), finite.
    """
    scale = float(np.abs(differences).max())
    units = differences / scale

    def slopes(alpha: float) -> tuple[float, float]:
        """The first and second derivative, in units of the largest difference."""
        exponent = log_importance - alpha * differences
        share = np.exp(exponent - exponent.max())
        share /= share.sum()
        mean = float((share * units).sum())
        return -mean, float((share * (units - mean) ** 2).sum())

    low, high = LEAST, MOST
    if slopes(low)[0] >= 0:
        return low
    if slopes(high)[0] <= 0:
        return high
    alpha = 1.0
    for _ in range(200):
        slope, curvature = slopes(alpha)
        low, high = (alpha, high) if slope < 0 else (low, alpha)
        guess = alpha - slope / (curvature * scale) if curvature > 0 else np.inf
        new = guess if low < guess < high else (low + high) / 2
        if slope == 0 or abs(new - alpha) <= 1e-14 * alpha:
            return float(new)
        alpha = float(new)
    return alpha


_EPSILON = 0.0025  # the best one of the paper
_LEAST, _SCALINGS = 1e-9, 100  # iterative scaling ends when a step changes by less, or after so many times
_PASSES = 10.0  # of changes of sums, after which all are computed again


@LEARNERS.register("boosting")
class Boosting(Learner):
    """Boosting for reranking: each round adds the one indicator that lowers the loss most.

    F(x) = alpha_0 * L(x) + the sum of alpha_k * h_k(x), with the base score L and indicators h_k: a feature
    is at or above a threshold. The pairs of a list are its best item (by label, then base score, then order)
    and each item of a smaller label. The exponential loss is the sum over pairs of S * exp(-M) with the
    margin M = F(best) - F(other); S is the difference of the labels or 1. The logistic loss is the sum over
    lists of log(1 + the sum of exp(-M)): -log P(best) of a log-linear model. For the paper's Score of parses,
    F1 / 100 times the constituents of the gold tree, make labels of it: --label PARSEVAL.score.

    alpha_0 is set first, alone. In each round G_k = |sqrt(W_k+) - sqrt(W_k-)| chooses an indicator, the first
    on ties, where W_k+ and W_k- are the loss of the pairs on which it is right and wrong; its step is
    log((W+ + epsilon * Z) / (W- + epsilon * Z)) / 2 with the whole loss Z. Gains that differ by 1e-10 of the
    root of Z are tied, and steps are multiples of 2^-40, so that rounding decides nothing. A feature that is
    the base score makes no indicator; alpha_0 becomes its weight.

    For the logistic loss the fast engine is Appendix B, where W+ and W- are sums of exp(-M) / (1 + the list's
    sum) and the gain is a bound. The reference is section 4.6: the best step of every indicator by iterative
    scaling, and the one by which the loss falls most.

    With ``tau`` a best item must lead by tau * g, the margin of the two: -M is tau * g - M in both losses.
    Errors are counted without it.

    References
    ----------
    Collins, Koo: Discriminative reranking for natural language parsing. Computational Linguistics 31, 2005.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (uneven margins).
    """

    name = "boosting"
    summary = "boosting of indicators by the exponential or the logistic loss, one a round"
    source = "Collins & Koo 2005"
    scale_invariant = True
    iterates = "rounds"
    resumable = True
    observable = False  # --grid rounds=... for some of a hundred thousand

    task: Literal["ranking", "classification"] = setting(
        "ranking", "the best item of each list must win, or relevant items must score above 0, others below"
    )
    relevant: float | None = setting(
        None, "classification: items with at least this label are relevant; none = 1"
    )
    loss: Literal["exp", "log"] = setting("exp", "the exponential loss, or the logistic one")
    engine: Literal["reference", "fast"] = setting(
        "fast",
        "exp: compute all sums in each round (Figure 3), or only those that change (Figure 4); "
        "log: iterative scaling of all indicators (4.6), or Appendix B",
    )
    epsilon: float | None = setting(
        None, "smoothing of the steps, in units of Z; none = 0.0025; iterative scaling has none", ge=0, lt=1
    )
    rounds: int = setting(1000, "maximum number of rounds; fewer if no indicator lowers the loss", ge=1)
    pair_weighting: Literal["auto", "score", "one"] = setting(
        "auto",
        "S of loss=exp: the difference of the labels, or 1; auto = score for rankings, one for classes",
    )
    alpha0: Literal["auto"] | float = setting(
        "auto",
        "weight of the base score; auto = for exp the exact minimiser of the loss in [0.001, 10], for log 1; "
        "0 = none",
    )
    margin: MarginName = setting("even", "g: 1 (even), 1/p - 1/q (uneven), or the difference of the labels")
    margin_power: float = setting(1.0, "uneven: 1/p^a - 1/q^a", gt=0)
    tau: float = setting(0.0, "learning margin: the best item must lead by tau * g", ge=0)
    bins: int | None = setting(
        32,
        "maximum number of thresholds per feature, at quantiles; a feature with fewer values has "
        "a threshold at each; none = all values",
        ge=1,
    )
    keep: Keep = setting("last", KEEP_HELP)

    def check_values(self) -> None:
        if self.alpha0 != "auto" and not 0 <= self.alpha0 < np.inf:
            raise ConfigError(f"alpha0: found {self.alpha0}, expected auto or a number of at least 0")
        if self.relevant is not None and self.task == "ranking":
            raise ConfigError("relevant is for task=classification: rankings compare labels")
        if self.pair_weighting == "score" and self.task == "classification":
            raise ConfigError("pair_weighting=score is for task=ranking: items of a class count the same")
        if self.pair_weighting == "score" and self.loss == "log":
            raise ConfigError("pair_weighting=score is for loss=exp: the logistic loss weights no pair")
        if self.task == "classification" and (self.tau or self.margin != "even"):
            raise ConfigError("margin and tau are for task=ranking: items of a class have no ranks")
        if self.epsilon is not None and self._scales:
            raise ConfigError("epsilon is not for loss=log, engine=reference: scaling smooths nothing")

    @property
    def _scales(self) -> bool:
        return self.loss == "log" and self.engine == "reference"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        examples = self._examples(lists)
        base = self._base(lists, examples)
        items = np.unique(examples.pairs)
        stumps = thresholds_of(lists.features.take(items[items >= 0]), self.bins, base.column)
        margin = base.weight * examples.differences(base.scores)
        _, found = self._run(lists, stumps, examples, margin, self.rounds)
        return self._model(lists, inputs, stumps, base, found, examples)

    def _examples(self, lists: CandidateLists) -> Examples:
        """The pairs with their costs."""
        if self.task == "classification":
            return class_examples(lists, 1.0 if self.relevant is None else self.relevant)
        examples = ranking_examples(lists, self.loss == "exp" and self.pair_weighting != "one")
        if self.margin == "even" and self.loss == "exp" and self.tau:
            raise ConfigError("boosting: tau with margin=even multiplies all pairs of loss=exp equally")
        costs = top_costs(lists, Margin(self.margin, self.margin_power), self.tau, self.name)
        return examples if costs is None else replace(examples, cost=costs[examples.pairs[1]])

    def _run(
        self, lists: CandidateLists, stumps: Thresholds, examples: Examples, margin: Floats, rounds: int
    ) -> tuple[Any, Run]:
        """The kernel's loss after at most so many rounds, which change ``margin``, and the rounds."""
        matrix, cost, groups = lists.features.matrix(), examples.cost, examples.groups
        differences = index(matrix, stumps.native, examples.pairs)
        epsilon = _EPSILON if self.epsilon is None else self.epsilon
        passes = 0.0 if self.engine == "reference" else _PASSES
        if self.loss == "exp":
            loss = ExpLoss(differences, margin, examples.importance, epsilon, passes, cost)
        elif not self._scales:
            loss = LogLoss(differences, margin, groups, epsilon, passes, cost)
        else:
            hits = np.empty(len(stumps), dtype=np.int64)
            hits_of(matrix, stumps.native, examples.winners, hits)
            loss = ScaledLogLoss(differences, margin, groups, hits, _LEAST, _SCALINGS, cost)
        found = run(loss, rounds)
        if found.infinite is not None:
            name = lists.names()[stumps.feature[found.infinite]]
            at = f"{name!r} >= {stumps.at[found.infinite]:.6g}"
            text = f"{lists.source}: {at} points the same way on every pair that it tells apart: its step is"
            raise FitError(f"{text} infinite after {len(found.steps)} rounds; epsilon > 0 smooths it")
        return loss, found

    def _base(self, lists: CandidateLists, examples: Examples) -> _Base:
        """The base score and its weight; raises FitError if it is asked for and there is none."""
        if self.alpha0 == 0.0 or (self.alpha0 == "auto" and lists.base_scores is None):
            return _Base(np.zeros(lists.n_items), 0.0)
        scores = base_scores_of(lists, f"alpha0={self.alpha0}")
        differences = examples.differences(scores)
        if not np.isfinite(differences).all():
            raise FitError(f"{lists.source}: differences of the base scores overflow")
        if self.alpha0 != "auto":
            weight = float(self.alpha0)
        elif not differences.any():
            return _Base(np.zeros(lists.n_items), 0.0)
        else:
            importance = np.log(examples.importance) + (0.0 if examples.cost is None else examples.cost)
            weight = 1.0 if self.loss == "log" else exact_weight(differences, importance)
        column = base_column(lists)
        return _Base(scores, weight, *(() if column is None else (column.index, weight / column.factor)))

    def _model(
        self,
        lists: CandidateLists,
        inputs: FitInputs,
        stumps: Thresholds,
        base: _Base,
        found: Run,
        examples: Examples,
    ) -> Model:
        weights = np.zeros(lists.n_features)
        if base.column is not None:
            weights[base.column] = base.column_weight
        steps = (stumps.feature[found.stumps], stumps.at[found.stumps], found.steps)
        whole = StumpModel(lists.names(), weights, *steps)
        if base.weight and base.column is None:
            whole.base_weight = base.weight
        if not len(found.steps):
            text = f"{lists.source}: boosting learnt nothing: no feature tells the best items from the others"
            warnings.warn(text, DataNote, stacklevel=3)
        curve: dict[str, Any] = found.columns(examples)
        start = whole.prefix(0)
        watched = {"train": None if inputs.judge is None else (lists, inputs.judge), "dev": inputs.dev}
        for name, part in watched.items():
            if part is not None:
                begin = start.score_prepared(part[0])
                curve[name] = values_by_round(*part, begin, stumps, found.stumps, found.steps)
        kept = self._kept(curve, inputs)
        model = whole.prefix(kept)
        columns = [np.asarray(column).tolist() for column in curve.values()]
        model.curve.extend(dict(zip(curve, row, strict=True)) for row in zip(*columns, strict=True))
        dev, n = float(curve["dev"][kept - 1]) if "dev" in curve and kept else None, len(found.steps)
        model.training.rounds = RoundsRecord(run=n, kept=kept, dev=dev, converged=found.converged)
        model.training.data = DataRecord(pairs=examples.n_pairs, lists_without_pair=examples.n_skipped)
        model.training.notes = {"alpha0": base.weight if base.weight else "none", **found.facts(kept, curve)}
        return model

    def _kept(self, curve: dict[str, Any], inputs: FitInputs) -> int:
        """The number of rounds that the model keeps: all, or those up to the first of the largest values."""
        n = len(curve["round"])
        if self.keep == "last" or n == 0:
            return n
        dev = inputs.dev and inputs.dev[1]
        name, judge = ("train", inputs.judge) if self.keep == "train" else ("dev", dev)
        assert judge is not None  # Learner._check
        values = judge.better * curve[name]
        return 1 + int(np.argmax(np.where(np.isnan(values), -np.inf, values)))


@dataclass(frozen=True, eq=False)
class _Base:
    """The base score (n_items) and its weight; the feature that holds it, if one does, and its weight."""

    scores: Floats
    weight: float
    column: int | None = None
    column_weight: float = 0.0
