"""Predtron for examples with classes: weights of features, or coefficients of examples, for each output."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, FitError
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats, Index
from rerank.data.classes import ClassLabels, class_values, example_of
from rerank.data.columns.class_sets import coder
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import FitInputs, checked_list_weights
from rerank.learners.predtron.settings import PredtronSettings
from rerank.learners.predtron.steps import (
    Form,
    KernelItems,
    LossRange,
    Positions,
    discounts,
    dual_norm_of,
    theorem_step,
)
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.classes import ClassesModel, Decode
from rerank.models.dual import DualClassesModel, add_columns
from rerank.native.learners import _predtron_classes, _predtron_sets, _predtron_tasks
from rerank.native.learners._link import Link
from rerank.native.learners._weights import Weights
from rerank.similarity.vectors import squared_norms


@dataclass(frozen=True, eq=False)
class ClassTask:
    """A task on the examples of a data set.

    Attributes
    ----------
    kernel
        A ``Task`` of native.learners._predtron_tasks.
    losses
        The range of losses above 0 that predictions for these examples can have.
    decode
        How a model predicts.
    reject
        Whether REJECT is a prediction.
    """

    kernel: Any
    losses: LossRange
    decode: Decode
    reject: bool = False


def class_task(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """Return the task of a learner on examples.

    - ``learner``: its ``task`` is not ranking.
    - ``lists``: the examples, for messages.
    - ``labels``: their classes.

    Raises RerankError if the classes do not fit the task, with the example or what was found.
    """
    return _MADE[learner.task](learner, lists, labels)


def numbers_by_class(given: Mapping[str, float], names: tuple[str, ...], key: str) -> Floats:
    """Return the number of each class, NaN without one, float64 (n_classes).

    Raises ConfigError if a class is unknown or given twice.
    """
    place_of = coder(names)
    found = np.full(len(names), np.nan)
    for name, number in given.items():
        place = place_of(name)
        if place is None:
            raise ConfigError(f"{key}: found class {name!r}; {did_you_mean(name, names)}")
        if not np.isnan(found[place]):
            raise ConfigError(f"{key}: found class {names[place]!r} twice")
        found[place] = number
    return found


def _class_weights(learner: PredtronSettings, labels: ClassLabels) -> Floats:
    """The factor of the losses of each class; every example has one class."""
    given, m = learner.class_weights, len(labels.names)
    if given is None:
        return np.ones(m)
    if given == "balanced":
        balanced: Floats = labels.n_items / (m * np.bincount(labels.codes, minlength=m))
        return balanced
    assert isinstance(given, Mapping)
    found = numbers_by_class(given, labels.names, "class_weights")
    return np.where(np.isnan(found), 1.0, found)


def _reject_costs(learner: PredtronSettings, labels: ClassLabels) -> Floats | None:
    """The cost of REJECT by class, None if it is no prediction."""
    given = learner.reject
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return np.full(len(labels.names), given)
    found = numbers_by_class(given, labels.names, "reject")
    if np.isnan(found).any():
        missing = [name for name, cost in zip(labels.names, found.tolist(), strict=True) if np.isnan(cost)]
        raise ConfigError(f"reject: found no cost of class {some(missing)}, expected one of every class")
    return found


def _check_one_class(lists: CandidateLists, labels: ClassLabels) -> None:
    """Raise FitError unless every example has one class, and there are two classes or more."""
    odd = np.flatnonzero(labels.lengths != 1)
    if len(odd):
        found = count(int(labels.lengths[odd[0]]), "class", "classes")
        place = f"{lists.source}: {example_of(lists, int(odd[0]))}"
        raise FitError(f"{place}: found {found}, expected one; task=multilabel learns sets of classes")
    m = len(labels.names)
    if m < 2:
        raise FitError(f"{lists.source}: found only class {labels.names[0]!r}, expected two classes or more")


def _class_values(lists: CandidateLists, labels: ClassLabels) -> Floats:
    """The numbers of the classes, rising; FitError if they are not different finite numbers."""
    try:
        values = class_values(labels.names)
    except DataError as error:
        raise FitError(f"{lists.source}: {error}") from None
    same = np.flatnonzero(np.diff(values) <= 0)
    if len(same):
        pair = " and ".join(labels.names[same[0] : same[0] + 2])
        raise FitError(f"{lists.source}: found classes {pair}, expected classes that differ as doubles")
    return values


def _one_class(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """Binary, multiclass and ordinal tasks."""
    _check_one_class(lists, labels)
    m = len(labels.names)
    if learner.task == "binary" and m != 2:
        found = f"{m} classes ({some(list(labels.names))})"
        raise FitError(f"{lists.source}: found {found}, expected two for task=binary; multiclass takes more")
    weights, reject = _class_weights(learner, labels), _reject_costs(learner, labels)
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven", weights)
    values = _class_values(lists, labels) if learner.task == "ordinal" else None
    least = most = np.ones(m)
    if values is not None:
        gaps = np.diff(values)
        least = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        most = np.maximum(values - values[0], values[-1] - values)
    if reject is not None:
        least, most = np.minimum(least, reject), np.maximum(most, reject)
    losses = LossRange(float((weights * least).min()), float((weights * most).max()))
    if learner.task == "binary" and reject is None:
        return ClassTask(_predtron_tasks.TwoClasses(*given), losses, "binary")
    decode: Decode = "multiclass" if values is None else "ordinal"
    return ClassTask(_predtron_tasks.OneClass(*given, values, reject), losses, decode, reject is not None)


def _mixed_sizes(lists: CandidateLists, labels: ClassLabels) -> Floats:
    """The different numbers of classes of examples that have some but not all, float64, rising.

    Raises FitError if there are none: then no prediction can be wrong.
    """
    sizes = np.unique(labels.lengths)
    sizes = sizes[(sizes > 0) & (sizes < len(labels.names))]
    if not len(sizes):
        found = f"{len(labels.names)} classes, and no example that has some but not all of them"
        raise FitError(f"{lists.source}: found {found}: no prediction has a loss")
    return sizes.astype(np.float64)


def _class_sets(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """The multilabel task."""
    m = len(labels.names)
    if m == 0:
        raise FitError(f"{lists.source}: found no example with a class")
    most = 1.0
    if learner.chosen_loss == "Hamming":
        most = float(m)
    elif learner.chosen_loss == "error-set":
        sizes = _mixed_sizes(lists, labels)
        most = float((sizes * (m - sizes)).max())
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven", m)
    kernel = _predtron_sets.ClassSets(*given, _predtron_sets.LOSSES[learner.chosen_loss])
    return ClassTask(kernel, LossRange(1.0, most), "multilabel")


def _class_rankings(learner: PredtronSettings, lists: CandidateLists, labels: ClassLabels) -> ClassTask:
    """The ranking of all classes."""
    m = len(labels.names)
    sizes = _mixed_sizes(lists, labels).astype(np.int64)
    falling = discounts(m, None)
    positions = Positions.of(learner.positions, learner.exponent, m)
    total = np.concatenate([[0.0], np.cumsum(falling)])
    least = (falling[sizes - 1] - falling[sizes]) / total[sizes]
    most = (total[sizes] - (total[m] - total[m - sizes])) / total[sizes]
    given = (labels.offsets, labels.codes, learner.variant == "loss-driven")
    values = np.array([falling, positions.values])
    kernel = _predtron_sets.ClassRankings(*given, values, float(positions.scales[-1]))
    return ClassTask(kernel, LossRange(float(least.min()), float(most.max())), "multilabel-ranking")


_MADE: dict[str, Callable[[PredtronSettings, CandidateLists, ClassLabels], ClassTask]] = {
    "binary": _one_class,
    "multiclass": _one_class,
    "ordinal": _one_class,
    "multilabel": _class_sets,
    "multilabel-ranking": _class_rankings,
}


def fit(learner: PredtronSettings, lists: CandidateLists, inputs: FitInputs) -> Model:
    """Return the model of a learner whose task is on examples with classes; see ``Learner.fit``."""
    if inputs.initial is not None:
        raise FitError(f"learner predtron: task={learner.task} starts from 0 and accepts no initial weights")
    labels = ClassLabels.of(lists)
    task = class_task(learner, lists, labels)
    weight = np.repeat(checked_list_weights(inputs.list_weights, lists), lists.lengths)
    watch = Rounds(lists, inputs, learner.keep)
    kind = _Primal if learner.vector_kernel is None else _Dual
    return kind(learner, lists, labels, task, weight).fit(watch, "scale the features (--scaling)")


class _Classifier(Form):
    """Base of both forms: their steps, and the epochs of the kernel.

    A state is float64 (n_rows + 1, n_outputs): a row for each feature, or for each example, and the weights
    of a constant feature with the value ``bias``.
    """

    dual: ClassVar[bool]

    def __init__(
        self,
        learner: PredtronSettings,
        lists: CandidateLists,
        labels: ClassLabels,
        task: ClassTask,
        weight: Floats,
    ) -> None:
        self.learner, self.source, self.task = learner, lists.source, task
        self.names, self.classes, self.bias = lists.names(), labels.names, learner.bias
        squares = self.prepare(lists) + self.bias**2
        # An example without features always ties. It would count as a mistake for ever and teach nothing.
        self.rows = np.flatnonzero((squares > 0) & (weight > 0))
        self.n = len(self.rows)
        if not self.n:
            raise FitError(f"{self.source}: every example has only features of 0, or weight 0")
        self.eta = self.theorem_step(float(squares.max())) if learner.eta == "theorem" else learner.eta
        self.steps = self.eta * weight
        self.scratch = _predtron_classes.Reading(self.matrix)

    @abstractmethod
    def prepare(self, lists: CandidateLists) -> Floats:
        """Make ``matrix`` and ``weights``; return the squared norms of the examples, float64 (n_items).

        They are needed for eta "theorem", and without a constant feature.
        """

    def theorem_step(self, radius2: float) -> float:
        """Return the factor of steps, see ``steps.theorem_step``."""
        return theorem_step(self.task.losses, radius2, self.learner.variant)

    def visit(self, visits: Index) -> tuple[int, float, int]:
        given = (self.matrix, self.task.kernel, self.rows[visits], self.steps, self.bias)
        done: tuple[int, float, int] = _predtron_classes.class_pass(
            *given, self.weights, self.link, self.scratch, self.dual
        )
        return done

    def reached(self) -> Floats:
        return super().reached().reshape(-1, self.task.kernel.d)

    def score(self, state: Floats, lists: CandidateLists) -> Floats:
        """Return the predictions of a state as its judges take them, float64 (n_items, n_classes)."""
        return self.model(state).candidates_prepared(lists)

    @abstractmethod
    def model(self, state: Floats) -> ClassesModel: ...


class _Primal(_Classifier):
    """Weights of features."""

    dual = False

    def prepare(self, lists: CandidateLists) -> Floats:
        n, d = lists.n_features + 1, self.task.kernel.d
        memory.require(4 * 8 * n * d, f"weights of {n:,} features and {d:,} classes", "fewer need less")
        self.matrix = lists.features.matrix()
        self.weights = Weights(n * d)
        self.largest = max(lists.features.largest(), self.bias)
        if self.learner.norm == "p":
            self.q = dual_norm_of(lists.n_features + (self.bias > 0))
            self.link = Link(np.zeros((n, d)), self.q, True)
        needed = self.learner.eta == "theorem" or self.bias == 0
        return squared_norms(lists.features) if needed else np.zeros(lists.n_items)

    def theorem_step(self, radius2: float) -> float:
        if self.link is None:
            return super().theorem_step(radius2)
        return theorem_step(self.task.losses, self.largest**2, self.learner.variant, self.q)

    def model(self, state: Floats) -> ClassesModel:
        weights, constants = np.ascontiguousarray(state[:-1].T), self.bias * state[-1]
        return ClassesModel(self.names, weights, self.classes, self.task.decode, constants, self.task.reject)


class _Dual(_Classifier):
    """Coefficients of examples."""

    dual = True

    def prepare(self, lists: CandidateLists) -> Floats:
        kernel = self.learner.vector_kernel
        assert kernel is not None
        self.training = KernelItems(kernel, lists.features.compressed(), lists.source)
        gram = self.training.gram()
        self.matrix = Dense(gram).matrix()
        self.weights = Weights((lists.n_items + 1) * self.task.kernel.d)
        return gram.diagonal()

    def score(self, state: Floats, lists: CandidateLists) -> Floats:
        columns = self.training.columns(lists)
        model, support = self.model(state), _support(state)
        scores = np.zeros((lists.n_items, state.shape[1]))
        add_columns((columns[i] for i in support), state[support], scores)
        return model.candidates_prepared(lists, scores + model.bias)

    def model(self, state: Floats) -> ClassesModel:
        support = _support(state)
        coefficients = np.ascontiguousarray(state[support].T)
        task, constants = self.task, self.bias * state[-1]
        fitted = (self.training.items.take(support), coefficients, self.training.kernel, self.classes)
        return DualClassesModel(self.names, *fitted, task.decode, constants, task.reject)


def _support(state: Floats) -> Index:
    """The examples with a coefficient."""
    return np.flatnonzero(state[:-1].any(axis=1))
