"""Ranking SVM: a linear model with a large margin between the items of each pair."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rerank.core.errors import DataNote, FitError
from rerank.core.settings import setting
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, Pairs, make_pairs
from rerank.learners.base import LEARNERS, FitInputs, Learner, checked_list_weights
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.pair_loss import Minimum, PairLoss, minimise
from rerank.learners.regularization_path import (
    Strength,
    check_strength,
    linear_minimum,
    path,
    require_dev,
    watched,
)
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.training import DataRecord

PairChoice = Literal["all", "neighbours"]


def pairs_setting() -> Any:
    """Return the setting ``pairs``, a name of data.pairs.PairRelation."""
    return setting(
        "all", "every two items with different labels, or only those whose labels are next to one another"
    )


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


_STEP = 16  # one of so many lists is in it
_LISTS = 16  # at least: a smaller part costs more than it saves
_ITEMS = 20  # for each feature at least: with fewer its minimum may be far away


def part_of(pairs: Pairs, weight: Floats, n_features: int) -> tuple[Pairs, Floats] | None:
    """Return the pairs of evenly spaced lists, and their weights of sum 1; None if there are too few.

    - ``pairs``: of all lists.
    - ``weight``: float64 (pairs.n_lists): the weight of each pair of a list.
    - ``n_features``: the number of weights to learn.
    """
    chosen = np.arange(0, pairs.n_lists, _STEP)
    if len(chosen) < _LISTS:
        return None
    part = pairs.subset(chosen)
    total = deterministic_dot(weight[chosen], part.counts.astype(np.float64))
    if len(part.items) < _ITEMS * n_features or not total > 0:
        return None
    return part, weight[chosen] / total


STRENGTHS = tuple(10.0 ** (k / 2) for k in range(-2, 11))  # 0.1 to 100,000, two for each factor of ten
_ROUGH = 1e-2  # tolerance of a minimum that is only a start


@LEARNERS.register("ranksvm")
class RankSVM(Learner):
    """Linear ranking SVM: |w|² / 2 + C * the mean over pairs of max(0, 1 - w·(x - x'))^p is minimised.

    A pair is two items of one list, x with the larger label. p is 1 (loss=l1, the hinge) or 2 (loss=l2). In
    the mean every list counts as much as another: a pair of list i has the weight 1 / (lists * pairs of i).
    With list_balance=false every pair has the weight 1 / pairs, so that C is that of dlib. An SVM of the
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
    Chapelle, Keerthi: Efficient algorithms for ranking with SVMs. Information Retrieval 13, 2010.
    """

    name = "ranksvm"
    summary = "ranking SVM: a large margin between the items of every pair, without storing pairs"
    source = "Joachims 2002; Chapelle & Keerthi 2010"
    default_scaling = "zscore"
    accepts_list_weights = True

    C: Strength = setting(
        10.0,
        "weight of the mean loss of pairs; dev = the best of 13 from 0.1 to 100000 on the development lists",
    )
    loss: Literal["l1", "l2"] = setting(
        "l2", "loss of a pair: hinge (l1) or squared hinge (l2), with margin 1"
    )
    pairs: PairChoice = pairs_setting()
    list_balance: bool = balance_setting()
    tolerance: float = tolerance_setting()
    iterations: int = setting(200, "maximum number of Newton steps per minimum", ge=1)

    def check_values(self) -> None:
        check_strength("C", self.C)

    @property
    def chooses_on_dev(self) -> bool:
        return self.C == "dev"

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        if self.C == "dev":
            require_dev(self.name, "C", inputs)
        pairs = make_pairs(lists, PairRelation(self.pairs))
        if pairs.n_lists == 0:
            raise FitError(f"{lists.source}: no list has two different labels")
        weight = self._weights(lists, pairs, inputs.list_weights)
        fits = _Fits(self, lists, pairs, weight)
        watch = Rounds(lists, inputs, "best" if self.C == "dev" else "last")
        if self.C == "dev":
            found = watched(path(STRENGTHS, fits.minimum), watch, on_dev=True)
        else:
            found = fits.minimum(float(self.C), None)
        fits.report(found)
        facts = {"iterations": fits.iterations, "loss": found.minimum.loss, "C": found.strength}
        model = linear_minimum(lists, inputs, found.weights, watch, **facts)
        model.training.data = DataRecord(pairs=pairs.n_pairs, lists_without_pair=pairs.n_skipped)
        return model

    def _weights(self, lists: CandidateLists, pairs: Pairs, given: Floats | None) -> Floats:
        """The weight of a pair of each list, float64 (pairs.n_lists), of sum 1 over all pairs."""
        weight = checked_list_weights(given, lists)[pairs.lists]
        if not weight.any():
            raise FitError(f"{lists.source}: every list with two different labels has weight 0")
        weight /= weight.max()  # sums do not overflow
        counts = pairs.counts.astype(np.float64)
        return (
            weight / counts / weight.sum()
            if self.list_balance
            else weight / deterministic_dot(weight, counts)
        )


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A minimum and its C."""

    strength: float
    minimum: Minimum

    @property
    def weights(self) -> Floats:
        return self.minimum.w

    def row(self) -> dict[str, float]:
        """Return what the learning curve has of it."""
        found = self.minimum
        return {
            "C": self.strength,
            "iterations": found.iterations,
            "loss": found.loss,
            "objective": found.objective,
        }


class _Fits:
    """Minima of the loss of the same pairs under several C."""

    def __init__(self, learner: RankSVM, lists: CandidateLists, pairs: Pairs, weight: Floats) -> None:
        self.learner = learner
        self.lists = lists
        self.iterations = 0
        self._loss = self._loss_of(pairs, weight)
        part = part_of(pairs, weight, lists.n_features)
        self._part = None if part is None else self._loss_of(*part)

    def _loss_of(self, pairs: Pairs, weight: Floats) -> PairLoss:
        return PairLoss(self.lists.features, pairs, weight, neighbours=self.learner.pairs == "neighbours")

    def minimum(self, strength: float, before: _Fitted | None) -> _Fitted:
        """Return the minimum under C, searched from the one before, or from that of a part of the lists.

        Raises FitError if a value overflows.
        """
        start = np.zeros(self.lists.n_features) if before is None else before.weights
        tolerance = self.learner.tolerance
        try:
            if before is None and self._part is not None:
                start = self._minimum(self._part, strength, start, max(tolerance, _ROUGH)).w
            found = self._minimum(self._loss, strength, start, tolerance)
        except OverflowError:
            text = f"{self.lists.source}: the loss overflows with C = {strength:g}"
            raise FitError(f"{text}; scale the features (--scaling)") from None
        self.iterations += found.iterations
        return _Fitted(strength, found)

    def _minimum(self, loss: PairLoss, strength: float, start: Floats, tolerance: float) -> Minimum:
        squared, iterations = self.learner.loss == "l2", self.learner.iterations
        return minimise(loss, strength, start, squared=squared, tolerance=tolerance, iterations=iterations)

    def report(self, found: _Fitted) -> None:
        """Warn if nothing was learnt, or the minimum was not reached."""
        minimum, source = found.minimum, self.lists.source
        if not minimum.converged:
            share = minimum.gap / minimum.objective
            text = f"{source}: ranksvm stopped after {count(minimum.iterations, 'iteration')}"
            text += f", up to {share:.2%} of the objective above the minimum"
            warnings.warn(text, DataNote, stacklevel=4)
        elif not minimum.w.any():
            warnings.warn(f"{source}: ranksvm learnt nothing, all weights are 0", DataNote, stacklevel=4)
