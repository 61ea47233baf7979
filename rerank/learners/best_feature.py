"""The best single feature: the simplest ranker that looks at the data."""

from __future__ import annotations

import numpy as np

from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, Guide, Learner
from rerank.models.base import Model
from rerank.models.linear import LinearModel


@LEARNERS.register("best-feature")
class BestFeature(Learner):
    """The one feature, upwards or downwards, that ranks the training lists best by the metric.

    Equals go to the earlier feature, upwards before downwards.
    """

    name = "best-feature"
    summary = "the one feature and sign that is best by the metric on the training lists"
    needs_judge = True

    def _fit(self, lists: CandidateLists, guide: Guide) -> Model:
        judge = guide.judge
        assert judge is not None  # needs_judge
        best_value, best_feature, best_sign = -np.inf, 0, 1.0
        for j, column in enumerate(lists.features.columns()):
            for sign in (1.0, -1.0):
                value = judge.better * corpus_value(judge, judge.per_list(sign * column))
                if value > best_value:
                    best_value, best_feature, best_sign = value, j, sign
        weights = np.zeros(lists.n_features)
        weights[best_feature] = best_sign
        model = LinearModel(lists.names(), weights)
        model.training.rounds = {"train": judge.better * best_value}
        return model
