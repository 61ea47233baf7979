"""What the online learners over single graded items share.

Every judged item is one example. Its label is a grade that means the same in every list; only the
judges use the lists.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from rerank.core.errors import FitError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Ints
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import FitInputs, Learner
from rerank.learners.rounds import KEEP_HELP, Keep, Resumable, Rounds
from rerank.models.base import Model
from rerank.models.linear import ThresholdModel
from rerank.models.training import DataRecord
from rerank.native.learners import _ordinal

Cut = tuple[Floats, Floats]

MOST_GRADES = 1000


@dataclass(frozen=True, eq=False)
class GradedItems:
    """The judged items of lists.

    Attributes
    ----------
    source
        The lists, for messages.
    features
        Of all items.
    rows
        The judged items, int64 (n_judged).
    grades
        int32 (n_items), 0 is the lowest; valid at ``rows`` only.
    labels
        The label of each grade, float64 (k).
    radius2
        The largest squared norm of a judged item.
    reach
        The largest sum of the magnitudes of a judged item's features.
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
        """Return the judged items with grades by the distinct labels.

        Parameters
        ----------
        lists
            Lists with labels.
        relevant
            If given, grades are 1 for labels from this one on and 0 below.

        Raises
        ------
        FitError
            If there is only one grade, or so many that labels cannot be grades.
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
        """Raise FitError if weights, thresholds or scores of judged items may have overflowed."""
        for weights, thresholds in cuts:
            largest = float(np.abs(weights).max(initial=0.0))
            if np.isfinite(largest * max(self.reach, 1.0)) and np.isfinite(thresholds).all():
                continue
            raise FitError(f"{self.source}: the scores overflow; scale the features (--scaling)")


def _by_value(values: Floats, source: str) -> tuple[Floats, Index]:
    labels, grades = np.unique(values, return_inverse=True)
    if len(labels) == 1:
        raise FitError(
            f"{source}: every judged item has the label {labels[0]:g}: there are no two grades to separate"
        )
    if len(labels) > MOST_GRADES:
        raise FitError(
            f"{source}: {len(labels)} distinct labels, which look real-valued; "
            f"this learner accepts at most {MOST_GRADES} grades"
        )
    return labels, grades.astype(np.int64)


class Passes(Resumable, Protocol):
    """The state of a learner over single items."""

    def run(self, visits: Index) -> dict[str, int]:
        """Learn from the items at ``visits``; return counts for the learning curve, including ``updates``."""
        ...

    def cut(self, average: bool) -> Cut:
        """Return the last weights and thresholds, or their mean over the examples seen, in new arrays."""
        ...

    def settled(self) -> bool:
        """Return whether, after a pass without an update, no later pass can make one."""
        ...


class ItemLearner(Learner):
    """Base of the online learners over single items: rounds, order of visits and averaging."""

    iterates: ClassVar = "epochs"
    renamed: ClassVar = {"rounds": "epochs"}
    resumable: ClassVar[bool] = True

    epochs: int = setting(30, "maximum number of epochs; training stops after an epoch without updates", ge=1)
    average: Literal["last", "average"] = setting(
        "average", "the last weights and thresholds, or their mean over all examples seen"
    )
    keep: Keep = setting("last", KEEP_HELP)
    shuffle: bool = setting(True, "visit the items in a new random order in each epoch")
    seed: int = setting(1, "seed of the random order", ge=0)

    @abstractmethod
    def _items(self, lists: CandidateLists) -> GradedItems:
        """Return the examples in ``lists``."""

    @abstractmethod
    def _passes(self, items: GradedItems) -> Passes:
        """Return the state before the first pass."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        items = self._items(lists)
        passes = self._passes(items)
        watch = Rounds(lists, inputs, self.keep)
        rng = np.random.default_rng(self.seed)
        orders = (rng.permutation(items.rows) if self.shuffle else items.rows for _ in range(self.epochs))
        for visits in watch.each(orders, self.epochs, passes, unit="epoch"):
            counts = passes.run(visits)
            with np.errstate(over="ignore", invalid="ignore"):
                cut = passes.cut(self.average == "average")
                items.check(passes.cut(False), cut)
            watch.record(cut, _linear_scores, **counts)
            if watch.settled and passes.settled():
                break
        cut = passes.cut(self.average == "average")
        converged = watch.settled and passes.settled()
        (weights, thresholds), rounds = watch.kept(cut, converged=converged)
        model = ThresholdModel(lists.names(), weights, thresholds, items.labels)
        model.curve = watch.curve
        model.training.rounds = rounds
        model.training.data = DataRecord(judged=len(items.rows), grades=len(items.labels))
        return model


def _linear_scores(cut: Cut, lists: CandidateLists) -> Floats:
    return lists.features.scores(cut[0])
