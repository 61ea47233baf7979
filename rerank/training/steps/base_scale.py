"""The scale of the base score: how much of it a learner sees beside all other features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats
from rerank.data.base_scores import base_column, base_scores_of
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.learners.base import Learner
from rerank.models.base import Model, multiplied
from rerank.models.training import BaseScaleRecord
from rerank.native.data._matrix import Difference
from rerank.native.data._spread import Spread, squares_within
from rerank.training.options import TrainOptions
from rerank.training.steps import STEPS, Stage, Step

BaseScale = float | Literal["auto"]


class ScaledColumn(Struct, frozen=True):
    """A feature that is the base score, and the factor by which a learner sees it multiplied."""

    index: int
    factor: float
    auto: bool = False

    def apply(self, lists: CandidateLists, *, overwrite: bool = False, warn: bool = False) -> CandidateLists:
        """Return the lists with the column multiplied; DataError if a value overflows."""
        features = lists.features.multiplied(self.index, self.factor)
        return lists.with_values(features, f"base_scale {self.factor:g}")

    def unfold(self, weights: Floats, names: list[str], source: str) -> Floats:
        """Return the weights for the multiplied column."""
        return multiplied(weights, self.index, 1.0 / self.factor)

    def fold_back(self, model: Model, names: list[str]) -> None:
        """Put the factor into a model that was fitted to the multiplied column, and record it."""
        model.multiply_weight(self.index, self.factor)
        if model.initial is not None:
            model.initial = multiplied(model.initial, self.index, self.factor)
        feature = names[self.index]
        model.training.base_scale = BaseScaleRecord(feature=feature, factor=self.factor, auto=self.auto)


@STEPS.register("base_scale")
class ScaleBase(Step, frozen=True):
    """Multiply the base score's feature for the learner, "auto" = as much variance as all others together."""

    base_scale: BaseScale = 1.0

    name: ClassVar[str] = "base_scale"
    stage: ClassVar[Stage] = "view"
    place: ClassVar[int] = 20
    settings: ClassVar[tuple[str, ...]] = ("base_scale",)
    in_grid: ClassVar[bool] = True
    reads_raw: ClassVar[bool] = True

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        field = TrainOptions.settings["base_scale"]
        scale, faults = field.read("base_scale", settings.get("base_scale", self.base_scale))
        if faults:
            raise ConfigError(faults[0])
        return replace(self, base_scale=scale)

    def check(self, learner: Learner, metric: Metric | None) -> None:
        if self.active and not learner.takes_base_scale:
            why = "the units of features do not matter to it"
            if not learner.needs_features:
                why = "it reads no features"
            raise ConfigError(f"base_scale has no effect on learner {learner.name}: {why}")

    def fit(self, lists: CandidateLists, raw: CandidateLists) -> ScaledColumn:
        column, scale = column_to_scale(raw), self.base_scale
        factor = balancing_scale(lists, column) if scale == "auto" else scale
        return ScaledColumn(column, float(factor), scale == "auto")


def column_to_scale(lists: CandidateLists) -> int:
    """Return the feature of raw ``lists`` that is the base score; ConfigError if none is."""
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
