"""Newton's method for ranking SVMs.

References
----------
Chapelle, Keerthi: Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010.
Lee, Lin: Large-scale linear RankSVM. Neural Computation 26, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core import progress
from rerank.core.types import Floats
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.minimise import Minimum
from rerank.learners.pair_loss import HingeSums, Place
from rerank.learners.sums.pairs import PairSums
from rerank.native.learners import _ranksvm

_SOLVED = 0.1  # of a slope may remain after conjugate gradients
_STEPS = 200  # of these at most


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at ``w``.

    Attributes
    ----------
    w
        float64 (n_features).
    value, slope
        The smoothed objective and its gradient.
    primal, dual
        The objective itself, and a lower bound of its minimum.
    corner
        What the smoothing alone adds to the distance of these two.
    """

    w: Floats
    value: float
    slope: Floats
    primal: float
    dual: float
    corner: float


class Objective:
    """|w|² / 2 + strength * the sum of the losses of pairs.

    - ``loss``: the pairs.
    - ``strength``: C.
    - ``width``: of the smoothing; None for the squared hinge loss, which is smooth.
    """

    def __init__(self, loss: PairSums, strength: float, width: float | None) -> None:
        self.loss = loss
        self.strength = strength
        self.squared = width is None
        self.width = np.inf if width is None else width

    @property
    def factor(self) -> float:
        """Strength times the factor of the two squared hinges."""
        return self.strength if self.squared else 0.5 * self.strength / self.width

    def place(self, w: Floats, step: Floats | None = None, length: float = 0.0) -> Place:
        """Return the place at ``w`` + ``length`` * ``step``."""
        return Place(w, 1.0 - self.width, step, length)

    def value(self, place: Place, norm: float) -> tuple[float, tuple[HingeSums, HingeSums]]:
        """Return the smoothed objective at weights of the squared length ``norm``, and the sums over pairs.

        Values that overflow are infinite or NaN.
        """
        high, low = self.loss.sums(place)
        return 0.5 * norm + self.factor * (high.squares - low.squares), (high, low)

    def slope_along(self, place: Place, step: Floats) -> float:
        """Return the slope of the smoothed losses at a place along ``step``."""
        return -2.0 * self.factor * self.loss.slope_along(place, step)

    def curvature_along(self, place: Place, step: Floats) -> float:
        """Return the curvature of the smoothed losses at a place along ``step``."""
        return 2.0 * self.factor * self.loss.curvature_along(place, step)

    def at(self, w: Floats) -> Point:
        """Return the objective at ``w``."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, lacks = self.value(self.place(w), deterministic_dot(w, w))
            return self.here(self.place(w), value, lacks)

    def here(self, place: Place, value: float, lacks: tuple[HingeSums, HingeSums]) -> Point:
        """Return the objective at a place with this value and these sums."""
        w, (high, low) = place.weights, lacks
        if not np.isfinite(value):
            return Point(w, value, np.full(len(w), np.nan), value, 0.0, 0.0)
        pull = 2.0 * self.factor * self.loss.pull(place)
        pulled, mass = deterministic_dot(pull, pull), self.strength * high.total
        even, along = self.loss.even, deterministic_dot(w, pull)
        if self.squared:  # the best multiple of the dual point
            mass = mass if even else self.strength * high.squares + 0.5 * along
            dual = mass * (mass / (self.strength * high.squares + 0.5 * pulled)) if mass > 0 else 0.0
            return Point(w, value, w - pull, value, dual, 0.0)
        primal = 0.5 * deterministic_dot(w, w) + mass
        mass = self.strength * ((high.total - low.total) / self.width)
        if not even:  # the sum over pairs of dual variable * g, where g is what a pair lacks + w·(x - x')
            lacking = high.squares - low.squares - self.width * low.total
            mass = self.strength * (lacking / self.width) + along
        share = min(1.0, mass / pulled) if pulled > 0 else 1.0
        dual = share * mass - 0.5 * share * share * pulled
        corner = self.strength * high.total - mass + along
        return Point(w, value, w - pull, primal, dual, corner)

    def newton_step(self, here: Point) -> Floats:
        """Return the step to the minimum of the quadratic approximation at a point."""
        scale, place = 2.0 * self.factor, self.place(here.w)
        if not self.loss.explicit:
            return self._conjugate_gradients(-here.slope, scale, place)
        hessian = scale * self.loss.curvature(place)
        hessian.reshape(-1)[:: len(here.slope) + 1] += 1.0
        step = np.empty(len(here.slope))
        _ranksvm.solve(hessian, -here.slope, step)
        return step

    def _conjugate_gradients(self, b: Floats, scale: float, place: Place) -> Floats:
        """An approximate solution of (1 + scale * curvature) x = b."""
        x, rest, p = np.zeros(len(b)), b, b
        square = deterministic_dot(b, b)
        enough = _SOLVED**2 * square
        for _ in range(_STEPS):
            if not square > enough:
                break
            product = p + scale * self.loss.hessian_vector(place, p)
            length = square / deterministic_dot(p, product)
            x = x + length * p
            rest = rest - length * product
            before, square = square, deterministic_dot(rest, rest)
            p = rest + (square / before) * p
        return x


_FIRST_WIDTH = 2.0  # from weights of 0, where every pair lacks 1, none has a corner yet
_NEXT_WIDTH = 0.1  # from weights that were a minimum under another strength, or of some of the lists
_NARROWER = 0.2  # a width is at least this share of the one before
_NARROWEST = 1e-9  # about: the square root of what rounding leaves of scores
_WIDER = 0.7  # and at most this
_SETTLED = 0.25  # of the error of the smoothing, that of the smoothed minimum
_FLATTER = 0.1  # the slope after a step, relative to the one before it
_ROUNDING = 1e-14
_HIDDEN = 1e-3  # of the value: what rounding may hide of its fall
_TRIALS = 100  # of a step's length


def minimise(
    loss: PairSums, strength: float, start: Floats, *, squared: bool, tolerance: float, iterations: int
) -> Minimum:
    """Return the minimum of |w|² / 2 + strength * loss.

    The gap is at most ``tolerance`` times the objective, and times what it is below that of weights 0, so
    that weak losses are minimised as exactly as strong ones.

    - ``loss``: the pairs, whose weights are 1 in sum.
    - ``strength``: C, more than 0.
    - ``start``: float64 (n_features).
    - ``squared``: whether what a pair lacks to its margin is squared.
    - ``tolerance``: of the gap.
    - ``iterations``: most steps.

    Raises OverflowError if a value is not finite.
    """
    width = None if squared else _NEXT_WIDTH if start.any() else _FIRST_WIDTH
    objective = Objective(loss, strength, width)
    narrowing = _Narrowing(objective)
    dual, nothing = 0.0, strength  # the objective at weights of 0
    if not loss.even:
        sums, _ = loss.sums(Place(np.zeros(len(start)), -np.inf))
        nothing = strength * (sums.squares if squared else sums.total)
    here = objective.at(start)
    for done in progress.over(range(iterations + 1), "minimising the loss", None, "iteration"):
        if not np.isfinite(deterministic_dot(here.slope, here.slope) + here.primal):
            raise OverflowError
        dual = max(dual, here.dual)
        gap, enough = max(here.primal - dual, 0.0), _enough(here.primal, nothing, tolerance)
        moved = here.w.any() or not here.slope.any()  # weights of 0 are no model, however small C is
        if (gap <= enough and moved) or done == iterations:
            break
        step = objective.newton_step(here)
        there = _searched(objective, here, step)
        if there is None and (here.corner <= 0.5 * enough or objective.width < _NARROWEST):
            break  # rounding hides any lower point
        settled = there is None or -0.5 * deterministic_dot(step, here.slope) <= _SETTLED * here.corner
        here = there or here
        if settled and (there is None or here.corner > 0.5 * enough):
            here = narrowing(here, enough)
    if gap > enough:  # rounding or too few steps
        here = objective.at(here.w)
        if not here.primal <= nothing:  # weights of 0 are better
            here = objective.at(np.zeros(len(here.w)))
        gap, enough = here.primal - dual, _enough(here.primal, nothing, tolerance)
    pairs = (here.primal - 0.5 * deterministic_dot(here.w, here.w)) / strength
    return Minimum(here.w, pairs, here.primal, gap, done, gap <= enough)


def _enough(primal: float, nothing: float, tolerance: float) -> float:
    """The gap at which a minimum counts as reached; ``nothing`` is the objective at weights of 0."""
    return max(tolerance * min(primal, nothing - primal), _ROUNDING * primal)


class _Narrowing:
    """Makes the smoothing of an objective narrower, and foresees the minimum under the new width."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self._before: tuple[float, Point] | None = None

    def __call__(self, here: Point, enough: float) -> Point:
        """Return the point to go on from; ``enough`` is the gap that is aimed at.

        Under narrow widths the minimum moves by about as much as the width shrinks: pairs at the corner
        come nearer to their margin.
        """
        objective, width, before = self.objective, self.objective.width, self._before
        share = float(np.sqrt(_SETTLED * enough / here.corner)) if here.corner > 0 else 0.0
        objective.width *= min(max(share, _NARROWER), _WIDER)
        self._before = width, here
        if before is not None:
            factor = (width - objective.width) / (before[0] - width)
            w = here.w + factor * (here.w - before[1].w)
            least = objective.value(objective.place(here.w), deterministic_dot(here.w, here.w))[0]
            value, lacks = objective.value(objective.place(w), deterministic_dot(w, w))
            if value < least:
                return objective.here(objective.place(w), value, lacks)
        return objective.at(here.w)


