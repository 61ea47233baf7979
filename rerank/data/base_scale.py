"""The scale of the base score: how much of it a learner sees beside all other features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import auto_or_positive
from rerank.data.base_scores import base_column, base_scores_of
from rerank.data.lists import CandidateLists
from rerank.native.data._matrix import Difference
from rerank.native.data._spread import Spread, squares_within

BaseScale = float | Literal["auto"]


@dataclass(frozen=True)
class ScaledColumn:
    """A feature that is the base score, and the factor by which a learner sees it multiplied."""

    index: int
    factor: float

    def apply(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with the column multiplied; DataError if a value overflows."""
        features = lists.features.multiplied(self.index, self.factor)
        return lists.with_values(features, f"base_scale {self.factor:g}")


def checked_scale(value: object) -> BaseScale:
    """Return a base scale, also from text; raise ConfigError if it is not "auto" or a number above 0."""
    scale = auto_or_positive(value)
    if scale is None:
        raise ConfigError(f"base_scale: found {value!r}, expected auto or a number above 0")
    return scale


def column_to_scale(lists: CandidateLists) -> int:
    """Return the feature of raw ``lists`` that is the base score.

    Raises ConfigError if no feature is, with what to do.
    """
    if lists.base_scores is not None and np.isfinite(lists.base_scores).all():
        found = base_column(lists)
        if found is not None:
            return found.index
        advice = "add it as one ('rerank append', CandidateLists.with_added), or leave base_scale at 1"
        raise ConfigError(f"{lists.source}: base_scale: no feature is the first stage's score: {advice}")
    base_scores_of(lists, "base_scale")
    raise AssertionError("base_scores_of raises an error")


def balancing_scale(lists: CandidateLists, column: int) -> float:
    """Return the factor that gives one feature as much variance within lists as all others together.

    Its square is the sum over items of the squared deviations from the means of lists, summed over all other
    features, divided by that of the column. Raises DataError if the column or all other features are constant
    within lists, or squares overflow.
    """
    matrix, spread = lists.features.matrix(), Spread(lists.n_features, column)
    own, others = squares_within(matrix, lists.offsets, spread, Difference(matrix))
    factor = float(np.sqrt(others / own)) if own > 0 and others > 0 else 0.0
    if not (0 < factor < np.inf):
        found = f"squared deviations within lists are {own:.3g} for {lists.names()[column]!r}"
        raise DataError(f"{lists.source}: base_scale=auto: {found} and {others:.3g} for all other features")
    return factor
