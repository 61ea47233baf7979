"""Models that fuse the scores of systems, each a feature of which larger is better, and random scores.

A system that did not retrieve an item has no score of it: the feature is missing (NaN), and adds nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.missing import zeros_for_missing
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.linear import Weighted
from rerank.native.models import _fusion


class FusionModel(Weighted):
    """A sum over the systems that retrieved an item, each with a weight, which is 1 unless it was changed.

    A system that dense lists have no column of retrieved nothing: its feature is taken as missing.
    """

    absent = np.nan

    @abstractmethod
    def score_aligned(self, lists: CandidateLists) -> Floats:
        """Return the fused scores (n_items), as ``Model.score_aligned`` does."""

    def _cause(self, lists: CandidateLists, item: int) -> str:
        return super()._cause(lists.with_features(zeros_for_missing(lists.features), lists.names()), item)


@MODELS.register("combsum")
class CombSum(FusionModel):
    """score(x) = the sum of the scores that systems gave the item."""

    kind = "combsum"

    def score_aligned(self, lists: CandidateLists) -> Floats:
        features = zeros_for_missing(lists.features) if lists.has_missing else lists.features
        return features.scores(self.weights)


@MODELS.register("combmnz")
class CombMnz(CombSum):
    """score(x) = the sum of the scores that systems gave the item, times the number of these systems."""

    kind = "combmnz"

    def score_aligned(self, lists: CandidateLists) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):  # score() reports what is not finite
            return retrieved(lists.features) * super().score_aligned(lists)


@MODELS.register("rrf")
class ReciprocalRank(FusionModel):
    """score(x) = the sum of 1 / (k + rank) over the systems that retrieved the item.

    Ranks count from 1 within each list; items with equal scores share the mean of their ranks.
    """

    kind = "rrf"
    listwise = True

    def __init__(self, feature_names: list[str], weights: Floats, k: float) -> None:
        super().__init__(feature_names, weights)
        if not (np.isfinite(k) and k >= 0):
            raise DataError(f"k is {k}")
        self.k = k

    def score_aligned(self, lists: CandidateLists) -> Floats:
        features, out = lists.features, np.zeros(lists.n_items)
        if isinstance(features, Dense):
            _fusion.reciprocal_ranks(features.values, lists.offsets, self.weights, self.k, out)
            return out
        rows = features.compressed()
        for start, stop in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
            self._add_sparse(rows.take(slice(start, stop)), out[start:stop])
        return out

    def _add_sparse(self, rows: Sparse, out: Floats) -> None:
        """Add the shares of one list; all of its items are tied in columns that it does not store."""
        n, stored = rows.n_items, rows.occurring()
        places = np.full(rows.n_features, -1, dtype=np.int64)
        places[stored] = np.arange(len(stored))
        X = rows.select(places, len(stored)).to_dense()
        others = self.weights.copy()
        others[stored] = 0.0
        out += others.sum() / (self.k + 0.5 * (n + 1))
        _fusion.reciprocal_ranks(X, np.array([0, n], dtype=np.int64), self.weights[stored], self.k, out)

    def arrays(self) -> Arrays:
        return {**super().arrays(), "k": np.array([self.k])}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        return {**super().members(n_features), "k": ArrayForm("<f8", (1,))}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        return cls(feature_names, arrays["weights"], float(arrays["k"][0]))


def retrieved(features: Features) -> Floats:
    """Return how many systems retrieved each item, float64 (n_items): its features that are not missing."""
    if isinstance(features, Dense):
        return features.n_features - np.count_nonzero(np.isnan(features.values), axis=1).astype(np.float64)
    rows = features.compressed()
    if rows.data is None:
        return np.full(rows.n_items, float(rows.n_features))
    missing = np.repeat(np.arange(rows.n_items), np.diff(rows.indptr))[np.isnan(rows.data)]
    return rows.n_features - np.bincount(missing, minlength=rows.n_items).astype(np.float64)


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
