"""OAP-BPM: the mean of several PRanks, which approximates the Bayes point (Harrington 2003)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.checkpoints import State
from rerank.core.settings import setting
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal.items import Cut, GradedItems, ItemLearner
from rerank.learners.ordinal.prank import Ranker


@LEARNERS.register("oap-bpm")
class OapBpm(ItemLearner):
    """The unweighted mean of several PRanks, each of which sees an example with the probability ``coin``.

    Each ranker draws its own coins, from the seed and its number, so that more rankers do not change the
    coins of the first ones. Each round repeats the stream of examples with new coins.

    References
    ----------
    Harrington: Online ranking/collaborative filtering using the perceptron algorithm. ICML 2003.
    """

    name = "oap-bpm"
    summary = "mean of PRanks that each see a random part of the examples (Bayes point)"
    source = "Harrington 2003"
    default_scaling = "minmax"

    rankers: int = setting(20, "number of PRanks to average", ge=1)
    coin: float = setting(0.3, "probability that a ranker sees an example", gt=0, le=1)
    average: Literal["last", "average"] = setting(
        "average",
        "of each ranker: its last weights (as in the paper), or their mean over the examples it saw",
    )

    def _items(self, lists: CandidateLists) -> GradedItems:
        return GradedItems.of(lists)

    def _passes(self, items: GradedItems) -> _Committee:
        return _Committee(self, items)


class _Committee:
    def __init__(self, learner: OapBpm, items: GradedItems) -> None:
        self.items = items
        self.coin = learner.coin
        self.rankers = [Ranker(items) for _ in range(learner.rankers)]
        seeds = np.random.SeedSequence(learner.seed).spawn(learner.rankers)
        self.coins = [np.random.default_rng(seed) for seed in seeds]

    def run(self, visits: Index) -> dict[str, int]:
        """Return ``updates`` and ``rank_loss`` of one pass, summed over the rankers."""
        counts = {"updates": 0, "rank_loss": 0}
        for ranker, coins in zip(self.rankers, self.coins, strict=True):
            shown = visits[coins.random(len(visits)) < self.coin]
            for name, count in ranker.run(shown).items():
                counts[name] += count
        return counts

    def cut(self, average: bool) -> Cut:
        """Return the mean of the rankers' weights and thresholds."""
        weights, thresholds = self.rankers[0].cut(average)
        for ranker in self.rankers[1:]:
            w, b = ranker.cut(average)
            weights += w
            thresholds += b
        return weights / len(self.rankers), thresholds / len(self.rankers)

    def state(self) -> State:
        """Return what later passes depend on."""
        coins = [coins.bit_generator.state for coins in self.coins]
        return {"rankers": [ranker.state() for ranker in self.rankers], "coins": coins}

    def restore(self, state: State) -> None:
        """Go to a state."""
        for ranker, kept in zip(self.rankers, state["rankers"], strict=True):
            ranker.restore(kept)
        for coins, kept in zip(self.coins, state["coins"], strict=True):
            coins.bit_generator.state = kept

    def settled(self) -> bool:
        """Return whether every ranker grades every example correctly, including those it has not seen."""
        grades = self.items.grades[self.items.rows]
        for ranker in self.rankers:
            scores = self.items.features.scores(ranker.weights.values)[self.items.rows]
            if not np.array_equal(np.searchsorted(ranker.thresholds.values, scores, side="right"), grades):
                return False
        return True
