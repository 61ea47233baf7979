"""The weight of the base score, tuned after training by one exact line search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from rerank.core.errors import ConfigError, FitError
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.training import RoundsRecord, TunedBaseRecord
from rerank.training.prepare import Part, Prepared

if TYPE_CHECKING:
    from rerank.training.out_of_fold import OutOfFold

FOLDS = 5
TuneOn = Literal["none", "dev", "folds"]
_GAIN = 1e-9  # what a step must gain, in the metric's units: less is rounding


@dataclass(frozen=True)
class Change:
    """What the line search found: the base score's weight times ``factor``, or plus ``added``."""

    factor: float | None
    added: float | None
    before: float
    after: float


def best_change(
    lists: CandidateLists, judge: PreparedMetric | None, scores: Floats, term: Floats | None, base: Floats
) -> Change:
    """Return the change of the base score's weight that gives the best value of the metric, exactly.

    Along f the scores are rest + f * term; every choice that any f makes is judged. The middle of the best
    interval of f is returned; of equally good intervals, that of the one nearest to 1. If none is better than
    f = 1, that is the answer.

    Parameters
    ----------
    lists, judge
        Lists, and a metric of single candidates prepared for them.
    scores
        The scores before the change, float64 (n_items).
    term
        The part of the scores that is the base score times its weight; None if that weight is 0. Then the
        line is scores + g * base, the answer is ``added``, and "nearest to 1" is "nearest to 0".
    base
        The base scores, in the units of their weight.

    Raises
    ------
    FitError
        If scores overflow.
    """
    from rerank.learners.tuning.line_search import Climb, LineProblem

    assert isinstance(judge, SelectingJudge)  # BaseTuning.check refuses others
    moving = base if term is None else term
    rest = scores if term is None else scores - term
    start = 0.0 if term is None else 1.0
    two = lists.with_features(Dense(np.column_stack([rest, moving])), ["rest", "base"])
    problem = LineProblem(two, judge, None)
    climb = Climb(problem, np.zeros(2), min_gain=_GAIN)
    climb.settle(np.array([1.0, start]) * problem.scale)
    before = climb.value
    climb.step(np.array([0.0, 1.0]), problem.along(1))
    found = float(climb.weights[1] / problem.scale[1]) if climb.steps else start
    if term is None:
        return Change(None, found, before, climb.value)
    return Change(found, None, before, climb.value)


@dataclass(frozen=True)
class BaseTuning:
    """What the base score's weight is tuned on: the dev lists, or out-of-fold scores of the training lists.

    Attributes
    ----------
    on
        none, dev or folds.
    folds
        How many parts the training lists are divided into.
    known
        The change that folds gave already, None if they are still to be fitted.
    """

    on: TuneOn = "none"
    folds: int = FOLDS
    known: Change | None = None

    def __post_init__(self) -> None:
        if self.on not in get_args(TuneOn):
            raise ConfigError(f"tune_base: found {self.on!r}, expected none, dev or folds")

    def check(self, prepared: Prepared) -> None:
        """Raise an error if the weight cannot be tuned, before anything is learnt."""
        from rerank.data.base_scores import base_scores_of

        if self.on == "none":
            return
        part = prepared.train if self.on == "folds" else prepared.dev
        if part is None:
            raise ConfigError("tune_base=dev is tuned on development lists: give some (--dev, dev=)")
        if part.judge is None:
            raise ConfigError(f"tune_base={self.on} is tuned by a metric: give one (--metric, metric=)")
        if not isinstance(part.judge, SelectingJudge):
            text = f"a metric of single candidates (BLEU, WER, label@1), {part.judge.name} judges rankings"
            raise ConfigError(f"tune_base={self.on} needs {text}")
        if prepared.base_column is None:
            base_scores_of(part.lists, f"tune_base={self.on}")

    def tune(self, model: Model, prepared: Prepared, learner: Learner) -> None:
        """Change the base score's weight in a model of the training lists, and record it.

        Raises
        ------
        FitError
            If the model's score is not a weighted sum.
        """
        if self.on == "none":
            return
        column = prepared.base_column
        _weight_to_tune(model, column)
        if self.on == "dev":
            change = self.on_dev(model, prepared)
        else:
            change = self.known or self._on_folds(model, prepared, learner)
        apply(model, change, prepared.train.lists, column)
        judge = prepared.train.judge
        assert judge is not None  # check() refuses
        model.training.tune_base = TunedBaseRecord(
            on=self.on,
            metric=judge.name,
            factor=change.factor,
            added=change.added,
            before=change.before,
            after=change.after,
            folds=self.folds if self.on == "folds" else None,
        )

    def on_dev(self, model: Model, prepared: Prepared) -> Change:
        """Return the best change on the dev lists; errors are those of ``tune``."""
        from rerank.training.out_of_fold import base_values

        dev, column = prepared.dev, prepared.base_column
        assert dev is not None  # check() refuses
        weight, base = _weight_to_tune(model, column), base_values(dev.lists, column)
        term = weight * base if weight != 0 else None
        return best_change(dev.lists, dev.judge, model.score_prepared(dev.lists), term, base)

    def _on_folds(self, model: Model, prepared: Prepared, learner: Learner) -> Change:
        """The best change on out-of-fold scores; each fold trains as many rounds as the model kept."""
        from rerank.training.out_of_fold import Trial, base_weight, folds_of, out_of_fold

        rounds = model.training.rounds
        kept = rounds.kept if isinstance(rounds, RoundsRecord) else None
        trial = Trial(with_rounds(learner, kept), prepared.setup)
        chosen = folds_of(prepared.source, self.folds, seed_of(learner))
        column = prepared.base_column
        found = out_of_fold(prepared.source, chosen, [trial], column, prepared.extras)[0]
        zero = base_weight(model, column) == 0
        whole, metric = prepared.train, prepared.setup.metric
        assert metric is not None  # check() refuses
        judge = metric.prepare(prepared.extras.judged(whole.lists))
        return change_on_folds(replace(whole, judge=judge), found, 0, additive=zero)


