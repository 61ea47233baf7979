"""L-BFGS for a convex loss with a Gaussian or an l1 penalty.

References
----------
Liu, Nocedal: On the limited memory BFGS method for large scale optimization. Mathematical Programming 45,
1989.
Andrew, Gao: Scalable training of L1-regularized log-linear models. ICML 2007 (OWL-QN).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rerank.core import progress
from rerank.core.types import Floats, Mask
from rerank.learners.deterministic import deterministic_dot

Loss = Callable[[Floats], tuple[float, Floats]]

_MEMORY = 10
_ARMIJO = 1e-4  # a step must gain this share of what the slope promises
_CURVATURE = 0.9  # and leave at most this share of the slope
_ROUNDING = 1e-14  # of the sum of the losses
_TRIALS = 60  # of a step's length
_RECENT = 10  # steps with l1 that must have gained something


@dataclass(frozen=True)
class Penalty:
    """strength * |u|² (Gaussian) or strength * the sum of |u| (l1)."""

    strength: float
    l1: bool = False


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at ``u``.

    Attributes
    ----------
    u
        float64 (n_features).
    loss, gradient
        The loss without the penalty, and its gradient.
    total
        The loss with the penalty.
    slope
        The gradient of ``total``; with l1 the one of least length, which is 0 only at the minimum.
    gap
        A bound of the distance of ``total`` from its minimum.
    """

    u: Floats
    loss: float
    gradient: Floats
    total: float
    slope: Floats
    gap: float

    def as_minimum(self, iterations: int, *, converged: bool) -> Minimum:
        """Return the point as what was found after ``iterations`` steps."""
        return Minimum(self.u, self.loss, self.total, self.gap, iterations, converged)


@dataclass(frozen=True, eq=False)
class Minimum:
    """Minimum that was found.

    Attributes
    ----------
    w
        float64 (n_features).
    loss, objective, gap
        The loss alone, the objective, and a bound of its distance from the minimum.
    iterations, converged
        Steps, and whether the gap is small enough.
    """

    w: Floats
    loss: float
    objective: float
    gap: float
    iterations: int
    converged: bool


class Objective:
    """A loss with a penalty.

    - ``loss``: a function that returns the sum of convex losses of lists, which are 0 at least, and its
      gradient.
    - ``penalty``: what is added to it.
    - ``free``: whether each variable may differ from 0; None = all may.
    """

    def __init__(self, loss: Loss, penalty: Penalty, free: Mask | None = None) -> None:
        self.loss = loss
        self.penalty = penalty
        self.free = free

    def at(self, u: Floats) -> Point:
        """Return the objective at ``u``, whose values that are not free are 0.

        Values that overflow are infinite or NaN, without a warning.
        """
        loss, gradient = self.loss(u)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.free is not None:
                gradient = np.where(self.free, gradient, 0.0)
            return (self._with_l1 if self.penalty.l1 else self._with_gaussian)(u, loss, gradient)

    def _with_gaussian(self, u: Floats, loss: float, gradient: Floats) -> Point:
        """The gap is the distance of the dual objective at the same probabilities: |slope|² / 4 strength."""
        c = self.penalty.strength
        slope = gradient + 2.0 * c * u
        total = loss + c * deterministic_dot(u, u)
        return Point(u, loss, gradient, total, slope, min(total, deterministic_dot(slope, slope) / (4.0 * c)))

    def _with_l1(self, u: Floats, loss: float, gradient: Floats) -> Point:
        """The gap is a bound of that distance where the residuals are shrunk until the dual allows them."""
        c = self.penalty.strength
        total = loss + c * float(np.abs(u).sum())
        at_zero = np.copysign(np.maximum(np.abs(gradient) - c, 0.0), gradient)
        slope = np.where(u != 0.0, gradient + np.copysign(c, u), at_zero)
        steepest = float(np.abs(gradient).max())
        share = 1.0 if steepest <= c else c / steepest
        gap = (1.0 - share) * loss + (total - loss) + share * deterministic_dot(u, gradient)
        return Point(u, loss, gradient, total, slope, min(total, gap))