def _searched(objective: Objective, here: Point, step: Floats) -> Point | None:
    """The point along ``step`` that is lower and less steep, None if rounding hides it.

    The slope is piecewise linear and rises: Newton's method finds its zero, between two bounds.

    Raises OverflowError if a value on the way is not finite.
    """
    first = deterministic_dot(here.slope, step)
    norm, across, along = (
        deterministic_dot(here.w, here.w),
        deterministic_dot(here.w, step),
        deterministic_dot(step, step),
    )
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        with np.errstate(over="ignore", invalid="ignore"):
            place = objective.place(here.w, step, length)
            value, lacks = objective.value(place, norm + length * (2.0 * across + length * along))
            if not np.isfinite(value):
                raise OverflowError
            slope = across + length * along + objective.slope_along(place, step)
            if not np.isfinite(slope):
                raise OverflowError
            # A slope that still falls shows that a point is lower, though rounding may hide it.
            hidden = _HIDDEN * abs(here.value) if slope <= 0.0 else 0.0
            if value <= here.value + hidden and abs(slope) <= _FLATTER * abs(first):
                return objective.here(place, value, lacks)
            low, high = (length, high) if slope < 0.0 else (low, length)
            length -= slope / (along + objective.curvature_along(place, step))
        if not low < length < min(high, 10.0 * max(low, 1.0)):
            length = 2.0 * low if high == np.inf else low + 0.5 * (high - low)
    return None
