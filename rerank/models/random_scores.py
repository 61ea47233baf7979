"""Reproducible random scores: item i of any set gets draw i of the seed's stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model


@MODELS.register("random")
class RandomModel(Model):
    """Uniform scores in [0, 1) from a seed."""

    kind = "random"

    def __init__(self, feature_names: list[str], seed: int) -> None:
        super().__init__(feature_names)
        if seed < 0:
            raise DataError(f"seed {seed} is below 0")
        self.seed = seed

    def _raw(self, lists: CandidateLists, strict: bool) -> Floats:
        """The scores of any features: none matters."""
        return self.score_prepared(lists)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        return np.random.default_rng(self.seed).random(lists.n_items)

    def arrays(self) -> Arrays:
        return {"seed": np.array([self.seed], dtype=np.int64)}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {"seed": ArrayForm("<i8", (1,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, int(arrays["seed"][0]))

    def explain(self) -> list[tuple[str, float]]:
        return []
