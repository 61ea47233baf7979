"""The loss of logistic regression, summed over parts, with one intercept for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.system import added
from rerank.core.types import Floats
from rerank.learners.penalised import Intercept
from rerank.learners.sums.judged import JudgedItems
from rerank.learners.sums.parts import Parts

_STEPS = 200  # of the search for the intercept, each of which halves its bracket at least
_EXACT = 1e-13  # of the summed weights: the slope that remains


class ClassFacts(NamedTuple):
    """The items of a part, those that are relevant, and the summed weights of both."""

    n: int
    n_right: int
    weight: float
    right: float


class ClassItems:
    """The items of one part, and their scores under the weights that were asked for last.

    - ``items``: the judged items.
    - ``right``: float64 (n_items), 1 for relevant items and 0 for the others.
    """

    def __init__(self, items: JudgedItems, right: Floats) -> None:
        self.items = items
        self.right = right
        self._known: tuple[Floats, Floats] | None = None

    def facts(self) -> ClassFacts:
        """Return what is known of the items."""
        weight, right = self.items.weight, self.right
        return ClassFacts(len(right), int(right.sum()), float(weight.sum()), float((weight * right).sum()))

    def _scores(self, weights: Floats) -> Floats:
        if self._known is None or not np.array_equal(self._known[0], weights):
            with np.errstate(over="ignore", invalid="ignore"):
                self._known = weights.copy(), self.items.features.scores(weights)
        return self._known[1]

    def spread(self, weights: Floats) -> tuple[float, float, float]:
        """Return the smallest score, the largest, and their sum; all NaN if one is not finite."""
        scores = self._scores(weights)
        if not np.isfinite(scores).all():
            return np.nan, np.nan, np.nan
        with np.errstate(over="ignore"):
            return float(scores.min()), float(scores.max()), float(scores.sum())

    def slopes(self, weights: Floats, at: float, total: float) -> tuple[float, float]:
        """Return the sums of weight / total * P(relevant), and of that * P(not), with an intercept."""
        chance = probability(self._scores(weights) + at)
        weight = self.items.weight / total
        return float((weight * chance).sum()), float((weight * chance * (1.0 - chance)).sum())

    def loss(self, weights: Floats, at: float) -> tuple[float, Floats]:
        """Return the sum of weight * -log P(class) with an intercept, and its gradient."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(weights) + at
            losses = np.logaddexp(0.0, np.where(self.right > 0, -scores, scores))
            slope = self.items.weight * (probability(scores) - self.right)
            loss = float((self.items.weight * losses).sum())
            return loss, self.items.features.transposed_product(slope)


class ClassLoss(Intercept):
    """The sum over parts of weight * -log P(class) and its gradient, with the best intercept for every w.

    - ``parts``: ``ClassItems``; some items are of either class.
    - ``facts``: of each.
    """

    def __init__(self, parts: Parts, facts: list[ClassFacts]) -> None:
        self._parts = parts
        self._n = sum(one.n for one in facts)
        self.weight = added(one.weight for one in facts)
        self._share = added(one.right for one in facts) / self.weight

    def at(self, weights: Floats) -> float:
        """Return the best intercept for weights (n_features), NaN if a score is not finite."""
        return self._parts.once((weights,), lambda: self._intercept(weights))

    def _intercept(self, weights: Floats) -> float:
        """The intercept at which the mean of P(relevant) is the share of relevant items."""
        least, largest, sums = zip(*self._parts.each(ClassItems.spread, weights), strict=True)
        if np.isnan(least).any():
            return np.nan
        prior = float(np.log(self._share) - np.log1p(-self._share))
        low, high = prior - max(largest), prior - min(least)
        at = min(max(prior - added(sums) / self._n, low), high)
        for _ in range(_STEPS):
            found = self._parts.each(ClassItems.slopes, weights, at, self.weight)
            slope = added(one[0] for one in found) - self._share
            if abs(slope) <= _EXACT or high <= low:
                break
            low, high = (at, high) if slope < 0 else (low, at)
            rise = added(one[1] for one in found)
            near = at - slope / rise if rise > 0 else low
            at = near if low < near < high else low / 2.0 + high / 2.0
        return at

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the loss at weights (n_features), and its gradient, a new array."""
        return self._parts.once((weights,), lambda: self._summed(weights))

    def _summed(self, weights: Floats) -> tuple[float, Floats]:
        at = self._intercept(weights)
        if np.isnan(at):
            return np.inf, np.full(len(weights), np.nan)
        (loss, gradient), *others = self._parts.each(ClassItems.loss, weights, at)
        for more, slope in others:
            loss += more
            gradient += slope
        return loss, gradient


def probability(scores: Floats) -> Floats:
    """Return 1 / (1 + exp(-scores)), float64 (n)."""
    with np.errstate(over="ignore"):
        chance: Floats = 1.0 / (1.0 + np.exp(-scores))
    return chance
