"""What the online learners over single graded items share.

Every judged item is an example of its own and its label a grade that means the same in every list;
the lists matter only to the judges.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.types import Floats, Index, Ints
from rerank.errors import FitError
from rerank.learners.base import FitInputs, Learner
from rerank.learners.rounds import Rounds
from rerank.models.base import Model
from rerank.models.linear import ThresholdModel
from rerank.models.training import DataRecord
from rerank.native.learners import _ordinal
from rerank.settings import setting

Cut = tuple[Floats, Floats]

MOST_GRADES = 1000


@dataclass(frozen=True, eq=False)
class GradedItems:
    """The judged items of lists.

    features : of all items. rows : int64 (n_judged). grades : int32 (n_items), 0 the lowest, read at
    ``rows`` only. labels : float64 (k), what the grades are called. radius2 : the largest squared norm
    of a judged item. reach : the largest sum of the magnitudes of its features.
    """

    source: str
    features: Features
    rows: Index
    grades: Ints
    labels: Floats
    radius2: float
    reach: float

    @classmethod
    def of(cls, lists: CandidateLists, relevant: float | None = None) -> GradedItems:
        """Grades by the distinct labels, or 1 for labels >= ``relevant`` and 0 below.

        Raises FitError where there is only one grade, or so many that labels are no grades.
        """
        assert lists.labels is not None, "Learner.fit refuses lists without labels"
        judged = ~np.isnan(lists.labels)
        rows = np.flatnonzero(judged).astype(np.int64)
        values = lists.labels[rows]
        if relevant is None:
            labels, found = _by_value(values, lists.source)
        else:
            labels, found = np.array([0.0, 1.0]), (values >= relevant).astype(np.int64)
            if found.min() == found.max():
                side = "every" if found[0] else "no"
                raise FitError(
                    f"{lists.source}: {side} judged item has a label of {relevant:g} or more, "
                    "so there are no two classes (setting relevant)"
                )
        grades = np.full(lists.n_items, -1, dtype=np.int32)
        grades[rows] = found
        features = lists.features
        radius2, reach = _ordinal.extent(features.matrix(), rows)
        return cls(lists.source, features, rows, grades, labels, radius2, reach)

    def check(self, *cuts: Cut) -> None:
        """Raises FitError where weights, thresholds or scores of judged items may have overflowed."""
        for weights, thresholds in cuts:
            largest = float(np.abs(weights).max(initial=0.0))
            if np.isfinite(largest * max(self.reach, 1.0)) and np.isfinite(thresholds).all():
                continue
            raise FitError(f"{self.source}: the scores overflow; scale the features (--scaling)")


def _by_value(values: Floats, source: str) -> tuple[Floats, Index]:
    labels, grades = np.unique(values, return_inverse=True)
    if len(labels) == 1:
        raise FitError(
            f"{source}: every judged item has the label {labels[0]:g}: no two grades to tell apart"
        )
    if len(labels) > MOST_GRADES:
        raise FitError(
            f"{source}: {len(labels)} distinct labels, which look real-valued; "
            f"this learner takes up to {MOST_GRADES} grades"
        )
    return labels, grades.astype(np.int64)


class Passes(Protocol):
    """The moving parts of a learner over single items."""

    def run(self, visits: Index) -> dict[str, int]:
        """One pass over the items at ``visits``; counts for the learning curve, ``updates`` among them."""
        ...

    def cut(self, average: bool) -> Cut:
        """Weights and thresholds as they are, or their mean over the examples seen, in new arrays."""
        ...

    def settled(self) -> bool:
        """Whether, after a pass without an update, no later pass can bring one."""
        ...


class ItemLearner(Learner):
    """Base of the online learners over single items: their rounds, order and mean."""

    in_rounds: ClassVar[bool] = True

    rounds: int = setting(30, "passes over the items at most; it ends when all are learnt", ge=1)
    average: Literal["last", "average"] = setting(
        "average", "mean of weights and thresholds over all examples seen, or the last ones"
    )
    keep: Literal["last", "best", "train"] = setting(
        "last", "the last round, or the best by the metric on the dev or on the training lists"
    )
    shuffle: bool = setting(True, "visit the items in a new random order each round")
    seed: int = setting(1, "of the random order", ge=0)

    @abstractmethod
    def _items(self, lists: CandidateLists) -> GradedItems:
        """The examples in ``lists``."""

    @abstractmethod
    def _passes(self, items: GradedItems) -> Passes:
        """The learner's state before the first pass."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        items = self._items(lists)
        passes = self._passes(items)
        watch = Rounds(lists, inputs, self.keep)
        rng = np.random.default_rng(self.seed)
        converged = False
        cut = passes.cut(False)
        for _ in range(self.rounds):
            counts = passes.run(rng.permutation(items.rows) if self.shuffle else items.rows)
            with np.errstate(over="ignore", invalid="ignore"):
                cut = passes.cut(self.average == "average")
                items.check(passes.cut(False), cut)
            watch.record(cut, _linear_scores, **counts)
            if counts["updates"] == 0 and passes.settled():
                converged = True
                break
        (weights, thresholds), rounds = watch.kept(cut, converged=converged)
        model = ThresholdModel(lists.names(), weights, thresholds, items.labels)
        model.curve = watch.curve
        model.training.rounds = rounds
        model.training.data = DataRecord(judged=len(items.rows), grades=len(items.labels))
        return model


def _linear_scores(cut: Cut, lists: CandidateLists) -> Floats:
    return lists.features.scores(cut[0])