class _History:
    """The last steps and changes of the gradient, which approximate the inverse of the Hessian."""

    def __init__(self) -> None:
        self.steps: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
        self.scale = 0.0

    def direction(self, slope: Floats) -> Floats:
        """Return the approximate inverse times ``-slope``; without steps a vector of length 1."""
        d = -slope
        if not self.steps:
            return d / np.sqrt(deterministic_dot(slope, slope))
        factors = []
        for s, y, rho in reversed(self.steps):
            factors.append(rho * deterministic_dot(s, d))
            d -= factors[-1] * y
        d *= self.scale
        for (s, y, rho), factor in zip(self.steps, reversed(factors), strict=True):
            d += (factor - rho * deterministic_dot(y, d)) * s
        return d

    def add(self, s: Floats, y: Floats) -> None:
        """Add a step, unless the gradient does not rise along it."""
        product, square = deterministic_dot(s, y), deterministic_dot(y, y)
        if product > 1e-12 * square * self.scale and product > 0.0:
            self.steps.append((s, y, 1.0 / product))
            self.scale = product / square


def minimise(objective: Objective, start: Floats, tolerance: float, iterations: int) -> Minimum:
    """Return the minimum of ``objective``, up to ``tolerance`` relative to its value.

    With an l1 penalty the gap is often far too large, because a few features that need a little more weight
    count as much as many. Ten steps that lower the objective by at most a tenth of the tolerance also end it.

    - ``objective``: the loss and the penalty.
    - ``start``: float64 (n_features).
    - ``tolerance``: of the gap relative to the total.
    - ``iterations``: most steps.

    Raises OverflowError if the loss or the square of its gradient is not finite.
    """
    here = objective.at(start)
    history = _History()
    step = _orthant_step if objective.penalty.l1 else _wolfe_step
    totals: deque[float] = deque(maxlen=_RECENT + 1)
    for done in progress.over(range(iterations + 1), "minimising the loss", None, "iteration"):
        if not np.isfinite(deterministic_dot(here.slope, here.slope) + here.total):
            raise OverflowError
        totals.append(here.total)
        settled = objective.penalty.l1 and len(totals) > _RECENT
        if here.gap <= tolerance * here.total or (
            settled and totals[0] - here.total <= 0.1 * tolerance * here.total
        ):
            return here.as_minimum(done, converged=True)
        if done == iterations:
            break
        there = step(objective, here, history.direction(here.slope))
        if there is None and history.steps:  # they mislead: go along the slope itself
            history = _History()
            there = step(objective, here, history.direction(here.slope))
        if there is None:  # rounding hides any lower point
            return here.as_minimum(done, converged=objective.penalty.l1)
        changes = (there.gradient - here.gradient) if objective.penalty.l1 else (there.slope - here.slope)
        history.add(there.u - here.u, changes)
        here = there
    return here.as_minimum(iterations, converged=False)


def _falls(there: Point, here: Point, promised: float) -> bool:
    """Return whether a point is lower by a share of the promised drop, or nearer if rounding hides that."""
    if there.total < here.total:
        return there.total <= here.total + _ARMIJO * promised
    return there.total <= here.total * (1.0 + _ROUNDING) and there.gap < here.gap


def _wolfe_step(objective: Objective, here: Point, direction: Floats) -> Point | None:
    """A point along ``direction`` that is lower and less steep, None if rounding hides it."""
    promised = deterministic_dot(here.slope, direction)
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        there = objective.at(here.u + length * direction)
        if not _falls(there, here, length * promised):
            high = length
        elif deterministic_dot(there.slope, direction) < _CURVATURE * promised:
            low = length
        else:
            return there
        length = (low + high) / 2.0 if high < np.inf else 2.0 * length
    return None


def _orthant_step(objective: Objective, here: Point, direction: Floats) -> Point | None:
    """A lower point along the part of ``direction`` that descends, without a change of any sign."""
    direction = np.where(direction * here.slope < 0.0, direction, 0.0)
    orthant = np.where(here.u != 0.0, np.sign(here.u), -np.sign(here.slope))
    length = 1.0
    for _ in range(_TRIALS):
        u = here.u + length * direction
        u[u * orthant <= 0.0] = 0.0
        there = objective.at(u)
        if _falls(there, here, deterministic_dot(here.slope, u - here.u)):
            return there
        length /= 2.0
    return None
