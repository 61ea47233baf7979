"""Rankers that every learner has to beat: random scores, the best single feature, fusion of scores."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.models.base import Model
from rerank.models.fusion import CombMnz, CombSum, RandomModel, ReciprocalRank
from rerank.models.linear import LinearModel
from rerank.models.training import FitRecord


@LEARNERS.register("random")
class RandomRanker(Learner):
    """Random scores that depend on the seed only, not on the features."""

    name = "random"
    summary = "random scores, which any result must beat"
    needs_features = False
    needs_labels = False
    watches = False
    scale_invariant = True
    accepts_nan = True

    seed: int = setting(1, "random seed of the scores", ge=0)

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


class Fusion(Learner):
    """Base of what fuses the scores of systems, a feature of each; a missing one was not retrieved by it."""

    needs_labels: ClassVar[bool] = False
    watches: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = True


@LEARNERS.register("rrf")
class ReciprocalRankFusion(Fusion):
    """The sum over systems of 1 / (k + rank in the list); equal scores share the mean of their ranks."""

    name = "rrf"
    summary = "reciprocal rank fusion: sum over features of 1 / (k + rank in the list)"
    source = "Cormack et al. 2009"
    scale_invariant = True

    k: float = setting(60.0, "constant added to each rank; the larger, the less the top ranks count", ge=0)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return ReciprocalRank(lists.names(), np.ones(lists.n_features), self.k)


@LEARNERS.register("combsum", "sum")
class CombSumFusion(Fusion):
    """The sum of the scaled scores of the systems that retrieved an item."""

    name = "combsum"
    summary = "sum of the scaled features"
    source = "Fox & Shaw 1994"
    default_scaling = "list-minmax"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return CombSum(lists.names(), np.ones(lists.n_features))


@LEARNERS.register("combmnz", "mnz")
class CombMnzFusion(Fusion):
    """The sum of the scaled scores, times the number of systems that retrieved the item.

    Lists without a missing feature are ranked as by combsum.
    """

    name = "combmnz"
    summary = "sum of the scaled features, times the number of those that are not missing"
    source = "Fox & Shaw 1994"
    default_scaling = "list-minmax"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return CombMnz(lists.names(), np.ones(lists.n_features))
