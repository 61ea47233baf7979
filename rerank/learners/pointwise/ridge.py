"""Ridge regression of labels."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs
from rerank.learners.penalised import Convex, Intercept, Penalised
from rerank.learners.pointwise.items import JudgedItems
from rerank.learners.vectors import inner


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

    def _convex(self, lists: CandidateLists, inputs: FitInputs) -> Convex:
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
        return Convex(squares, float(items.weight.sum()), items.data, unit, constant)


class Squares(Intercept):
    """The sum of weight * (target - w·x - b)² and its gradient, with the best b for every w.

    Parameters
    ----------
    items
        The judged items.
    targets
        float64 (n_items).
    by_list
        Whether each list has a b of its own.
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
            return inner(slope, rest), -2.0 * self.items.features.transposed_product(slope)
