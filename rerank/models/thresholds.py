"""w·x cut by thresholds into grades, the model of ordinal learners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.types import AnyArray, Floats
from rerank.errors import DataError
from rerank.models.base import MODELS, Arrays, Model


@MODELS.register("thresholds")
class ThresholdModel(Model):
    """score(x) = w·x; the grade of x is the number of thresholds at or below its score.

    weights float64 (n_features); thresholds float64 (k - 1), never falling; labels float64 (k), what
    the grades are called, from the lowest up.
    """

    kind = "thresholds"

    def __init__(self, feature_names: list[str], weights: Floats, thresholds: Floats, labels: Floats) -> None:
        super().__init__(feature_names)
        if weights.shape != (len(feature_names),):
            raise DataError(f"{weights.shape[0]} weights for {len(feature_names)} features")
        if thresholds.ndim != 1 or labels.shape != (len(thresholds) + 1,):
            raise DataError(f"{thresholds.size} thresholds for {labels.size} grades")
        if np.any(np.diff(thresholds) < 0):
            raise DataError("the thresholds fall")
        self.weights = weights
        self.thresholds = thresholds
        self.labels = labels

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return lists.features.scores(self.weights)

    def grades(self, lists: CandidateLists) -> Floats:
        """The predicted label of each item, float64 (n_items); columns and scaling as ``score``.

        A keep margin changes choices, not grades.
        """
        return self.labels[np.searchsorted(self.thresholds, self.raw_score(lists), side="right")]

    def arrays(self) -> Arrays:
        return {"weights": self.weights, "thresholds": self.thresholds, "labels": self.labels}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        weights, thresholds, labels = (
            np.ascontiguousarray(arrays[name], dtype=np.float64)
            for name in ("weights", "thresholds", "labels")
        )
        return cls(feature_names, weights, thresholds, labels)

    def explain(self) -> list[tuple[str, float]]:
        """The weights, heaviest first, then the thresholds from the lowest up."""
        order = np.argsort(-np.abs(self.weights), kind="stable")
        rows = [(self.feature_names[j], float(self.weights[j])) for j in order if self.weights[j] != 0]
        names = [f"[threshold of {label:g}]" for label in self.labels[1:].tolist()]
        return rows + list(zip(names, self.thresholds.tolist(), strict=True))
