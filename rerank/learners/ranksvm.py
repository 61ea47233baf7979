"""Ranking SVM: a linear model with a large margin between the items of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Mask
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, MarginName, PairRelation
from rerank.learners.base import LEARNERS, FitInputs, weighted_pairs
from rerank.learners.minimise import Minimum
from rerank.learners.penalised import ConvexLearner, Problem
from rerank.learners.regularization_path import Strength
from rerank.learners.sums.newton import minimise
from rerank.learners.sums.pairs import PairPart, PairSums
from rerank.learners.sums.parts import Parts
from rerank.models.training import DataRecord

PairChoice = Literal["all", "neighbours"]


def pairs_setting() -> Any:
    """Return the setting ``pairs``, a name of data.pairs.PairRelation."""
    return setting("all", "every two items with different labels, or only those with neighbouring labels")


def balance_setting() -> Any:
    """Return the setting ``list_balance``."""
    return setting(True, "weight all lists equally; without it, all pairs")


def tolerance_setting() -> Any:
    """Return the setting ``tolerance``."""
    return setting(
        1e-4,
        "stopping tolerance: distance from the minimum, relative to it and to the difference from "
        "weights of 0",
        gt=0,
        le=0.1,
    )


STRENGTHS = tuple(10.0 ** (k / 2) for k in range(-2, 11))  # 0.1 to 100,000, two for each factor of ten
_ROUGH = 1e-2  # tolerance of a minimum that is only a start


@LEARNERS.register("ranksvm")
class RankSVM(ConvexLearner):
    """Linear ranking SVM: |w|² / 2 + C * the mean over pairs of max(0, g - w·(x - x'))^p is minimised.

    A pair is two items of one list, x with the larger label. p is 1 (loss=l1, the hinge) or 2 (loss=l2). The
    margin g is 1, or uneven: larger at the top of a list, or the larger the further labels are apart, then
    divided by its mean over all pairs, so that C means the same. (There is no tau: a factor of g and of w.)
    In the mean every list counts as much as another: a pair of list i has the weight 1 / (lists * pairs of
    i). With list_balance=false every pair has the weight 1 / pairs, so that C is that of dlib. An SVM of the
    differences x - x' whose loss is a sum has C times that weight. List weights multiply these weights,
    whose sum remains 1. Lists without a pair do not count, nor do unjudged items.

    No pair is stored: a step sorts the scores of each list. The minimum is known to ``tolerance``, by a
    bound from the dual problem. C=dev tries 0.1, 0.316, 1, ..., 100000, each from the weights of the one
    before, until three are worse on the dev lists, and keeps the best; on ties the first wins. The curve has
    a row for each.

    References
    ----------
    Herbrich, Graepel, Obermayer: Large margin rank boundaries for ordinal regression. Advances in Large
    Margin Classifiers, 2000 (pairs=neighbours).
    Joachims: Optimizing search engines using clickthrough data. KDD 2002.
    Shen, Joshi: Ranking and reranking with perceptron. Machine Learning 60, 2005 (uneven margins).
    Chapelle, Keerthi: Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010.
    """

    name = "ranksvm"
    summary = "ranking SVM: a large margin between the items of every pair, without storing pairs"
    source = "Joachims 2002; Chapelle & Keerthi 2010"
    strength_key = "C"
    strengths = STRENGTHS
    gap_of = "objective"

    C: Strength = setting(
        10.0,
        "weight of the mean loss of pairs; dev = the best of 13 from 0.1 to 100000 on the development lists",
    )
    loss: Literal["l1", "l2"] = setting("l2", "loss of a pair: hinge (l1) or squared hinge (l2)")
    margin: MarginName = setting("even", "g: 1 (even), 1/p - 1/q (uneven), or the difference of the labels")
    margin_power: float = setting(1.0, "uneven: 1/p^a - 1/q^a", gt=0)
    pairs: PairChoice = pairs_setting()
    list_balance: bool = balance_setting()
    tolerance: float = tolerance_setting()
    iterations: int = setting(200, "maximum number of Newton steps per minimum", ge=1)

    def part(self, lists: CandidateLists, inputs: FitInputs, surveys: Sequence[Any]) -> PairPart:
        margin = Margin(self.margin, self.margin_power)
        pairs, weight = weighted_pairs(lists, inputs.list_weights, PairRelation(self.pairs), margin)
        neighbours = self.pairs == "neighbours"
        return PairPart(lists.features, pairs, weight, neighbours=neighbours, balanced=self.list_balance)

    def _problem(self, parts: Parts, lists: CandidateLists, inputs: FitInputs) -> _PairProblem:
        try:
            loss, part, facts = PairSums.of(parts, lists.n_features, uneven=self.margin != "even")
        except OverflowError:
            raise FitError(f"{lists.source}: margins overflow") from None
        data = DataRecord(pairs=facts.n_pairs, lists_without_pair=parts.n_lists - facts.lists)
        return _PairProblem(loss=loss, part=part, squared=self.loss == "l2", data=data)


@dataclass(frozen=True, eq=False, kw_only=True)
class _PairProblem(Problem):
    """The loss of pairs, and that of a part of them, whose minimum is a start."""

    loss: PairSums
    part: PairSums | None
    squared: bool

    def minimum(self, learner: ConvexLearner, strength: float, start: Floats | None, free: Mask) -> Minimum:
        tolerance, most = learner.tolerance, learner.iterations
        tasks = [(self.loss, tolerance)]
        if start is None and self.part is not None:
            tasks.insert(0, (self.part, max(tolerance, _ROUGH)))
        w = np.zeros(len(free)) if start is None else start
        try:
            for loss, enough in tasks:
                given = loss, strength, w
                found = minimise(*given, squared=self.squared, tolerance=enough, iterations=most)
                w = found.w
        except OverflowError:
            raise OverflowError(f" with C = {strength:g}") from None
        return found
