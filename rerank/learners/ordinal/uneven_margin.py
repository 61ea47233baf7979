"""The perceptron with uneven margins for classification (Li et al. 2002)."""

from __future__ import annotations

from pydantic import model_validator

from rerank.data.lists import CandidateLists
from rerank.data.types import Index
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal.items import Cut, GradedItems, ItemLearner
from rerank.native.learners import _ordinal
from rerank.native.learners._weights import Weights
from rerank.settings import setting


@LEARNERS.register("uneven-margin", "paum")
class UnevenMargin(ItemLearner):
    """Relevant items against the others, with a margin for each of the two classes.

    For y = +1 (relevant) or -1, an item is violated where y(w·x + b) <= tau_y; then w += y·x and
    b += y·R^2, R the largest norm of an item. (A learning rate would only divide the margins.) With
    R^2 in the step, b is R times the weight of one more feature that is R everywhere: items have
    at most the norm R√2, so by Novikoff's argument, where y(w*·x + b*) >= gamma for a unit w*, there are
    at most (1 + b*^2/R^2)(2R^2 + 2·max(tau_+, tau_-, 0)) / gamma^2 updates.
    Grades of the model: 1 where w·x + b >= 0, else 0.
    """

    name = "uneven-margin"
    summary = "perceptron classifier with a margin for each class (PAUM)"
    source = "Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola 2002"

    relevant: float = setting(1.0, "labels from this one on are relevant", allow_inf_nan=False)
    tau_plus: float = setting(10.0, "learning margin of relevant items", allow_inf_nan=False)
    tau_minus: float = setting(1.0, "learning margin of the others", allow_inf_nan=False)

    @model_validator(mode="after")
    def _learns_at_all(self) -> UnevenMargin:
        if self.tau_plus < 0 and self.tau_minus < 0:
            raise ValueError("tau_plus and tau_minus are both below 0: no item would ever be violated")
        return self

    def _items(self, lists: CandidateLists) -> GradedItems:
        return GradedItems.of(lists, self.relevant)

    def _passes(self, items: GradedItems) -> _Classifier:
        return _Classifier(self, items)


class _Classifier:
    def __init__(self, learner: UnevenMargin, items: GradedItems) -> None:
        self.items = items
        self.margins = (learner.tau_minus, learner.tau_plus)
        self.matrix = items.features.matrix()
        self.weights = Weights(items.features.n_features)
        self.bias = Weights(1)

    def run(self, visits: Index) -> dict[str, int]:
        """One pass: ``updates``, and how many of them were on the wrong side (``wrong``)."""
        fixed = (visits, self.items.grades, *self.margins, self.items.radius2)
        updates, wrong = _ordinal.uneven(self.matrix, *fixed, self.weights, self.bias)
        return {"updates": updates, "wrong": wrong}

    def cut(self, average: bool) -> Cut:
        """Weights and the one threshold, -b; the last ones or their mean over the examples seen."""
        bias, seen = self.bias, self.bias.visits
        if not average or seen == 0:
            return self.weights.values.copy(), 0.0 - bias.values
        return self.weights.mean(), bias.drift / seen - bias.values

    def settled(self) -> bool:
        """True: a pass over all items without an update is the last."""
        return True
