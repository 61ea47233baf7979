"""What linear learners share that minimise a convex loss plus a penalty on the squared weights."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs, Learner
from rerank.learners.minimise import Loss, Minimum, Objective, Penalty, minimise
from rerank.learners.regularization_path import (
    Strength,
    check_strength,
    linear_minimum,
    path,
    require_dev,
    watched,
)
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.training import DataRecord

# A million to 0.001, two for each factor of ten: losses of single items grow with their number.
STRENGTHS = tuple(10.0 ** (k / 2) for k in range(12, -7, -1))


class Intercept(ABC):
    """A constant beside the scores that a loss settles by itself."""

    @abstractmethod
    def at(self, weights: Floats) -> float:
        """Return it for weights (n_features) as the loss takes them."""


@dataclass(frozen=True, eq=False)
class Convex:
    """A convex loss of training lists.

    Attributes
    ----------
    loss
        A function that returns the loss at weights (n_features), 0 at least, and its gradient.
    weight
        What the loss is divided by in reports: the summed weights of its items or lists.
    unit
        The model's weights are this times those that the loss takes.
    data
        What is recorded of the training lists.
    intercept
        Returns the constant that the scores of weights lack; None if the loss has no such constant.
    """

    loss: Loss
    weight: float
    data: DataRecord
    unit: float = 1.0
    intercept: Intercept | None = None


class Penalised(Learner):
    """Base of linear learners: a convex loss plus ``penalty`` * |w|², minimised by L-BFGS.

    penalty=dev walks from a million down to 0.001, each minimum from the weights of the one before, until
    three in a row are worse on the development lists; the best is kept, on ties the first.
    """

    default_scaling = "zscore"
    accepts_list_weights = True

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

    def check_values(self) -> None:
        check_strength("penalty", self.penalty)

    @property
    def chooses_on_dev(self) -> bool:
        return self.penalty == "dev"

    @abstractmethod
    def _convex(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
        """Return the loss of the training lists."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.penalty == "dev":
            require_dev(self.name, "penalty", inputs)
        convex = self._convex(lists, inputs)
        fits = _Fits(self, convex, lists)
        watch = Rounds(lists, inputs, "best" if self.penalty == "dev" else "last")
        if self.penalty == "dev":
            found = watched(path(STRENGTHS, fits.minimum), watch, on_dev=True)
        else:
            found = fits.minimum(float(self.penalty), None)
        fits.report(found)
        loss = found.minimum.point.loss / convex.weight * convex.unit * convex.unit
        facts = {"iterations": fits.iterations, "loss": loss, "penalty": found.strength}
        model = linear_minimum(lists, inputs, found.weights, watch, **facts)
        model.training.data = convex.data
        if convex.intercept is not None:
            model.training.notes = {"intercept": convex.intercept.at(found.minimum.point.u) * convex.unit}
        return model


@dataclass(frozen=True, eq=False)
class _Fitted:
    """Weights (n_features), the strength of their penalty, and how they were found."""

    weights: Floats
    strength: float
    minimum: Minimum

    def row(self) -> dict[str, float]:
        """Return what the learning curve has of it."""
        point = self.minimum.point
        steps = {"iterations": self.minimum.iterations}
        return {"penalty": self.strength, **steps, "loss": point.loss, "objective": point.total}


class _Fits:
    """Minima of one loss under several strengths."""

    def __init__(self, learner: Penalised, convex: Convex, lists: CandidateLists) -> None:
        self.learner = learner
        self.convex = convex
        self.lists = lists
        self.iterations = 0

    def minimum(self, strength: float, before: _Fitted | None) -> _Fitted:
        """Return the minimum under a strength, searched from the one before.

        Raises FitError if the loss or the weights overflow.
        """
        learner, source = self.learner, self.lists.source
        start = np.zeros(self.lists.n_features) if before is None else before.minimum.point.u
        objective = Objective(self.convex.loss, Penalty(strength))
        try:
            found = minimise(objective, start, learner.tolerance, learner.iterations)
        except OverflowError:
            raise FitError(f"{source}: the loss overflows; scale the features (--scaling)") from None
        self.iterations += found.iterations
        with np.errstate(over="ignore"):
            weights = found.point.u * self.convex.unit
        if not np.isfinite(weights).all():
            raise FitError(f"{source}: a weight overflows; scale the features (--scaling)")
        return _Fitted(weights, strength, found)

    def report(self, found: _Fitted) -> None:
        """Warn if nothing was learnt, or the minimum was not reached."""
        name, minimum = self.learner.name, found.minimum
        if not minimum.point.u.any():
            text = f"{self.lists.source}: {name} learnt nothing, all weights are 0"
            warnings.warn(text, DataNote, stacklevel=4)
        elif not minimum.converged:
            share = minimum.point.gap / minimum.point.total
            text = f"{self.lists.source}: {name} stopped after {count(minimum.iterations, 'iteration')}"
            warnings.warn(f"{text}, up to {share:.2%} of the loss above the minimum", DataNote, stacklevel=4)
