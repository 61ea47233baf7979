"""Restarts of a tuner: where they end, and what is recorded of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from rerank.core import checkpoints
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.vectors import inner
from rerank.models.training import RestartRecord, SpreadRecord


@dataclass(frozen=True)
class End:
    """Where a restart ended.

    weights : (n_features) with an L1 norm of 1, or near it. start, value : the metric at the start and at
    the end. begun, objective : the same with the penalty; larger is better.
    """

    weights: Floats
    start: float
    begun: float
    value: float
    objective: float
    steps: int
    searches: int

    def record(self, restart: int, dev: float | None) -> RestartRecord:
        """Return the row that is reported for it."""
        return RestartRecord(
            restart=restart,
            start=self.start,
            train=self.value,
            steps=self.steps,
            searches=self.searches,
            dev=dev,
        )


def kept_end(find: Callable[[], End]) -> End:
    """Return the end that ``find`` returns, or the one that a checkpoint has kept in its place."""
    place = checkpoints.place()
    if place is not None and place.state is not None:
        with place.restoring() as state:
            return End(**state)
    end = find()
    if place is not None:
        place.keep({one.name: getattr(end, one.name) for one in fields(end)})
    return end


def best_first(ends: list[End]) -> list[End]:
    """Return ends by descending objective; ties stay in their order."""
    return sorted(ends, key=lambda end: -end.objective)


def shrunk(weights: Floats) -> Floats:
    """Return weights divided by a power of two so that the largest is about 1, which changes no choice."""
    largest = float(np.abs(weights).max(initial=0.0))
    return weights / 2.0 ** np.floor(np.log2(largest)) if 0 < largest < np.inf else weights


def unit_vector(weights: Floats) -> Floats:
    """Return weights of length 1, or zeros."""
    near_one = shrunk(weights)
    length = inner(near_one, near_one) ** 0.5
    return near_one / length if length > 0 else near_one


def metric_value(
    judge: PreparedMetric, lists: CandidateLists, weights: Floats, list_weights: Floats | None = None
) -> float:
    """Return the metric of a linear model over all lists, each with its list weight if there are any."""
    return value_of(judge, lists.features.scores(weights), list_weights)


def dev_value(inputs: FitInputs, weights: Floats) -> float | None:
    """Return the metric on the development lists, None if there are none."""
    return None if inputs.dev is None else metric_value(inputs.dev[1], inputs.dev[0], weights)


def spread_of(ends: list[End], names: list[str]) -> tuple[SpreadRecord, ...]:
    """Return how much the weights of the better half of the restarts differ, feature by feature."""
    half = best_first(ends)[: (len(ends) + 1) // 2]
    weights = np.array([end.weights for end in half])
    columns = zip(names, weights.min(axis=0), weights.max(axis=0), weights.std(axis=0), strict=True)
    return tuple(SpreadRecord(feature=name, min=low, max=high, sd=sd) for name, low, high, sd in columns)
