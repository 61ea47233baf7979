"""Models that boosting makes: a weight of each feature, and steps at thresholds of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features, Sparse
from rerank.data.npy import ArrayForm
from rerank.data.types import AnyArray, Floats, Index, Ints
from rerank.errors import DataError
from rerank.models.base import MODELS, Arrays, heaviest_first
from rerank.models.linear import Weighted
from rerank.native.models import _stumps


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Stumps by feature: each is 1 if the feature is at its threshold or above, else 0.

    Attributes
    ----------
    first : int64 (n_features + 1)
        The bounds of each feature's stumps.
    feature : int32 (n)
        The feature of each stump.
    at : float64 (n)
        Their thresholds, rising within a feature.
    """

    first: Index
    feature: Ints
    at: Floats

    @cached_property
    def native(self) -> Any:
        """The stumps as kernels take them."""
        return _stumps.Stumps(self.first, self.at)

    def __len__(self) -> int:
        return len(self.at)

    def subset(self, chosen: Index) -> Thresholds:
        """Return the stumps at ``chosen``, int64 and rising, of the same features."""
        feature = self.feature[chosen]
        counts = np.bincount(feature, minlength=len(self.first) - 1)
        return Thresholds(offsets_of(counts), feature, self.at[chosen])

    def scores(self, features: Features, step: Floats) -> Floats:
        """Return the sum of the steps (n) of each item's stumps, less that of an item of zeros (n_items).

        The sum of a feature's steps is added in the order of the features, in every layout.
        """
        reach = np.empty(len(self))
        _stumps.reach(self.native, step, reach)
        if isinstance(features, Sparse) and features.data is None:
            weights = np.zeros(features.n_features)
            some = self.native.one > self.native.zero
            weights[some] = reach[self.native.one[some] - 1]
            return features.scores(weights)
        out = np.empty(features.n_items)
        _stumps.scores(features.matrix(), self.native, self.feature, reach, out)
        return out


@MODELS.register("stumps")
class StumpModel(Weighted):
    """score(x) = w·x + the sum over rounds of step * ([x_f >= t] - [0 >= t]).

    f is the feature of the round and t its threshold, so that an item whose features are all 0 has the
    score 0.

    Parameters
    ----------
    feature_names
        The model's columns.
    weights
        w, float64 (n_features).
    feature
        f of each round, int32 (n_rounds).
    threshold, step
        float64 (n_rounds).
    """

    kind = "stumps"

    def __init__(
        self, feature_names: list[str], weights: Floats, feature: Ints, threshold: Floats, step: Floats
    ) -> None:
        super().__init__(feature_names, weights)
        if not feature.shape == threshold.shape == step.shape:
            raise DataError(f"{len(feature)} features, {len(threshold)} thresholds and {len(step)} steps")
        if len(feature) and not 0 <= feature.min() <= feature.max() < len(feature_names):
            raise DataError(f"a stump of a feature outside 0..{len(feature_names) - 1}")
        if not (np.isfinite(threshold).all() and np.isfinite(step).all()):
            raise DataError("a threshold or step that is not finite")
        self.feature = feature
        self.threshold = threshold
        self.step = step

    @property
    def n_rounds(self) -> int:
        """The number of rounds."""
        return len(self.step)

    def prefix(self, n: int) -> StumpModel:
        """Return the model of the first ``n`` rounds, with the same scaling, margin and base weight."""
        if not 0 <= n <= self.n_rounds:
            raise DataError(f"found {n}, expected a number of rounds from 0 to {self.n_rounds}")
        parts = (self.feature[:n].copy(), self.threshold[:n].copy(), self.step[:n].copy())
        other = type(self)(self.feature_names, self.weights, *parts)
        other.scaling, other.keep_margin, other.base_weight = self.scaling, self.keep_margin, self.base_weight
        other.training = self.training
        return other

    @cached_property
    def stumps(self) -> tuple[Thresholds, Floats]:
        """The different stumps, and the sum of the steps of each, added in the order of the rounds."""
        order = np.lexsort((self.threshold, self.feature))
        feature, at = self.feature[order], self.threshold[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (feature[1:] != feature[:-1]) | (at[1:] != at[:-1])
        step = np.zeros(int(new.sum()))
        np.add.at(step, np.cumsum(new) - 1, self.step[order])
        first = offsets_of(np.bincount(feature[new], minlength=len(self.feature_names)))
        return Thresholds(first, feature[new], at[new]), step

    def score_aligned(self, lists: CandidateLists) -> Floats:
        stumps, step = self.stumps
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            return lists.features.scores(self.weights) + stumps.scores(lists.features, step)

    def _cause(self, lists: CandidateLists, item: int) -> str:
        missing = np.isnan(lists.features.take(slice(item, item + 1)).to_dense()[0])
        if missing.any():
            return f"its feature {self.feature_names[int(np.argmax(missing))]!r} is missing (NaN)"
        return super()._cause(lists, item)

    def arrays(self) -> Arrays:
        return {
            "weights": self.weights,
            "feature": self.feature,
            "threshold": self.threshold,
            "step": self.step,
        }

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        numbers = ArrayForm("<f8", (None,))
        of_rounds = {"feature": ArrayForm("<i4", (None,)), "threshold": numbers, "step": numbers}
        return {"weights": ArrayForm("<f8", (n_features,)), **of_rounds}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, *(arrays[name] for name in ("weights", "feature", "threshold", "step")))

    def n_weighted(self) -> int:
        stumps, step = self.stumps
        return len(np.union1d(stumps.feature[step != 0], np.flatnonzero(self.weights)))

    def explain(self) -> list[tuple[str, float]]:
        """Return the weights of features and the steps of stumps, largest magnitude first."""
        stumps, step = self.stumps
        pairs = zip(stumps.feature.tolist(), stumps.at.tolist(), strict=True)
        names = [f"{self.feature_names[j]} >= {t:.6g}" for j, t in pairs]
        return heaviest_first([*self.feature_names, *names], np.append(self.weights, step))
