"""The objective of a ranking SVM, its smoothed form, and a lower bound of its minimum.

The hinge loss has a corner, so that it is smoothed: with a width e, a pair that lacks z to its margin costs
z² / 2e up to z = e and z - e / 2 from there on. That is the difference of two squared hinges, of the margins
1 and 1 - e, divided by 2e. The slopes of the smoothed losses are a point of the dual problem, whose value is
at most the minimum of the objective with its corner, so that the distance from the minimum is known.

References
----------
Joachims: Training linear SVMs in linear time. KDD 2006.
Chapelle: Training a support vector machine in the primal. Neural Computation 19, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats
from rerank.learners.svm.loss import HingeSums, PairLoss
from rerank.learners.vectors import inner
from rerank.native.learners import _ranksvm

_SOLVED = 0.1  # of a slope may remain after conjugate gradients
_STEPS = 200  # of these at most


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at ``w``.

    Attributes
    ----------
    w, scores
        float64 (n_features) and (n_items).
    value, slope
        The smoothed objective and its gradient.
    primal, dual
        The objective itself, and a lower bound of its minimum.
    corner
        What the smoothing alone adds to the distance of these two.
    """

    w: Floats
    scores: Floats
    value: float
    slope: Floats
    primal: float
    dual: float
    corner: float


class Objective:
    """|w|² / 2 + strength * the sum of the losses of pairs.

    Parameters
    ----------
    loss
        The pairs.
    strength
        C.
    width
        Of the smoothing; None for the squared hinge loss, which is smooth.
    """

    def __init__(self, loss: PairLoss, strength: float, width: float | None) -> None:
        self.loss = loss
        self.strength = strength
        self.squared = width is None
        self.width = np.inf if width is None else width

    @property
    def factor(self) -> float:
        """Strength times the factor of the two squared hinges."""
        return self.strength if self.squared else 0.5 * self.strength / self.width

    def value(self, scores: Floats, norm: float) -> tuple[float, tuple[HingeSums, HingeSums]]:
        """Go to ``scores`` of weights with the squared length ``norm``.

        Returns the smoothed objective and the sums over pairs. Values that overflow are infinite or NaN.
        """
        if not np.isfinite(scores).all():
            return np.nan, (HingeSums(np.nan, np.nan), HingeSums(np.nan, np.nan))
        high, low = self.loss.move(scores, 1.0 - self.width)
        return 0.5 * norm + self.factor * (high.squares - low.squares), (high, low)

    def rise(self, change: Floats) -> float:
        """Return the slope of the smoothed losses where the loss is, if scores move by ``change``."""
        return -2.0 * self.factor * inner(self.loss.slope, change)

    def bend(self, change: Floats) -> float:
        """Return the curvature of the smoothed losses where the loss is, along ``change``."""
        return 2.0 * self.factor * inner(change, self.loss.bend(change))

    def at(self, w: Floats, scores: Floats) -> Point:
        """Return the objective at ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, lacks = self.value(scores, inner(w, w))
            return self.here(w, scores, value, lacks)

    def here(self, w: Floats, scores: Floats, value: float, lacks: tuple[HingeSums, HingeSums]) -> Point:
        """Return the objective at ``w``, to which the loss has moved."""
        high, low = lacks
        pull = 2.0 * self.factor * self.loss.gather(self.loss.slope)
        pulled, mass = inner(pull, pull), self.strength * high.total
        if self.squared:  # the best multiple of the dual point
            dual = mass * (mass / (self.strength * high.squares + 0.5 * pulled)) if mass > 0 else 0.0
            return Point(w, scores, value, w - pull, value, dual, 0.0)
        primal = 0.5 * inner(w, w) + mass
        mass = self.strength * ((high.total - low.total) / self.width)
        share = min(1.0, mass / pulled) if pulled > 0 else 1.0
        dual = share * mass - 0.5 * share * share * pulled
        corner = self.strength * high.total - mass + inner(w, pull)
        return Point(w, scores, value, w - pull, primal, dual, corner)

    def newton_step(self, slope: Floats) -> Floats:
        """Return the step to the minimum of the quadratic approximation where the loss is."""
        scale = 2.0 * self.factor
        if not self.loss.explicit:
            return self._conjugate_gradients(-slope, scale)
        hessian = scale * self.loss.curvature()
        hessian.reshape(-1)[:: len(slope) + 1] += 1.0
        step = np.empty(len(slope))
        _ranksvm.solve(hessian, -slope, step)
        return step

    def _conjugate_gradients(self, b: Floats, scale: float) -> Floats:
        """An approximate solution of (1 + scale * curvature) x = b."""
        x, rest, p = np.zeros(len(b)), b, b
        square = inner(b, b)
        enough = _SOLVED**2 * square
        for _ in range(_STEPS):
            if not square > enough:
                break
            product = p + scale * self.loss.curved(p)
            length = square / inner(p, product)
            x = x + length * p
            rest = rest - length * product
            before, square = square, inner(rest, rest)
            p = rest + (square / before) * p
        return x
