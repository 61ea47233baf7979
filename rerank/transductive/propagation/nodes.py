"""The training lists as nodes of a graph, each with its ranker or the reason why it has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.joining import stacked
from rerank.data.lists import CandidateLists

UNLABELLED = "unlabelled"
_ROUNDING = 1e-9  # of the largest weight: what a sum of rankers that cancel may be, more than a solution errs


@dataclass(frozen=True, eq=False)
class Nodes:
    """Training lists and their rankers; unlabelled lists may be among them.

    Attributes
    ----------
    lists
        Their features, scaled, without labels.
    weights : float64 (n_lists, n_features)
        Rankers; NaN for a list without one.
    reasons
        Why a list trained no ranker, "" if it did. If it did not, its ranker is that of its neighbours, or
        NaN.
    """

    lists: CandidateLists
    weights: Floats
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        shape = self.lists.n_lists, self.lists.n_features
        if self.weights.shape != shape or len(self.reasons) != shape[0]:
            found = f"rankers of shape {self.weights.shape} and {len(self.reasons)} reasons"
            raise DataError(f"{found} for {shape[0]} lists of {shape[1]} features")
        if not shape[1] or self.lists.has_missing:
            raise DataError("lists without features, or with missing (NaN) ones")
        if not np.isfinite(self.weights[self.known]).all():
            raise DataError("a ranker with a weight that is not finite")
        if not self.trained.any() or not self.known[self.trained].all():
            raise DataError("a list without the ranker that it trained, or no list that trained one")

    def with_unlabelled(self, lists: CandidateLists | None) -> Nodes:
        """Return these nodes and those of further lists, which have no rankers; see ``FitInputs``."""
        if lists is None:
            return self
        none = np.full((lists.n_lists, lists.n_features), np.nan)
        reasons = self.reasons + (UNLABELLED,) * lists.n_lists
        return Nodes(merge_sets([self.lists, lists]), np.concatenate([self.weights, none]), reasons)

    @cached_property
    def trained(self) -> Mask:
        """Which lists trained a ranker, bool (n_lists)."""
        return np.array([not reason for reason in self.reasons], dtype=bool)

    @cached_property
    def known(self) -> Mask:
        """Which lists have a ranker, one that they trained or one of their neighbours, bool (n_lists)."""
        return np.asarray(~np.isnan(self.weights).all(axis=1))

    @property
    def rankers(self) -> Floats:
        """The rankers that were trained, float64 (n_trained, n_features)."""
        return self.weights[self.trained]

    @cached_property
    def mean(self) -> Floats:
        """The mean of the trained rankers, float64 (n_features); 0 if they cancel but for rounding."""
        rankers = self.rankers
        mean: Floats = (rankers / len(rankers)).sum(axis=0)  # without overflow
        return np.zeros_like(mean) if self.cancelled(mean[None])[0] else mean

    def cancelled(self, weights: Floats) -> Mask:
        """Return which sums of rankers, float64 (n, n_features), are 0 but for rounding: bool (n)."""
        largest = float(np.abs(self.weights[self.known]).max(initial=0.0))
        return np.asarray(np.abs(weights).max(axis=1, initial=0.0) <= _ROUNDING * largest)


def merge_sets(parts: Sequence[CandidateLists]) -> CandidateLists:
    """Return the features of all lists of sets with the same columns, as one set of the last one's source."""
    offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
    features = stacked([part.features for part in parts])
    return CandidateLists(offsets, features, feature_names=parts[0].feature_names, source=parts[-1].source)
