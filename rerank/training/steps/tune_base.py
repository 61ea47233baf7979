"""The weight of the base score, tuned after training by one exact line search."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, FitError
from rerank.core.types import Floats
from rerank.data.base_scores import base_scores_of
from rerank.data.judge import PreparedMetric, SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.models.base import Model
from rerank.models.training import RoundsRecord, TunedBaseRecord
from rerank.training.data import OutOfFold, Split, TrainingData
from rerank.training.steps import STEPS, AfterStep, Folds

FOLDS = 5
_GAIN = 1e-9  # what a step must gain, in the metric's units: less is rounding


class Change(Struct, frozen=True):
    """Result of the line search: the base score's weight times ``factor``, or plus ``added``."""

    factor: float | None
    added: float | None
    before: float
    after: float


@STEPS.register("tune_base")
class TuneBase(AfterStep, frozen=True):
    """Tune the base score's weight on the dev lists, or on out-of-fold scores ("folds").

    Attributes
    ----------
    tune_base
        none, dev or folds.
    folds
        How many parts the training lists are divided into, None = FOLDS.
    known
        The change that folds gave already, None if they are still to be fitted.
    """

    tune_base: Literal["none", "dev", "folds"] = "none"
    folds: int | None = None
    known: Change | None = None

    name: ClassVar[str] = "tune_base"
    place: ClassVar[int] = 10
    settings: ClassVar[tuple[str, ...]] = ("tune_base", "folds")
    section: ClassVar[str] = "select"

    @property
    def uses_dev(self) -> bool:
        return self.tune_base == "dev"

    @property
    def n_folds(self) -> int:
        """Return the number of parts that the training lists are divided into."""
        return FOLDS if self.folds is None else self.folds

    def check_data(self, data: TrainingData) -> None:
        on = self.tune_base
        split = data.train if on == "folds" else data.dev
        if split is None:
            raise ConfigError("tune_base=dev is tuned on development lists: give some (--dev, dev=)")
        if split.judge is None:
            raise ConfigError(f"tune_base={on} is tuned by a metric: give one (--metric, metric=)")
        if not isinstance(split.judge, SelectingJudge):
            text = f"a metric of single candidates (BLEU, WER, label@1), {split.judge.name} judges rankings"
            raise ConfigError(f"tune_base={on} needs {text}")
        if data.base_column is None:
            base_scores_of(split.lists, f"tune_base={on}")

    def change(self, model: Model, data: TrainingData, folds: Folds) -> None:
        """Change the base score's weight, and record it; FitError if the model's score is no weighted sum."""
        _weight_to_tune(model, data.base_column)
        if self.tune_base == "dev":
            found = self.on_dev(model, data)
        else:
            found = self.known or self._on_folds(model, data, folds)
        apply(model, found, data.train.lists, data.base_column)
        judge = data.train.judge
        assert judge is not None  # check_data() refuses
        model.training.tune_base = TunedBaseRecord(
            on=self.tune_base,  # type: ignore[arg-type]  # it is active
            metric=judge.name,
            factor=found.factor,
            added=found.added,
            before=found.before,
            after=found.after,
            folds=self.n_folds if self.tune_base == "folds" else None,
        )

    def on_dev(self, model: Model, data: TrainingData) -> Change:
        """Return the best change on the dev lists; errors are those of ``change``."""
        dev, column = data.dev, data.base_column
        assert dev is not None  # check_data() refuses
        weight, base = _weight_to_tune(model, column), base_values(dev.lists, column)
        term = weight * base if weight != 0 else None
        return best_change(dev.lists, dev.judge, model.score_prepared(dev.lists), term, base)

    def _on_folds(self, model: Model, data: TrainingData, folds: Folds) -> Change:
        """The best change on out-of-fold scores; each fold trains as many rounds as the model kept."""
        rounds = model.training.rounds
        whole, found = folds(self.n_folds, rounds.kept if isinstance(rounds, RoundsRecord) else None)
        zero = base_weight(model, data.base_column) == 0
        return change_on_folds(whole, found, 0, additive=zero)


def _weight_to_tune(model: Model, column: int | None) -> float:
    """The weight of the base score; FitError if the model's score is no weighted sum."""
    weight = base_weight(model, column)
    if np.isnan(weight):
        found = f"a model of kind {model.kind}"
        raise FitError(f"tune_base changes a weight of a score that is a weighted sum, found {found}")
    return weight


def base_weight(model: Model, column: int | None) -> float:
    """Return the weight of the base score in a model, NaN if its score is no weighted sum."""
    from rerank.models.linear import LinearModel
    from rerank.models.stumps import StumpModel

    if not isinstance(model, LinearModel | StumpModel):
        return np.nan
    return (model.base_weight or 0.0) if column is None else float(model.weights[column])


def base_values(lists: CandidateLists, column: int | None) -> Floats:
    """Return what the weight of the base score multiplies in prepared lists, NaN if they have none."""
    if column is not None:
        return lists.features.column(column)
    return np.full(lists.n_items, np.nan) if lists.base_scores is None else lists.base_scores


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
    from rerank.learners.sums.lines import LineProblem
    from rerank.learners.tuning.line_search import Climb

    assert isinstance(judge, SelectingJudge)  # TuneBase.check_data refuses others
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


def change_on_folds(train: Split, found: OutOfFold, at: int, *, additive: bool = False) -> Change:
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
    from rerank.models.linear import LinearModel
    from rerank.models.stumps import StumpModel

    assert isinstance(model, LinearModel | StumpModel)  # change() refuses others
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
