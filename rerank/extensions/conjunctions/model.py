"""Models of boosting with conjunctions, which build them from the features of any lists."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import AnyArray, Floats, Ints
from rerank.data.columns.offsets import are_bounds, offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.extensions.conjunctions.features import Conjunctions
from rerank.models.base import MODELS, Arrays, heaviest_first
from rerank.models.lightgbm_parser import Tree
from rerank.models.stumps import StumpModel, Thresholds

_MISSING_LEFT, _MISSING_RIGHT = 2 | 8, 8  # of LightGBM's decision_type


@MODELS.register("conjunctions")
class ConjunctionModel(StumpModel):
    """The score of a ``StumpModel`` plus the sum of the weights of the conjunctions that hold of an item.

    An item whose features are all 0 has the score 0: no literal holds of it.

    Parameters
    ----------
    feature_names, weights, feature, threshold, step
        See ``StumpModel``; the rounds are those of single features.
    conjunctions : Conjunctions
        Of literals of these features.
    weight : float64 (n)
        The sum of the steps of each conjunction.
    """

    kind = "conjunctions"

    def __init__(
        self,
        feature_names: list[str],
        weights: Floats,
        feature: Ints,
        threshold: Floats,
        step: Floats,
        conjunctions: Conjunctions,
        weight: Floats,
    ) -> None:
        super().__init__(feature_names, weights, feature, threshold, step)
        if weight.shape != (len(conjunctions),) or not np.isfinite(weight).all():
            raise DataError(f"{len(conjunctions)} conjunctions, expected a finite weight of each")
        self.conjunctions, self.weight = conjunctions, weight

    def prefix(self, n: int) -> StumpModel:
        raise ConfigError("a model with conjunctions keeps the sums of their steps: train fewer rounds")

    @cached_property
    def stumps(self) -> tuple[Thresholds, Floats]:
        """The stumps of the rounds and, with a step of 0, those that only conjunctions have."""
        literals = self.conjunctions.literals
        steps = np.append(self.step, np.zeros(len(literals)))
        feature = np.append(self.feature, literals.feature).astype(np.int32)
        rounds = StumpModel(
            self.feature_names, self.weights, feature, np.append(self.threshold, literals.at), steps
        )
        return rounds.stumps

    def score_aligned(self, lists: CandidateLists) -> Floats:
        held = self.conjunctions.rows(lists.features)
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            return super().score_aligned(lists) + held.scores(self.weight)

    def arrays(self) -> Arrays:
        literals = self.conjunctions.literals
        return {
            **super().arrays(),
            "literal.feature": literals.feature,
            "literal.threshold": literals.at,
            "conjunction.bounds": self.conjunctions.bounds,
            "conjunction.literals": self.conjunctions.members,
            "conjunction.weight": self.weight,
        }

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        integers, numbers = ArrayForm("<i4", (None,)), ArrayForm("<f8", (None,))
        return {
            **super().members(n_features),
            "literal.feature": integers,
            "literal.threshold": numbers,
            "conjunction.bounds": ArrayForm("<i8", (None,)),
            "conjunction.literals": integers,
            "conjunction.weight": numbers,
        }

    @classmethod
    def optional_members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        feature, at = arrays["literal.feature"], arrays["literal.threshold"]
        if feature.shape != at.shape or not np.isfinite(at).all():
            raise DataError(f"{len(feature)} features and {len(at)} finite thresholds of literals")
        rising = (feature[1:] > feature[:-1]) | ((feature[1:] == feature[:-1]) & (at[1:] > at[:-1]))
        if len(feature) and not (feature[0] >= 0 and feature[-1] < len(feature_names) and rising.all()):
            raise DataError("literals of unknown features, or not in ascending order")
        bounds, members = arrays["conjunction.bounds"], arrays["conjunction.literals"]
        if not len(bounds) or not are_bounds(bounds, len(members)) or np.any(np.diff(bounds) < 2):
            raise DataError(
                f"bounds of conjunctions of {len(members)} literals that do not rise by 2 or more"
            )
        inner = np.ones(len(members), dtype=bool)
        inner[bounds[:-1]] = False
        known = (members >= 0) & (members < len(feature))
        if not known.all() or np.any(members[1:][inner[1:]] <= members[:-1][inner[1:]]):
            raise DataError("a conjunction of unknown literals, or not in ascending order")
        first = offsets_of(np.bincount(feature, minlength=len(feature_names)))
        made = Conjunctions(Thresholds(first, feature, at), bounds, members)
        parts: list[Any] = [arrays[name] for name in ("weights", "feature", "threshold", "step")]
        parts += [made, arrays["conjunction.weight"]]
        return cls(feature_names, *parts)

    def described(self) -> dict[str, Any]:
        return {"conjunctions": len(self.conjunctions)}

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights of features, the steps of stumps and the weights of conjunctions.

        The largest magnitude comes first.
        """
        rows = super().explain()
        names = [*(name for name, _ in rows), *self.conjunctions.names(self.feature_names)]
        return heaviest_first(names, np.array([*(value for _, value in rows), *self.weight.tolist()]))

    def n_weighted(self) -> int:
        stumps, step = self.stumps
        literals = self.conjunctions.literals.feature
        used = (stumps.feature[step != 0], np.flatnonzero(self.linear), literals)
        return len(np.unique(np.concatenate(used)))

    def step_shares(self) -> list[tuple[str, float]]:
        """None: a step of a conjunction belongs to several features."""
        return []

    @property
    def trees(self) -> list[Tree]:
        """A tree for each conjunction, which has a split for each of its literals.

        Thresholds of LightGBM take magnitudes up to 1e-35 for 0.
        """
        literals, bounds = self.conjunctions.literals, self.conjunctions.bounds.tolist()
        found = []
        for first, last, weight in zip(bounds[:-1], bounds[1:], self.weight.tolist(), strict=True):
            some = self.conjunctions.members[first:last]
            at, n = literals.at[some], last - first
            up = at > 0  # the literal holds of values to the right
            on = np.append(np.arange(1, n), -1)  # the next split, at last the leaf that has the weight
            off = -2 - np.arange(n)
            found.append(
                Tree(
                    literals.feature[some],
                    np.nextafter(at, -np.inf),
                    np.where(up, _MISSING_LEFT, _MISSING_RIGHT).astype(np.int32),
                    np.where(up, off, on).astype(np.int32),
                    np.where(up, on, off).astype(np.int32),
                    np.zeros(n),
                    np.append(weight, np.zeros(n)),
                )
            )
        return found
