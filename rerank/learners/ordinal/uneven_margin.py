"""The perceptron with uneven margins for classification (Li et al. 2002)."""

from __future__ import annotations

from rerank.core.checkpoints import State
from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal.items import Cut, GradedItems, ItemLearner
from rerank.learners.weight_state import restore, state_of
from rerank.native.learners import _ordinal
from rerank.native.learners._weights import Weights


@LEARNERS.register("uneven-margin", "paum")
class UnevenMargin(ItemLearner):
    """A classifier of relevant items against the others, with one margin for each class.

    For y = +1 (relevant) or -1, an item is violated if y(w·x + b) <= tau_y; then w += y·x and
    b += y·R^2, where R is the largest norm of an item. (A learning rate would only divide the margins.)
    With R^2 in the step, b is R times the weight of one more feature that is R everywhere, and items
    have at most the norm R√2. By Novikoff's argument there are at most
    (1 + b*^2/R^2)(2R^2 + 2·max(tau_+, tau_-, 0)) / gamma^2 updates if y(w*·x + b*) >= gamma for a unit w*.
    The model's grades are 1 if w·x + b >= 0, else 0.

    References
    ----------
    Li, Zaragoza, Herbrich, Shawe-Taylor, Kandola: The perceptron algorithm with uneven margins. ICML 2002.
    """

    name = "uneven-margin"
    summary = "perceptron classifier with a margin for each class (PAUM)"
    source = "Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola 2002"
    default_scaling = "zscore"

    relevant: float = setting(1.0, "items with this label or a larger one are relevant")
    tau_plus: float = setting(10.0, "learning margin of relevant items")
    tau_minus: float = setting(1.0, "learning margin of the other items")

    def check_values(self) -> None:
        if self.tau_plus < 0 and self.tau_minus < 0:
            raise ConfigError("tau_plus and tau_minus are both below 0: no item would ever be violated")

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
        """Return ``updates`` of one pass, and how many of them were on the wrong side (``wrong``)."""
        fixed = (visits, self.items.grades, *self.margins, self.items.radius2)
        updates, wrong = _ordinal.uneven(self.matrix, *fixed, self.weights, self.bias)
        return {"updates": updates, "wrong": wrong}

    def cut(self, average: bool) -> Cut:
        """Return the weights and the threshold -b: the last ones, or their mean over the examples seen."""
        bias, seen = self.bias, self.bias.visits
        if not average or seen == 0:
            return self.weights.values.copy(), 0.0 - bias.values
        return self.weights.mean(), bias.drift / seen - bias.values

    def state(self) -> State:
        """Return what later passes depend on."""
        return {"weights": state_of(self.weights), "bias": state_of(self.bias)}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        restore(self.bias, state["bias"])

    def settled(self) -> bool:
        """Return True: no item is violated after a pass over all items without an update."""
        return True
