"""PRank: a perceptron for grades (Crammer & Singer 2001)."""

from __future__ import annotations

from rerank.core.checkpoints import State
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal.items import Cut, GradedItems, ItemLearner
from rerank.learners.weight_state import restore, state_of
from rerank.native.learners import _ordinal
from rerank.native.learners._weights import Weights


@LEARNERS.register("prank")
class PRank(ItemLearner):
    """One direction w and thresholds b_1 <= ... <= b_{k-1} between the k grades of the whole set.

    The predicted grade is the smallest r with w·x - b_r < 0. If it is wrong, every threshold that is on
    the wrong side of the item moves by 1 towards the other side, and w moves along x once for each of
    them. The thresholds stay in order (Lemma 1). If a unit (w, b) separates the grades by gamma, the sum
    of |predicted - true grade| is at most (k - 1)(R^2 + 1) / gamma^2 (Theorem 2).

    References
    ----------
    Crammer, Singer: Pranking with ranking. NIPS 2001.
    """

    name = "prank"
    summary = "online ordinal regression: weights and thresholds between grades"
    source = "Crammer & Singer 2001"
    default_scaling = "minmax"  # thresholds move by 1 and weights by x: norms near 1 suit both

    def _items(self, lists: CandidateLists) -> GradedItems:
        return GradedItems.of(lists)

    def _passes(self, items: GradedItems) -> Ranker:
        return Ranker(items)


class Ranker:
    """The state of one PRank: weights, thresholds, and what their means need."""

    def __init__(self, items: GradedItems) -> None:
        self.items = items
        self.matrix = items.features.matrix()
        self.weights = Weights(items.features.n_features)
        self.thresholds = Weights(len(items.labels) - 1)

    def run(self, visits: Index) -> dict[str, int]:
        """Learn from the items at ``visits``; return ``updates`` and the summed errors of grades."""
        updates, loss = _ordinal.prank(self.matrix, visits, self.items.grades, self.weights, self.thresholds)
        return {"updates": updates, "rank_loss": loss}

    def cut(self, average: bool) -> Cut:
        """Return weights and thresholds: the last ones, or their mean over the examples seen."""
        b, seen = self.thresholds, self.thresholds.visits
        if not average or seen == 0:
            return self.weights.values.copy(), b.values.copy()
        # Thresholds and their drift are whole numbers: this way the mean is rounded once and stays in order.
        return self.weights.mean(), (b.values * seen - b.drift) / seen

    def state(self) -> State:
        """Return what later passes depend on."""
        return {"weights": state_of(self.weights), "thresholds": state_of(self.thresholds)}

    def restore(self, state: State) -> None:
        """Go to a state."""
        restore(self.weights, state["weights"])
        restore(self.thresholds, state["thresholds"])

    def settled(self) -> bool:
        """Return True: a pass over all items without an update means that every grade is right."""
        return True
