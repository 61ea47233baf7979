"""Measures of predicted classes and sets of classes: 0-1, Hamming, error-set size, absolute difference.

They judge lists of candidate classes, as ``data.classes.class_lists`` makes them of examples and predictions.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import ArrayLike, Floats, Mask
from rerank.data.classes import class_values
from rerank.data.judge import labels_of
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Metric, Preparation, register, value_text
from rerank.metrics.judges import ReportJudge, Stage, checked_scores, signed


@dataclass(frozen=True, eq=False)
class PredictedSets:
    """``has``: bool (n_examples, n_classes); ``rejected``: bool (n_examples)."""

    has: Mask
    rejected: Mask


class ClassSets(Stage):
    """The set of classes of each example, and those that scores predict.

    Raises DataError if the lists are not lists of candidate classes.
    """

    def __init__(self, lists: CandidateLists) -> None:
        super().__init__(lists)
        labels, m = labels_of(lists), int(lists.lengths[0])
        if lists.classes is None:
            raise DataError(f"{lists.source}: no classes to measure against (--classes)")
        self.names = list(lists.classes.take(np.arange(m)))
        every = np.tile(np.arange(m), lists.n_lists)
        if np.any(lists.lengths != m) or lists.classes != lists.classes.take(every):
            raise DataError(f"{lists.source}: lists of different classes, expected all classes in each")
        self.has: Mask = labels.reshape(-1, m) > 0

    def place(self, scores: ArrayLike) -> PredictedSets:
        values = checked_scores(scores, self.lists.n_items).reshape(self.has.shape)
        return PredictedSets(values > 0, np.all(values < 0, axis=1))


class ClassMetric(Metric):
    """A mean over examples of a loss of the predicted classes."""

    needs = ("labels", "classes")
    of_classes = True
    better = -1

    @abstractmethod
    def losses(self, sets: ClassSets, found: PredictedSets) -> Floats:
        """Return the loss of each example, float64 (n_examples)."""

    def check(self, sets: ClassSets) -> None:
        """Raise DataError if the examples have no such loss."""

    def formula(self, sets: ClassSets) -> list[str]:
        """Return what else changes the number, for the signature."""
        return [f"reject:{value_text(self.reject)}"] if hasattr(self, "reject") else []

    def prepare_in(self, preparation: Preparation) -> ClassJudge:
        sets = preparation.of_lists(ClassSets)
        self.check(sets)
        return ClassJudge(self, sets)

    def refuse_rejections(self, sets: ClassSets, found: PredictedSets) -> None:
        """Raise DataError at the first rejected example."""
        if found.rejected.any():
            row = int(np.argmax(found.rejected)) + 1
            raise DataError(f"{sets.lists.source}: example {row} is REJECT, which has no {self.family}")


class ClassJudge(ReportJudge):
    """Judges predicted sets of classes by a mean loss; there is no random prediction to compare with."""

    stage: ClassSets

    def __init__(self, metric: ClassMetric, sets: ClassSets) -> None:
        super().__init__(metric.name, signed(metric.name, "mean:examples", *metric.formula(sets)), sets)
        self.metric = metric
        self.better = metric.better
        self.judged = np.ones(len(sets.has), dtype=bool)

    def of(self, placed: PredictedSets) -> Floats:
        return np.column_stack([self.metric.losses(self.stage, placed), np.ones(len(placed.has))])

    def random(self) -> float:
        """Return NaN: which classes a random prediction has is not defined."""
        return float("nan")

    def oracle(self) -> float:
        """Return 0, the loss of the true classes."""
        return 0.0


def _reject() -> float:
    cost: float = setting(1.0, "the loss of REJECT", ge=0)
    return cost


@register("zero-one", "zero-one-loss")
class ZeroOne(ClassMetric):
    """The share of examples whose predicted classes are not exactly the true ones."""

    summary = "share of examples whose classes are not all right"
    meaning = "1 for an example whose predicted classes are not exactly its own, else 0. 0 to 1."
    source = "rerank"
    elsewhere = "1 - accuracy_score of scikit-learn: equal"
    examples = ("zero-one", "zero-one(reject=0.25)")
    reject: float = _reject()

    def losses(self, sets: ClassSets, found: PredictedSets) -> Floats:
        wrong = np.any(sets.has != found.has, axis=1).astype(np.float64)
        wrong[found.rejected] = self.reject
        return wrong


@register("Hamming", "hamming-loss")
class Hamming(ClassMetric):
    """The number of classes that are predicted or true, but not both."""

    summary = "mean number of classes that are predicted or true but not both"
    meaning = (
        "The number of classes that are predicted or true, but not both; with per=class it is divided by "
        "the number of classes."
    )
    source = "Schapire & Singer 2000"
    elsewhere = "hamming_loss of scikit-learn: equal with per=class"
    examples = ("Hamming", "Hamming(per=class)")
    per: Literal["example", "class"] = setting(
        "example", "the number for an example, or that divided by the number of classes"
    )

    def losses(self, sets: ClassSets, found: PredictedSets) -> Floats:
        self.refuse_rejections(sets, found)
        wrong = np.count_nonzero(sets.has != found.has, axis=1).astype(np.float64)
        return wrong / sets.has.shape[1] if self.per == "class" else wrong

    def formula(self, sets: ClassSets) -> list[str]:
        return [f"per:{self.per}", f"classes:{len(sets.names)}"]


@register("error-set", "error-set-size")
class ErrorSet(ClassMetric):
    """The number of pairs of a true class that is not predicted and a predicted one that is not true."""

    summary = "mean number of pairs of a missed class and a wrong one"
    meaning = (
        "The number of true classes that are not predicted, times the number of predicted classes that "
        "are not true."
    )
    source = "Schapire & Singer 2000"
    examples = ("error-set",)

    def losses(self, sets: ClassSets, found: PredictedSets) -> Floats:
        self.refuse_rejections(sets, found)
        missed = np.count_nonzero(sets.has & ~found.has, axis=1).astype(np.float64)
        return missed * np.count_nonzero(found.has & ~sets.has, axis=1)


@register("difference", "absolute-difference")
class Difference(ClassMetric):
    """The absolute difference of the predicted class and the true one, both numbers."""

    summary = "mean |predicted - true| of classes that are numbers"
    meaning = "The absolute difference of the predicted and the true class, both numbers."
    source = "rerank"
    elsewhere = "mean_absolute_error of scikit-learn: equal"
    examples = ("difference", "difference(reject=2)")
    reject: float = _reject()

    def check(self, sets: ClassSets) -> None:
        class_values(sets.names)
        self._check_single(sets, sets.has, "has", np.zeros(len(sets.has), dtype=bool))

    def losses(self, sets: ClassSets, found: PredictedSets) -> Floats:
        self._check_single(sets, found.has, "is given", found.rejected)
        values = class_values(sets.names)
        apart = np.abs(values[found.has.argmax(axis=1)] - values[sets.has.argmax(axis=1)])
        apart[found.rejected] = self.reject
        return apart

    def _check_single(self, sets: ClassSets, has: Mask, verb: str, rejected: Mask) -> None:
        """Raise DataError at the first example without exactly one class that is not rejected."""
        sizes = np.where(rejected, 1, np.count_nonzero(has, axis=1))
        if np.any(sizes != 1):
            row = int(np.argmax(sizes != 1))
            raise DataError(
                f"{sets.lists.source}: example {row + 1} {verb} {sizes[row]} classes, {self.family} needs one"
            )
