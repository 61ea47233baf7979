"""Base of linear learners that minimise a convex loss plus a penalty on the squared weights."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.minimise import Loss, Minimum, Objective, Penalty, minimise
from rerank.learners.regularization_path import Strength, check_strength, path, require_dev, watched
from rerank.learners.rounds import Rounds
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.models.linear import LinearModel
from rerank.models.training import DataRecord, MinimumRecord

# A million to 0.001, two for each factor of ten: losses of single items grow with their number.
STRENGTHS = tuple(10.0 ** (k / 2) for k in range(12, -7, -1))


class Intercept(ABC):
    """A constant beside the scores that a loss settles by itself."""

    @abstractmethod
    def at(self, weights: Floats) -> float:
        """Return it for weights (n_features) as the loss takes them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(ABC):
    """A convex loss of training lists, to be minimised under a strength.

    Attributes
    ----------
    data
        What is recorded of the training lists.
    weight
        What the loss is divided by in reports: the summed weights of its items or lists.
    unit, origin
        The model's weights are ``origin`` (n_features) + ``unit`` * those that the loss takes.
    init
        Which weights ``origin`` has, by name.
    intercept
        Returns the constant that the scores of weights lack; None if the loss has no such constant.
    """

    data: DataRecord
    weight: float = 1.0
    unit: float = 1.0
    origin: Floats | None = None
    init: str | None = None
    intercept: Intercept | None = None

    @abstractmethod
    def minimum(self, learner: ConvexLearner, strength: float, start: Floats | None, free: Mask) -> Minimum:
        """Return the minimum over the features that are ``free``, searched from ``start``, None = 0.

        Raises OverflowError if the loss overflows; its text says when.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class Convex(Problem):
    """A loss and its gradient, penalised by strength * |w|² or with ``l1`` strength * the sum of |w|."""

    loss: Loss
    l1: bool = False

    def minimum(self, learner: ConvexLearner, strength: float, start: Floats | None, free: Mask) -> Minimum:
        objective = Objective(self.loss, Penalty(strength, self.l1), None if free.all() else free)
        start = np.zeros(len(free)) if start is None else start
        return minimise(objective, start, learner.tolerance, learner.iterations)


class ConvexLearner(SummingLearner):
    """Base of linear learners that minimise a convex loss under a strength.

    The strength "dev" walks along ``strengths``, each minimum from the weights of the one before, until three
    in a row are worse on the development lists; the best is kept, on ties the first.

    Attributes
    ----------
    strength_key, strengths
        The setting that is the strength, and the values that "dev" tries.
    gap_of
        What the gap of a minimum is a share of, for the note of one that was not reached. Learners whose gap
        is that of the whole objective give this note before that of weights 0.
    """

    default_scaling = "zscore"
    accepts_list_weights = True
    strength_key: ClassVar[str]
    strengths: ClassVar[tuple[float, ...]]
    gap_of: ClassVar[Literal["loss", "objective"]] = "loss"

    if TYPE_CHECKING:  # settings of the subclasses, which declare them in the order of their help
        tolerance: float
        iterations: int

    @property
    def strength(self) -> Strength:
        """The value of the strength."""
        value: Strength = getattr(self, self.strength_key)
        return value

    def check_values(self) -> None:
        check_strength(self.strength_key, self.strength)

    @property
    def chooses_on_dev(self) -> bool:
        return self.strength == "dev"

    @abstractmethod
    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> Problem:
        """Return the loss of the training lists; arguments are those of ``fit_parts``."""

    def fit_parts(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> LinearModel:
        if self.strength == "dev":
            require_dev(self.name, self.strength_key, inputs)
        problem = self._problem(parts, lists, inputs)
        fits = Fits(self, problem, lists)
        watch = Rounds(lists, inputs, "best" if self.chooses_on_dev else "last")
        found = self._found(fits, watch)
        self._report(found, lists.source)
        model = LinearModel(lists.names(), found.weights)
        model.curve = watch.curve
        model.initial = problem.origin
        judge, dev = inputs.judge, inputs.dev
        strength: dict[str, Any] = {self.strength_key: found.strength}
        model.training.rounds = MinimumRecord(
            iterations=fits.iterations,
            loss=found.minimum.loss / problem.weight * problem.unit * problem.unit,
            init=problem.init,
            nonzero=int(np.count_nonzero(found.weights)),
            train=None if judge is None else value_of(judge, model.score_aligned(lists)),
            dev=None if dev is None else value_of(dev[1], model.score_aligned(dev[0])),
            **strength,
        )
        model.training.data = problem.data
        if problem.intercept is not None:
            model.training.notes = {"intercept": problem.intercept.at(found.minimum.w) * problem.unit}
        return model

    def _found(self, fits: Fits, watch: Rounds) -> Fitted:
        """The minimum that becomes the model."""
        if self.strength == "dev":
            return watched(path(self.strengths, fits.minimum), watch, on_dev=True)
        return fits.minimum(self.strength)

    def _report(self, found: Fitted, source: str) -> None:
        """Warn if nothing was learnt, or the minimum was not reached."""
        minimum = found.minimum
        if not minimum.w.any() and (minimum.converged or self.gap_of == "loss"):
            text = f"{source}: {self.name} learnt nothing, {self._why_nothing(found)}"
            warnings.warn(text, DataNote, stacklevel=4)
        elif not minimum.converged:
            text = f"{source}: {self.name} stopped after {count(minimum.iterations, 'iteration')}"
            text += f", up to {minimum.gap / minimum.objective:.2%} of the {self.gap_of} above the minimum"
            warnings.warn(text, DataNote, stacklevel=4)

    def _why_nothing(self, found: Fitted) -> str:
        return "all weights are 0"


@dataclass(frozen=True, eq=False)
class Fitted:
    """The weights of a model (n_features), the strength, the minimum, and its row of the curve."""

    weights: Floats
    strength: float
    minimum: Minimum
    facts: dict[str, float]

    def row(self) -> dict[str, float]:
        """Return what the learning curve has of it."""
        return self.facts


class Fits:
    """Minima of one loss under several strengths or over several sets of features."""

    def __init__(self, learner: ConvexLearner, problem: Problem, lists: CandidateLists) -> None:
        self.learner = learner
        self.problem = problem
        self.source = lists.source
        self.n_features = lists.n_features
        self.iterations = 0

    def minimum(self, strength: float, before: Fitted | None = None, free: Mask | None = None) -> Fitted:
        """Return the minimum under a strength, searched from the one before; ``free`` None = all.

        Raises FitError if the loss or the weights overflow.
        """
        start = None if before is None else before.minimum.w
        free = np.ones(self.n_features, dtype=bool) if free is None else free
        try:
            found = self.problem.minimum(self.learner, strength, start, free)
        except OverflowError as error:
            text = f"{self.source}: the loss overflows{error}"
            raise FitError(f"{text}; scale the features (--scaling)") from None
        self.iterations += found.iterations
        with np.errstate(over="ignore"):
            weights = found.w * self.problem.unit
            if self.problem.origin is not None:
                weights = self.problem.origin + weights
        if not np.isfinite(weights).all():
            raise FitError(f"{self.source}: a weight overflows; scale the features (--scaling)")
        facts: dict[str, float] = {self.learner.strength_key: strength}
        if self.problem.origin is not None:
            facts["nonzero"] = int(np.count_nonzero(weights))
        facts |= {"iterations": found.iterations, "loss": found.loss, "objective": found.objective}
        return Fitted(weights, strength, found, facts)


class Penalised(ConvexLearner):
    """Base of linear learners: a convex loss plus ``penalty`` * |w|², minimised by L-BFGS.

    penalty=dev walks from a million down to 0.001.
    """

    strength_key = "penalty"
    strengths = STRENGTHS

    penalty: Strength = setting(
        1.0,
        "regularisation strength (squared weights); dev = the best of 19 from 1e6 to 0.001 on the "
        "development lists",
    )
    tolerance: float = setting(
        1e-6,
        "stopping tolerance: distance from the minimum of the penalised loss, relative to it",
        gt=0,
        le=0.1,
    )
    iterations: int = setting(5000, "maximum number of L-BFGS steps per minimum", ge=1)
