"""OAP-BPM: the mean of several PRanks, near the Bayes point (Harrington 2003)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import Index
from rerank.learners.base import LEARNERS
from rerank.learners.ordinal.items import Cut, GradedItems, ItemLearner
from rerank.learners.ordinal.prank import Ranker
from rerank.settings import setting


@LEARNERS.register("oap-bpm")
class OapBpm(ItemLearner):
    """Several PRanks side by side, each shown an example with a coin's probability; their plain mean.

    Each ranker has a coin of its own, drawn from the seed and its number: more rankers leave the coins of
    the first ones as they are. Rounds repeat the stream of examples, with new coins.
    """

    name = "oap-bpm"
    summary = "mean of PRanks that see random parts of the examples (Bayes point)"
    source = "Harrington 2003"

    rankers: int = setting(20, "PRanks to average", ge=1)
    coin: float = setting(0.3, "probability that a ranker sees an example", gt=0, le=1)
    average: Literal["last", "average"] = setting(
        "average", "of each ranker: mean over the examples it saw, or its last weights (the paper's)"
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
        """One pass: ``updates`` and ``rank_loss``, summed over the rankers."""
        counts = {"updates": 0, "rank_loss": 0}
        for ranker, coins in zip(self.rankers, self.coins, strict=True):
            shown = visits[coins.random(len(visits)) < self.coin]
            for name, count in ranker.run(shown).items():
                counts[name] += count
        return counts

    def cut(self, average: bool) -> Cut:
        """The mean of the rankers' weights and thresholds."""
        weights, thresholds = self.rankers[0].cut(average)
        for ranker in self.rankers[1:]:
            w, b = ranker.cut(average)
            weights += w
            thresholds += b
        return weights / len(self.rankers), thresholds / len(self.rankers)

    def settled(self) -> bool:
        """Whether every ranker grades every example rightly, also those that it was not shown."""
        grades = self.items.grades[self.items.rows]
        for ranker in self.rankers:
            scores = self.items.features.scores(ranker.weights.values)[self.items.rows]
            if not np.array_equal(np.searchsorted(ranker.thresholds.values, scores, side="right"), grades):
                return False
        return True
