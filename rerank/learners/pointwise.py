"""Regression and classification of single items: ridge regression of labels, logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import LEARNERS, FitInputs, checked_list_weights
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.penalised import Convex, Intercept, Penalised
from rerank.models.training import DataRecord


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judged items of the lists whose weight is not 0.

    Attributes
    ----------
    features
        Of these items.
    labels, weight
        float64 (n): their labels, and the weights of their lists.
    offsets
        int64 (n_lists + 1): the bounds of the lists that have such items.
    data
        What is recorded of them; ``judged`` counts them.
    """

    features: Features
    labels: Floats
    weight: Floats
    offsets: Index
    data: DataRecord

    @classmethod
    def of(cls, lists: CandidateLists, list_weights: Floats | None) -> JudgedItems:
        """Return the judged items of ``lists``.

        - ``lists``: lists with labels.
        - ``list_weights``: float64 (n_lists), None = 1.

        Raises FitError if every list with a judged item has weight 0, or the weights are not finite numbers
        of 0 or more.
        """
        assert lists.labels is not None, "Learner.fit refuses lists without labels"
        weight = np.repeat(checked_list_weights(list_weights, lists), lists.lengths)
        used = ~np.isnan(lists.labels) & (weight > 0)
        rows = np.flatnonzero(used)
        if not len(rows):
            raise FitError(f"{lists.source}: every list with a judged item has weight 0")
        sizes = np.add.reduceat(used, lists.offsets[:-1], dtype=np.int64)
        features = lists.features if len(rows) == lists.n_items else lists.features.take(rows)
        offsets = offsets_of(sizes[sizes > 0])
        return cls(features, lists.labels[rows], weight[rows], offsets, DataRecord(judged=len(rows)))


@LEARNERS.register("ridge")
class Ridge(Penalised):
    """Least squares of the labels: the sum over judged items of (label - w·x - b)², plus penalty * |w|².

    The intercept b is not penalised. There is one for all items, or with intercept=list one for each list:
    then features and labels count as deviations from their means in the list, and only differences within
    lists are learnt from. Scores are w·x without the intercept, which changes no ranking; ``rerank show``
    prints it in the notes. List weights multiply the squares of their lists. Unjudged items are left out.

    References
    ----------
    Hoerl, Kennard: Ridge regression. Technometrics 12, 1970.
    Cossock, Zhang: Subset ranking using regression. COLT 2006.
    """

    name = "ridge"
    summary = "least squares of the labels with a penalty, item by item"
    source = "Hoerl & Kennard 1970; Cossock & Zhang 2006"

    intercept: Literal["one", "list"] = setting(
        "one", "a constant for all items, or one for each list: only differences within lists count"
    )

    def _problem(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
        items = JudgedItems.of(lists, inputs.list_weights)
        largest = float(np.abs(items.labels).max())
        unit = float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0
        squares = Squares(items, items.labels / unit, by_list=self.intercept == "list")
        if not squares.centred(squares.targets).any():
            found = (
                f"every judged item has the label {items.labels[0]:g}"
                if self.intercept == "one"
                else "no list has two different labels"
            )
            raise FitError(f"{lists.source}: {found}; learner ridge has nothing to learn from")
        constant = squares if self.intercept == "one" else None
        weight = float(items.weight.sum())
        return Convex(loss=squares, weight=weight, data=items.data, unit=unit, intercept=constant)


class Squares(Intercept):
    """The sum of weight * (target - w·x - b)² and its gradient, with the best b for every w.

    - ``items``: the judged items.
    - ``targets``: float64 (n_items).
    - ``by_list``: whether each list has a b of its own.
    """

    def __init__(self, items: JudgedItems, targets: Floats, by_list: bool) -> None:
        self.items = items
        self.targets = targets
        self._starts = items.offsets[:-1] if by_list else np.zeros(1, dtype=np.int64)
        self._sizes = np.diff(items.offsets) if by_list else np.array([len(targets)])
        self._total = np.add.reduceat(items.weight, self._starts)

    def _means(self, values: Floats) -> Floats:
        """The weighted means (1 or n_lists) of values (n_items)."""
        means: Floats = np.add.reduceat(self.items.weight * values, self._starts) / self._total
        return means

    def centred(self, values: Floats) -> Floats:
        """Return values (n_items) less their weighted mean; exactly 0 where all are equal."""
        least = np.minimum.reduceat(values, self._starts)
        shifted = values - np.repeat(least, self._sizes)
        centred: Floats = shifted - np.repeat(self._means(shifted), self._sizes)
        return centred

    def at(self, weights: Floats) -> float:
        """Return b for weights (n_features)."""
        return float(self._means(self.targets - self.items.features.scores(weights))[0])

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the loss at weights (n_features), and its gradient, a new array."""
        with np.errstate(over="ignore", invalid="ignore"):
            rest = self.centred(self.targets - self.items.features.scores(weights))
            slope = self.items.weight * rest
            return deterministic_dot(slope, rest), -2.0 * self.items.features.transposed_product(slope)


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

    def _problem(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
        items = JudgedItems.of(lists, inputs.list_weights)
        right = items.labels >= self.relevant
        if right.all() or not right.any():
            found = "every" if right.all() else "no"
            text = f"{found} judged item has a label of {self.relevant:g} or more (relevant)"
            raise FitError(f"{lists.source}: {text}: there are no two classes")
        loss = ClassLoss(items, right.astype(np.float64))
        return Convex(loss=loss, weight=float(items.weight.sum()), data=items.data, intercept=loss)


class ClassLoss(Intercept):
    """The sum of weight * -log P(class) and its gradient, with the best intercept for every w.

    - ``items``: the judged items.
    - ``right``: float64 (n_items), 1 for relevant items and 0 for the others; some items are of either class.
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
