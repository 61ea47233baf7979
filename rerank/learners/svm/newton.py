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
from rerank.learners.svm.loss import PairLoss
from rerank.learners.svm.objective import Objective, Point
from rerank.learners.vectors import inner

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


@dataclass(frozen=True, eq=False)
class Minimum:
    """What was found.

    Attributes
    ----------
    w
        float64 (n_features).
    loss, objective, gap
        The weighted loss of the pairs, the objective, and a bound of its distance from the minimum.
    iterations, converged
        Steps, and whether the gap is small enough.
    """

    w: Floats
    loss: float
    objective: float
    gap: float
    iterations: int
    converged: bool


def minimise(
    loss: PairLoss, strength: float, start: Floats, *, squared: bool, tolerance: float, iterations: int
) -> Minimum:
    """Return the minimum of |w|² / 2 + strength * loss.

    The gap is at most ``tolerance`` times the objective, and times what it is below that of weights 0, so
    that weak losses are minimised as exactly as strong ones.

    Parameters
    ----------
    loss
        The pairs, whose weights are 1 in sum.
    strength
        C, more than 0.
    start
        float64 (n_features).
    squared
        Whether what a pair lacks to its margin is squared.
    tolerance
        Of the gap.
    iterations
        Most steps.

    Raises
    ------
    OverflowError
        If a value is not finite.
    """
    width = None if squared else _NEXT_WIDTH if start.any() else _FIRST_WIDTH
    objective = Objective(loss, strength, width)
    narrowing = _Narrowing(objective)
    here = objective.at(start, loss.scores(start))
    dual = 0.0
    for done in progress.over(range(iterations + 1), "minimising the loss", None, "iteration"):
        if not np.isfinite(inner(here.slope, here.slope) + here.primal):
            raise OverflowError
        dual = max(dual, here.dual)
        gap = max(here.primal - dual, 0.0)
        enough = max(tolerance * min(here.primal, strength - here.primal), _ROUNDING * here.primal)
        moved = here.w.any() or not here.slope.any()  # weights of 0 are no model, however small C is
        if (gap <= enough and moved) or done == iterations:
            break
        step = objective.newton_step(here.slope)
        there = _searched(objective, here, step)
        if there is None and (here.corner <= 0.5 * enough or objective.width < _NARROWEST):
            break  # rounding hides any lower point
        settled = there is None or -0.5 * inner(step, here.slope) <= _SETTLED * here.corner
        here = there or here
        if settled and (there is None or here.corner > 0.5 * enough):
            here = narrowing(here, enough)
    if gap > enough:  # rounding or too few steps: scores may have drifted away from those of w
        here = objective.at(here.w, loss.scores(here.w))
        if not here.primal <= strength:  # weights of 0 are better
            here = objective.at(np.zeros(len(here.w)), np.zeros(len(here.scores)))
        gap = here.primal - dual
    pairs = (here.primal - 0.5 * inner(here.w, here.w)) / strength
    return Minimum(here.w, pairs, here.primal, gap, done, gap <= enough)


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
            scores = here.scores + factor * (here.scores - before[1].scores)
            least = objective.value(here.scores, inner(here.w, here.w))[0]
            value, lacks = objective.value(scores, inner(w, w))
            if value < least:
                return objective.here(w, scores, value, lacks)
        return objective.at(here.w, here.scores)


def _searched(objective: Objective, here: Point, step: Floats) -> Point | None:
    """The point along ``step`` that is lower and less steep, None if rounding hides it.

    The slope is piecewise linear and rises: Newton's method finds its zero, between two bounds.

    Raises OverflowError if a value on the way is not finite.
    """
    change = objective.loss.scores(step)
    first = inner(here.slope, step)
    norm, across, along = inner(here.w, here.w), inner(here.w, step), inner(step, step)
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(_TRIALS):
        with np.errstate(over="ignore", invalid="ignore"):
            scores = here.scores + length * change
            value, lacks = objective.value(scores, norm + length * (2.0 * across + length * along))
            slope = across + length * along + objective.rise(change)
            if not np.isfinite(value + slope):
                raise OverflowError
            # A slope that still falls shows that a point is lower, though rounding may hide it.
            hidden = _HIDDEN * abs(here.value) if slope <= 0.0 else 0.0
            if value <= here.value + hidden and abs(slope) <= _FLATTER * abs(first):
                return objective.here(here.w + length * step, scores, value, lacks)
            low, high = (length, high) if slope < 0.0 else (low, length)
            length -= slope / (along + objective.bend(change))
        if not low < length < min(high, 10.0 * max(low, 1.0)):
            length = 2.0 * low if high == np.inf else low + 0.5 * (high - low)
    return None
