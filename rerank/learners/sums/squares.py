"""Squares of what labels are apart from scores, summed over parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rerank.core.system import added
from rerank.core.types import Floats
from rerank.learners.deterministic import deterministic_dot
from rerank.learners.penalised import Intercept
from rerank.learners.sums.judged import ItemFacts, JudgedItems
from rerank.learners.sums.parts import Parts


class SquareSums(NamedTuple):
    """Sums over the items of a part, around their own intercept.

    Attributes
    ----------
    mean, loss
        That intercept, and the sum of weight * square.
    slope
        float64 (n_features): the sum of the features times weight * what they lack to their label.
    """

    mean: float
    loss: float
    slope: Floats


class Squares:
    """The squares of one part: weight * (label / unit - w·x - b)².

    - ``items``: the judged items.
    - ``by_list``: whether each list has a b of its own.
    """

    def __init__(self, items: JudgedItems, by_list: bool) -> None:
        self.items = items
        self._starts = items.offsets[:-1] if by_list else np.zeros(1, dtype=np.int64)
        self._sizes = np.diff(items.offsets) if by_list else np.array([len(items.labels)])
        self._total = np.add.reduceat(items.weight, self._starts)
        self._targets = 1.0, items.labels

    def facts(self) -> ItemFacts:
        """Return what is known of the items."""
        return ItemFacts.of(self.items)

    def columns(self) -> Floats:
        """Return the weighted sum of the features, float64 (n_features)."""
        return self.items.features.transposed_product(self.items.weight)

    def mean(self, weights: Floats, unit: float) -> float:
        """Return the best b for weights (n_features)."""
        return float(self._means(self._lacking(weights, unit))[0])

    def sums(self, weights: Floats, unit: float) -> SquareSums:
        """Return the sums for weights (n_features), around the best b; ``mean`` is that of the first list."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._lacking(weights, unit)
            least = np.minimum.reduceat(values, self._starts)
            shifted = values - np.repeat(least, self._sizes)  # exactly 0 where all are equal
            means = self._means(shifted)
            rest = shifted - np.repeat(means, self._sizes)
            slope = self.items.weight * rest
            loss = deterministic_dot(slope, rest)
            return SquareSums(float(least[0] + means[0]), loss, self.items.features.transposed_product(slope))

    def _lacking(self, weights: Floats, unit: float) -> Floats:
        if self._targets[0] != unit:
            self._targets = unit, self.items.labels / unit
        return self._targets[1] - self.items.features.scores(weights)

    def _means(self, values: Floats) -> Floats:
        """The weighted means (1 or n_lists) of values (n_items)."""
        means: Floats = np.add.reduceat(self.items.weight * values, self._starts) / self._total
        return means


class SquareLoss(Intercept):
    """The sum over parts of weight * (label / unit - w·x - b)² and its gradient, with the best b for every w.

    - ``parts``: ``Squares``.
    - ``weights``: the summed weight of the items of each.
    - ``unit``: of the labels.
    - ``by_list``: whether each list has a b of its own.
    """

    def __init__(self, parts: Parts, weights: list[float], unit: float, by_list: bool) -> None:
        self._parts, self._weights, self._unit = parts, weights, unit
        self._columns = None if by_list or len(parts) == 1 else parts.each(Squares.columns)

    def at(self, weights: Floats) -> float:
        """Return b for weights (n_features)."""
        return self._parts.once(
            (weights,), lambda: self._mean(self._parts.each(Squares.mean, weights, self._unit))
        )

    def _mean(self, means: list[float]) -> float:
        apart = (weight * (mean - means[0]) for mean, weight in zip(means, self._weights, strict=True))
        return means[0] + added(apart) / added(self._weights)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """Return the loss at weights (n_features), and its gradient, a new array."""
        return self._parts.once((weights,), lambda: self._summed(weights))

    def _summed(self, weights: Floats) -> tuple[float, Floats]:
        found = self._parts.each(Squares.sums, weights, self._unit)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, slope = found[0].loss, found[0].slope
            for more in found[1:]:
                loss += more.loss
                slope += more.slope
            if self._columns is not None:  # from the intercepts of the parts to that of all
                mean = self._mean([one.mean for one in found])
                for one, weight, columns in zip(found, self._weights, self._columns, strict=True):
                    loss += weight * (one.mean - mean) ** 2
                    slope += (one.mean - mean) * columns
            return loss, -2.0 * slope
