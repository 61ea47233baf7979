"""Metrics that are watched while a learner of examples with classes is fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import Floats
from rerank.data.classes import ClassLabels, class_lists, example_of
from rerank.data.columns.class_sets import coder
from rerank.data.judge import Metric, PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner


class ClassesJudge:
    """A metric prepared for examples with classes; see ``data.judge.PreparedMetric``.

    It takes predictions as scores of the classes of the training examples by item, as
    ``ClassesModel.candidates`` returns them, and judges them as ``rerank eval`` judges their text.

    Parameters
    ----------
    metric
        What judges lists of candidate classes.
    lists
        The examples.
    names
        The classes of the training examples.
    """

    def __init__(self, metric: Metric, lists: CandidateLists, names: tuple[str, ...]) -> None:
        expanded, _ = class_lists(lists, {}, known=names)
        assert expanded.classes is not None
        self.judge: PreparedMetric = metric.prepare(expanded)
        self.lists = lists
        self.m = int(expanded.lengths[0])
        code_of = coder(list(expanded.classes.take(np.arange(self.m))))
        self.columns = np.array([code_of(name) for name in names], dtype=np.int64)

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.judge.name

    @property
    def signature(self) -> str:
        """Everything that changes the number."""
        return self.judge.signature

    @property
    def better(self) -> int:
        """1 if a larger value is better, -1 if a smaller one is."""
        return self.judge.better

    def per_list(self, scores: Floats) -> Floats:
        """Return the statistics of each example in the order of the caller's rows: float64 (n_items, k).

        ``scores`` are float64 (n_items, n_names). Classes that only these examples have are not predicted.
        """
        expected = (self.lists.n_items, len(self.columns))
        if scores.shape != expected:
            raise DataError(f"{self.lists.source}: scores have shape {scores.shape}, expected {expected}")
        given = self.lists.input_order(scores)
        others = np.minimum(given.min(axis=1, keepdims=True), 0.0)  # below 0 if the prediction is REJECT
        every = np.repeat(others, self.m, axis=1)
        every[:, self.columns] = given
        return self.judge.per_list(every.ravel())

    def score_from_sums(self, sums: Floats) -> Floats | float:
        """Return the metric of summed statistics: (..., k) to (...)."""
        return self.judge.score_from_sums(sums)


@dataclass(frozen=True)
class WatchedClasses:
    """A metric of predicted classes, and the classes that can be predicted; see ``data.judge.Metric``."""

    metric: Metric
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def prepare(self, lists: CandidateLists) -> ClassesJudge:
        """Return the judge of examples; DataError if they have no classes, or not those that it needs."""
        return ClassesJudge(self.metric, lists, self.names)


def check_metric(metric: Metric, learner: Learner) -> None:
    """Raise ConfigError if a metric does not judge what a learner of classes predicts."""
    if getattr(metric, "of_classes", False) == learner.ranks_classes:
        expected, predicted = "zero-one, Hamming, error-set or difference", "classes"
        if learner.ranks_classes:
            expected, predicted = "a metric of rankings (nDCG, AP, RR)", "rankings of classes"
        why = f"learner {learner.name} predicts {predicted} with these settings"
        raise ConfigError(f"metric: found {metric.name}, expected {expected}: {why}")


def watched_classes(
    metric: Metric, learner: Learner, lists: CandidateLists, dev: CandidateLists | None
) -> WatchedClasses:
    """Return how a metric is watched.

    A DataNote reports classes that only development examples have. No prediction can have them, and the
    metric judges it without them.

    Parameters
    ----------
    metric
        ``check_metric`` accepts it.
    learner
        What is fitted.
    lists, dev
        Training and development examples.

    Raises
    ------
    DataError
        If examples have no classes, or a ranking of classes cannot have one of a development example.
    """
    names = ClassLabels.of(lists).names
    if dev is not None:
        found = ClassLabels.of(dev)
        code_of = coder(names)
        new = [code for code, name in enumerate(found.names) if code_of(name) is None]
        if new:
            item = int(np.searchsorted(found.offsets, np.argmax(found.codes == new[0]), side="right")) - 1
            what = count(len(new), "class", "classes")
            which = f"{some([found.names[code] for code in new])} (such as {example_of(dev, item)})"
            text = f"{dev.source}: {what} that no training example has: {which}"
            if learner.ranks_classes:
                raise DataError(f"{text}, which a predicted ranking of all classes would lack")
            warnings.warn(f"{text}; no prediction can have them", DataNote, stacklevel=3)
    return WatchedClasses(metric, names)
