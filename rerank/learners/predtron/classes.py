"""Predtron for examples with classes: weights of features, or coefficients of examples, for each output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.checkpoints import State
from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.classes import ClassLabels
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.learners.base import FitInputs, checked_list_weights
from rerank.learners.predtron.class_losses import ClassTask, class_task
from rerank.learners.predtron.kernel_items import KernelItems
from rerank.learners.predtron.links import dual_norm_of
from rerank.learners.predtron.passes import moved_state, restore_moved, run_rounds
from rerank.learners.predtron.settings import PredtronSettings
from rerank.learners.predtron.steps import theorem_step
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.dual import add_columns
from rerank.models.dual_classes import DualClassesModel
from rerank.native.learners import _predtron_classes
from rerank.native.learners._link import Link
from rerank.native.learners._weights import Weights
from rerank.similarity.vectors import squared_norms


def fit(learner: PredtronSettings, lists: CandidateLists, inputs: FitInputs) -> Model:
    """Return the model of a learner whose task is on examples with classes; see ``Learner.fit``."""
    if inputs.initial is not None:
        raise FitError(
            f"learner predtron: task={learner.task} starts from zero and accepts no initial weights"
        )
    labels = ClassLabels.of(lists)
    task = class_task(learner, lists, labels)
    weight = np.repeat(checked_list_weights(inputs.list_weights, lists), lists.lengths)
    watch = Rounds(lists, inputs, learner.keep)
    kind = _Primal if learner.vector_kernel is None else _Dual
    passes = kind(learner, lists, labels, task, weight)
    state, rounds = run_rounds(learner, passes, watch)
    model = passes.model(state)
    model.curve = watch.curve
    model.training.rounds = rounds
    if learner.eta == "theorem":
        model.training.notes["eta"] = passes.eta
    return model


class _Classifier(ABC):
    """What both forms share: their steps, and the passes of the kernel.

    A state is float64 (n_rows + 1, n_outputs): a row for each feature, or for each example, and the weights
    of a constant feature with the value ``bias``.
    """

    dual: ClassVar[bool]
    matrix: Any
    weights: Weights
    link: Link | None = None

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

    def run(self, visits: Index) -> dict[str, float]:
        """Visit examples; return the number of updates and the mean loss of the visits.

        Raises FitError if a score or weight overflows.
        """
        given = (self.matrix, self.task.kernel, self.rows[visits], self.steps, self.bias)
        done = _predtron_classes.class_pass(*given, self.weights, self.link, self.scratch, self.dual)
        updates, loss, failed = done
        if failed >= 0 or not np.isfinite(self.weights.values).all():
            raise FitError(f"{self.source}: scores or weights overflow; scale the features (--scaling)")
        return {"updates": updates, "loss": loss / len(visits)}

    def state(self) -> State:
        """Return what later passes depend on."""
        return moved_state(self.weights, self.link)

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore_moved(self.weights, self.link, state)

    def reached(self, average: bool) -> Floats:
        """Return the state now, or its mean over all visits so far."""
        values: Floats = self.weights.mean() if average else self.weights.values.copy()
        return values.reshape(-1, self.task.kernel.d)

    def score(self, state: Floats, lists: CandidateLists) -> Floats:
        """Return the predictions of a state as its judges take them, float64 (n_items, n_classes)."""
        return self.model(state).candidates_prepared(lists)

    @abstractmethod
    def model(self, state: Floats) -> ClassesModel:
        """Return the model of a state."""


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