def _weight_to_tune(model: Model, column: int | None) -> float:
    """The weight of the base score; FitError if the model's score is no weighted sum."""
    from rerank.training.out_of_fold import base_weight

    weight = base_weight(model, column)
    if np.isnan(weight):
        found = f"a model of kind {model.kind}"
        raise FitError(f"tune_base changes a weight of a score that is a weighted sum, found {found}")
    return weight


NO_TUNING = BaseTuning()


def change_on_folds(train: Part, found: OutOfFold, at: int, *, additive: bool = False) -> Change:
    """Return the best change on the out-of-fold scores after round ``at``.

    Parameters
    ----------
    train
        All training lists.
    found
        Out-of-fold scores of a learner.
    at
        The round, from 0.
    additive
        Add to the weight, instead of multiplying it.

    Raises
    ------
    FitError
        If the models' scores are no weighted sums.
    """
    if np.isnan(found.weights[at]).any():
        raise FitError("tune_base changes a weight of a score that is a weighted sum; these models have none")
    term = None if additive else found.term(at)
    return best_change(train.lists, train.judge, found.scores[at], term, found.base)


def apply(model: Model, change: Change, train: CandidateLists, column: int | None) -> None:
    """Change the weight of the base score in a model that was learnt from ``train`` (prepared).

    Without a column, a weight that is added becomes part of the weights of the features if they give the base
    score together (see learners.initial), so that lists without base scores can be scored.

    Raises
    ------
    FitError
        If a weight overflows.
    """
    from rerank.learners.initial import base_weights
    from rerank.training.out_of_fold import WEIGHTED_SUMS, base_weight

    assert isinstance(model, WEIGHTED_SUMS)  # tune() refuses others
    weight = base_weight(model, column)
    weights = model.weights.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        new = weight + change.added if change.added is not None else weight * (change.factor or 0.0)
        if column is not None:
            weights[column] = new
        elif new != weight:
            parts = base_weights(train) if model.base_weight is None else "the model has a base weight"
            if isinstance(parts, str):
                model.base_weight = new
            else:
                weights += new * parts
    if not (np.isfinite(new) and np.isfinite(weights).all()):
        raise FitError(f"{train.source}: tune_base: the weight of the base score overflows")
    model.weights = weights


def with_rounds(learner: Learner, rounds: int | None) -> Learner:
    """Return a learner that keeps the last of ``rounds`` rounds; without rounds, the same learner."""
    if not learner.iterates:
        return learner
    settings = learner.get_params()
    changes = {"keep": "last", learner.iterates: rounds or settings[learner.iterates]}
    return type(learner)(**settings | changes)


def seed_of(learner: Learner) -> int:
    """Return the seed by which lists are divided: the learner's own, 0 if it has none."""
    return int(learner.get_params().get("seed", 0))
