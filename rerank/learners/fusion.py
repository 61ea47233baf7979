"""Fusion of scores without learning: baselines for features that are scores of several systems."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.learners.base import LEARNERS, FitInputs, Learner
from rerank.models.base import Model
from rerank.models.fusion import CombMnz, CombSum, ReciprocalRank


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

    k: float = setting(60.0, "added to each rank; the larger, the less the top ranks count", ge=0)

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return ReciprocalRank(lists.names(), np.ones(lists.n_features), self.k)


@LEARNERS.register("combsum")
class CombSumFusion(Fusion):
    """The sum of the scaled scores of the systems that retrieved an item."""

    name = "combsum"
    summary = "sum of the scaled features"
    source = "Fox & Shaw 1994"
    default_scaling = "list-minmax"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return CombSum(lists.names(), np.ones(lists.n_features))


@LEARNERS.register("combmnz")
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
