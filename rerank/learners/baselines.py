"""The rankers that every learner has to beat: random scores, and the best single feature."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.models.base import Model
from rerank.models.linear import LinearModel
from rerank.models.random_scores import RandomModel
from rerank.models.training import FitRecord


@LEARNERS.register("random")
class RandomRanker(Learner):
    """Random scores that depend on the seed only, not on the features."""

    name = "random"
    summary = "random scores, the least that any result must beat"
    needs_features = False
    needs_labels = False
    watches = False
    scale_invariant = True
    accepts_nan = True

    seed: int = setting(1, "seed of the scores", ge=0)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return RandomModel(lists.names(), self.seed)


@LEARNERS.register("best-feature")
class BestFeature(Learner):
    """The one feature, ascending or descending, that ranks the training lists best by the metric.

    On ties the first feature wins, and larger-is-better before smaller-is-better.
    """

    name = "best-feature"
    summary = "the one feature and sign that is best by the metric on the training lists"
    needs_judge = True
    scale_invariant = True

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        judge = inputs.judge
        assert judge is not None  # needs_judge
        best_value, best_feature, best_sign = -np.inf, 0, 1.0
        for j, column in enumerate(lists.features.columns()):
            for sign in (1.0, -1.0):
                value = judge.better * value_of(judge, sign * column)
                if value > best_value:
                    best_value, best_feature, best_sign = value, j, sign
        if best_value == -np.inf:
            raise FitError(f"{lists.source}: {judge.name} has no value, so no feature is the best")
        weights = np.zeros(lists.n_features)
        weights[best_feature] = best_sign
        model = LinearModel(lists.names(), weights)
        model.training.rounds = FitRecord(train=judge.better * best_value)
        return model
