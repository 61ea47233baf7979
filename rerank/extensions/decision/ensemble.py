"""Ensembles: sums of the standardised scores of several learners' models.

The scores of a member are divided by their deviation within lists, measured on out-of-fold scores of
the training lists, so that a model that fits its training lists too well gets no larger share. The weights
are equal, or learnt by a linear learner from these scores. ``combine`` does the same with existing models.

References
----------
Wolpert: Stacked generalization. Neural Networks 5, 1992.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.settings import setting
from rerank.core.types import AnyArray, Floats
from rerank.data.columns.offsets import places_of
from rerank.data.folds import Fold
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.npy import ArrayForm
from rerank.data.reading import Missing
from rerank.extensions.decision.gain import deviation
from rerank.extensions.decision.held_out import fitted, held_out_scores
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.learners.meta_learner import Base, MetaLearner, needs_dev
from rerank.metrics.base import parse
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.classes import ClassesModel
from rerank.models.embedded_model import PACKED, packed_model, unpacked_model
from rerank.models.linear import LinearModel
from rerank.training.out_of_fold import folds_of

_MOST = 50  # members


@MODELS.register("ensemble")
class EnsembleModel(Model):
    """A weighted sum of the scores of models.

    Parameters
    ----------
    members : list of Model
        Their features together are those of the ensemble. A member that has steps of its own, such as a
        scaling, applies them.
    weights : float64 (n_members)

    Raises
    ------
    DataError
        If a member does not score the items of lists, or members differ in how they treat missing values.
    """

    kind = "ensemble"

    def __init__(self, members: list[Model], weights: Floats) -> None:
        names = [one.input_names for one in members]
        self.joined = any(own != names[0] for own in names)  # whether members have features of their own
        super().__init__(
            list(dict.fromkeys(name for own in names for name in own)) if self.joined else names[0]
        )
        if len(weights) != len(members) or not np.isfinite(weights).all():
            raise DataError(f"{len(weights)} weights of {len(members)} members, expected finite ones")
        for one in members:
            if one.adapts or isinstance(one, ClassesModel):
                raise DataError(f"a model of kind {one.kind} in an ensemble")
            if one.missing_policy != members[0].missing_policy:
                raise DataError("members with different policies for missing values")
        self.members_, self.weights_ = members, weights
        self.absent = members[0].fill if all(np.isnan(one.fill) for one in members) else 0.0
        self.listwise = any(one.listwise for one in members)  # type: ignore[misc]  # of the members

    @property
    def uses_test_labels(self) -> bool:
        return any(one.uses_test_labels for one in self.members_)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        total = np.zeros(lists.n_items)
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            for one, weight in zip(self.members_, self.weights_, strict=True):
                total += weight * one.score_prepared(self._ready(one, lists))
        return total

    def _ready(self, one: Model, lists: CandidateLists) -> CandidateLists:
        """The lists with the columns of a member, through its own steps."""
        own = lists.with_columns(one.input_names) if self.joined else lists
        return one.chain.apply(own, warn=True)

    @property
    def missing_policy(self) -> Missing | None:
        return self.members_[0].missing_policy if self.imputation is None else super().missing_policy

    def multiply_weight(self, column: int, factor: float) -> None:
        if self.joined or any(one.chain.fitted for one in self.members_):
            super().multiply_weight(column, factor)  # which refuses it
        for one in self.members_:
            one.multiply_weight(column, factor)

    def _cause(self, lists: CandidateLists, item: int) -> str:
        for one in self.members_:
            own = self._ready(one, lists)
            if not np.isfinite(one.score_prepared(own)[item]):
                return f"{one.training.learner}: {one._cause(own, item)}"
        return "the sum of the members' scores is too large"

    def arrays(self) -> Arrays:
        packed = {_name(k): packed_model(one) for k, one in enumerate(self.members_)}
        return {"weights": self.weights_, **packed}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"weights": ArrayForm("<f8", (None,)), _name(0): PACKED}

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {_name(k): PACKED for k in range(1, _MOST)}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        n = len(arrays["weights"])
        if not 0 < n <= _MOST or any(_name(k) not in arrays for k in range(n)) or len(arrays) != n + 1:
            raise DataError(f"{n} weights of {len(arrays) - 1} members")
        members = [unpacked_model(arrays[_name(k)], f"member {k + 1}") for k in range(n)]
        model = cls(members, arrays["weights"])
        if model.feature_names != feature_names:
            raise DataError(f"{len(model.feature_names)} features of the members for {len(feature_names)}")
        return model

    def _labels(self) -> list[str]:
        """A name for each member: its learner, with a number if another one has it too."""
        names = [one.training.learner or one.kind for one in self.members_]
        return [
            f"{name} {names[: k + 1].count(name)}" if names.count(name) > 1 else name
            for k, name in enumerate(names)
        ]

    def described(self) -> dict[str, Any]:
        weights = dict(zip(self._labels(), self.weights_.tolist(), strict=True))
        settings = {
            name: {"learner": one.training.learner, **one.training.settings}
            for name, one in zip(self._labels(), self.members_, strict=True)
        }
        return {"weights of members": weights, "members": settings}

    def training_lines(self) -> list[str]:
        shown = zip(self._labels(), self.weights_.tolist(), strict=True)
        parts = ", ".join(f"{weight:.4g} {name}" for name, weight in shown)
        return [*super().training_lines(), f"ensemble: {parts}"]

    def n_weighted(self) -> int:
        return len({name for one in self.members_ for name, _ in one.explain()} & set(self.feature_names))

    def explain(self) -> list[tuple[str, float]]:
        rows = [one.explain() for one in self.members_]
        names = [
            name if one.scaling is None else f"{name}, {one.scaling_name}"
            for name, one in zip(self._labels(), self.members_, strict=True)
        ]
        return [
            (f"{name}: {feature}", value)
            for name, own in zip(names, rows, strict=True)
            for feature, value in own
        ]


def _name(k: int) -> str:
    return f"member{k}"


def _checked_members(value: Any) -> Any:
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


@LEARNERS.register("ensemble", "stacking")
class Ensemble(Learner):
    """The sum of the standardised scores of several learners.

    References
    ----------
    Wolpert: Stacked generalization. Neural Networks 5, 1992.
    """

    name = "ensemble"
    summary = "sum of the standardised scores of several learners, with equal or learnt weights"
    source = "Wolpert 1992"
    watches: ClassVar[bool] = False
    default_scaling: ClassVar[str] = "zscore"

    learners: tuple[Base, ...] = setting(
        ("perceptron", "loglinear"),
        "the members: names separated by commas, or in YAML names and settings",
        parse=_checked_members,
    )
    weights: str = setting(
        "equal", "equal, or the linear learner that learns them from out-of-fold scores, such as loglinear"
    )
    inner_folds: int = setting(
        5, "folds of the training lists that members are standardised and weighted on", ge=2
    )
    seed: int = setting(1, "random seed of the folds, also of members unless they have their own", ge=0)

    def check_values(self) -> None:
        if not 2 <= len(self.learners) <= _MOST:
            raise ConfigError(
                f"learner {self.name}: found {len(self.learners)} learners, expected 2 to {_MOST}"
            )
        for one in self.members:
            why = "it is an ensemble itself" if isinstance(one, MetaLearner | Ensemble) else ""
            why = why or ("" if one.needs_features and not one.reads_classes else "it reads no features")
            why = why or needs_dev(one)
            if why:
                raise ConfigError(f"learner {one.name} is no member of learner {self.name}: {why}")
        if self.weights != "equal":
            LEARNERS.get(self.weights).checked({}, f"learner {self.name}: weights {self.weights}")

    @property
    def members(self) -> list[Learner]:
        """The learners of the members."""
        made = []
        for given in self.learners:
            settings: dict[str, Any] = {"name": given} if isinstance(given, str) else dict(given)
            name = settings.pop("name", None)
            if not isinstance(name, str):
                raise ConfigError(f"learner {self.name}: name: found {name!r}, expected a learner")
            kind = LEARNERS.get(name)
            if "seed" in kind.settings:
                settings.setdefault("seed", self.seed)
            made.append(kind.checked(settings, f"learner {self.name}: {name}"))
        return made

    @property
    def wants_judge(self) -> bool:
        weigher = None if self.weights == "equal" else LEARNERS.get(self.weights)
        return any(one.wants_judge for one in self.members) or bool(weigher and weigher.needs_judge)

    @property
    def takes_base_scale(self) -> bool:
        return all(one.takes_base_scale for one in self.members)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return self.with_held_out(lists, inputs, folds_of(lists, self.inner_folds, self.seed))[0]

    def with_held_out(
        self, lists: CandidateLists, inputs: FitInputs, folds: list[Fold]
    ) -> tuple[EnsembleModel, Floats]:
        """Return the model of all lists, and out-of-fold scores in its units, float64 (n_items).

        Learnt weights of a fold are those of the other folds.
        """
        models, columns, divisors = [], [], []
        for one in self.members:
            model = fitted(one, lists, inputs)
            scores = held_out_scores(one, model, lists, inputs, folds)
            unit = deviation(lists, scores)
            if not np.isfinite(unit):
                raise FitError(f"{lists.source}: learner {one.name}: scores that are not finite")
            models.append(model)
            divisors.append(unit if unit > 0 else 1.0)
            columns.append(scores / divisors[-1])
        features = np.column_stack(columns)
        weights, held_out = self._weighted(lists.with_features(Dense(features), self._names()), inputs, folds)
        made = EnsembleModel(models, weights / np.array(divisors))
        made.training.data = models[0].training.data
        return made, held_out

    def _names(self) -> list[str]:
        return [f"{k + 1} {one.name}" for k, one in enumerate(self.members)]

    def _weighted(self, lists: CandidateLists, inputs: FitInputs, folds: list[Fold]) -> tuple[Floats, Floats]:
        """The weights of standardised members, and the out-of-fold sums."""
        if self.weights == "equal":
            weights = np.full(lists.n_features, 1.0 / lists.n_features)
            return weights, lists.features.scores(weights)
        held_out = np.empty(lists.n_items)
        for fold in folds:
            items, _ = places_of(lists.offsets, fold.test)
            held_out[items] = lists.subset(fold.test).features.scores(
                self._learnt(lists.subset(fold.train), inputs)
            )
        return self._learnt(lists, inputs), held_out

    def _learnt(self, lists: CandidateLists, inputs: FitInputs) -> Floats:
        learner = LEARNERS.get(self.weights)()
        judge = None
        if learner.wants_judge and inputs.judge is not None:
            judge = parse(inputs.judge.name).prepare(lists)
        return learnt_weights(learner, lists, judge)


def learnt_weights(learner: Learner, lists: CandidateLists, judge: PreparedMetric | None) -> Floats:
    """Return the weights of members that a linear learner learns from their standardised scores.

    Parameters
    ----------
    learner : Learner
    lists : CandidateLists
        Labelled, with the scores of the members as their features.
    judge : PreparedMetric, optional
        Of these lists, if the learner optimises a metric.

    Returns
    -------
    float64 (n_members)
        Their absolute values sum to 1.

    Raises
    ------
    ConfigError
        If the model is not linear.
    FitError
        If every weight is 0, or as the learner.
    """
    model = learner.fit(lists, judge=judge)
    if not isinstance(model, LinearModel):
        raise ConfigError(
            f"weights: learner {learner.name} gives a model of kind {model.kind}, not a linear one"
        )
    size = float(np.abs(model.weights).sum())
    if size == 0:
        raise FitError(f"{lists.source}: learner {learner.name} gives every member the weight 0")
    return model.weights / size
