"""w·x, the model of most learners here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import AnyArray, Floats
from rerank.errors import DataError
from rerank.models.base import MODELS, Arrays, Model


@MODELS.register("linear")
class LinearModel(Model):
    """score(x) = w·x, with w float64 (n_features)."""

    kind = "linear"

    def __init__(self, feature_names: list[str], weights: Floats) -> None:
        super().__init__(feature_names)
        if weights.shape != (len(feature_names),):
            raise DataError(f"{weights.shape[0]} weights for {len(feature_names)} features")
        self.weights = weights

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return lists.features.scores(self.weights)

    def arrays(self) -> Arrays:
        return {"weights": self.weights}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, np.ascontiguousarray(arrays["weights"], dtype=np.float64))

    def explain(self) -> list[tuple[str, float]]:
        order = np.argsort(-np.abs(self.weights), kind="stable")
        return [(self.feature_names[j], float(self.weights[j])) for j in order if self.weights[j] != 0]
