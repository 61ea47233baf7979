"""Logistic regression of relevance."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.penalised import Convex, Intercept, Penalised
from rerank.learners.pointwise.items import JudgedItems

_STEPS = 200  # of the search for the intercept, each of which halves its bracket at least
_EXACT = 1e-13  # of the summed weights: the slope that remains


@LEARNERS.register("logistic")
class Logistic(Penalised):
    """Classification of items: P(relevant) = 1 / (1 + exp(-w·x - b)).

    The sum over judged items of -log P(what they are) plus penalty * |w|² is minimised. An item is relevant
    if its label is ``relevant`` or larger; smaller differences of labels do not count. The intercept b is not
    penalised. Scores are w·x without it, which changes no ranking; ``rerank show`` prints it in the notes.
    List weights multiply the losses of their lists. Unjudged items are left out.

    References
    ----------
    Gey: Inferring probability of relevance using the method of logistic regression. SIGIR 1994.
    """

    name = "logistic"
    summary = "logistic regression of relevance with a penalty, item by item"
    source = "Gey 1994"

    relevant: float = setting(1.0, "items with this label or a larger one are relevant")

    def _convex(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
        items = JudgedItems.of(lists, inputs.list_weights)
        right = items.labels >= self.relevant
        if right.all() or not right.any():
            found = "every" if right.all() else "no"
            text = f"{found} judged item has a label of {self.relevant:g} or more (relevant)"
            raise FitError(f"{lists.source}: {text}: there are no two classes")
        loss = ClassLoss(items, right.astype(np.float64))
        return Convex(loss, float(items.weight.sum()), items.data, intercept=loss)


class ClassLoss(Intercept):
    """The sum of weight * -log P(class) and its gradient, with the best intercept for every w.

    Parameters
    ----------
    items
        The judged items.
    right
        float64 (n_items), 1 for relevant items and 0 for the others; some items are of either class.
    """

    def __init__(self, items: JudgedItems, right: Floats) -> None:
        self.items = items
        self.right = right
        self._total = float(items.weight.sum())
        self._share = float((items.weight * right).sum()) / self._total

    def at(self, weights: Floats) -> float:
        """Return the best intercept for weights (n_features)."""
        return self._intercept(self.items.features.scores(weights))

    def _intercept(self, scores: Floats) -> float:
        """The intercept at which the mean of P(relevant) is the share of relevant items."""
        prior = float(np.log(self._share) - np.log1p(-self._share))
        low, high = prior - float(scores.max()), prior - float(scores.min())
        at = min(max(prior - float(scores.mean()), low), high)
        weight = self.items.weight / self._total
        for _ in range(_STEPS):
            chance = probability(scores + at)
            slope = float((weight * chance).sum()) - self._share
            if abs(slope) <= _EXACT or high <= low:
                break
            low, high = (at, high) if slope < 0 else (low, at)
            rise = float((weight * chance * (1.0 - chance)).sum())
            near = at - slope / rise if rise > 0 else low
            at = near if low < near < high else low / 2.0 + high / 2.0
        return at

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the loss at weights (n_features), and its gradient, a new array."""
        items = self.items
        with np.errstate(over="ignore", invalid="ignore"):
            scores = items.features.scores(weights)
            if not np.isfinite(scores).all():
                return np.inf, np.full(len(weights), np.nan)
            scores = scores + self._intercept(scores)
            losses = np.logaddexp(0.0, np.where(self.right > 0, -scores, scores))
            slope = items.weight * (probability(scores) - self.right)
            return float((items.weight * losses).sum()), items.features.transposed_product(slope)


def probability(scores: Floats) -> Floats:
    """Return 1 / (1 + exp(-scores)), float64 (n)."""
    with np.errstate(over="ignore"):
        chance: Floats = 1.0 / (1.0 + np.exp(-scores))
    return chance
