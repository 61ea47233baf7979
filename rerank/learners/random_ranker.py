"""A ranker that knows nothing: what every claim has to beat."""

from __future__ import annotations

from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, Guide, Learner
from rerank.models.base import Model
from rerank.models.random_scores import RandomModel
from rerank.settings import setting


@LEARNERS.register("random")
class RandomRanker(Learner):
    """Scores drawn at random from the seed, whatever the features."""

    name = "random"
    summary = "random scores, the floor under every result"
    needs_labels = False
    accepts_nan = True

    seed: int = setting(1, "of the scores", ge=0)

    def _fit(self, lists: CandidateLists, guide: Guide) -> Model:
        return RandomModel(lists.names(), self.seed)
