"""Votes of all versions of a sum of kernels, from the first update of a perceptron to the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.models.base import MODELS, Arrays, Model
from rerank.models.linear import Votes
from rerank.models.preference import PreferenceModel
from rerank.similarity.expression import ItemKernel
from rerank.similarity.item_sums import item_sums


@MODELS.register("voted-preference")
class VotedPreferenceModel(Model):
    """score(x) = votes for x in its list + a tie-break in (0, 1) by the mean of all versions.

    A version is the sum of a kernel over support items after an update of a perceptron. It votes for the
    item that it ranks first in each list, with as many votes as visits that it survived.

    Parameters
    ----------
    mean
        The model with the mean of the coefficients over all visits since the first update; it has the
        support items.
    bounds, items, values
        Version t adds ``values[bounds[t]:bounds[t + 1]]`` to the coefficients of the support items ``items``
        there: int64 (n_versions + 1), int64 and float64.
    survived
        The number of visits of each version, float64 (n_versions).

    References
    ----------
    Freund, Schapire: Large margin classification using the perceptron algorithm. Machine Learning, 1999.
    Collins, Duffy: New ranking algorithms for parsing and tagging. ACL 2002.
    """

    kind = "voted-preference"
    listwise = True
    weighs_items = True

    def __init__(
        self, mean: PreferenceModel, bounds: Index, items: Index, values: Floats, survived: Floats
    ) -> None:
        super().__init__(mean.feature_names)
        n, n_support = len(survived), len(mean.coefficients)
        if len(bounds) != n + 1 or bounds[0] != 0 or (np.diff(bounds) < 0).any() or bounds[-1] != len(items):
            raise DataError(f"voted model: bounds of {len(bounds) - 1} versions, expected {n}")
        if len(values) != len(items) or (len(items) and not 0 <= items.min() <= items.max() < n_support):
            raise DataError(f"voted model: changes of items that are none of {n_support}")
        if not (np.isfinite(values).all() and np.isfinite(survived).all() and (survived >= 0).all()):
            raise DataError("voted model: a coefficient or count that is not finite")
        self.mean, self.bounds, self.items, self.values, self.survived = mean, bounds, items, values, survived

    @classmethod
    def of_changes(
        cls,
        kernel: ItemKernel,
        lists: CandidateLists,
        changes: Sequence[tuple[Index, Floats]],
        survived: Floats,
    ) -> Self:
        """Return the model of changes of the coefficients of rows of ``lists``, one for each version."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *(which for which, _ in changes)])
        values = np.concatenate([np.empty(0), *(change for _, change in changes)])
        bounds = offsets_of(np.array([len(which) for which, _ in changes], dtype=np.int64))
        support, items = np.unique(rows, return_inverse=True)
        # A change counts in the mean as often as there are visits from its version on.
        left = np.cumsum(survived[::-1])[::-1] / max(float(survived.sum()), 1.0)
        mean = np.zeros(len(support))
        np.add.at(mean, items, values * np.repeat(left, np.diff(bounds)))
        model = PreferenceModel.of_items(kernel, lists, support, mean)
        return cls(model, bounds, items.astype(np.int64), values, survived)

    def score_aligned(self, lists: CandidateLists) -> Floats:
        votes = Votes(lists)
        if self.mean.support is not None:
            if self.feature_names:
                lists = lists.with_features(lists.features, self.feature_names)
            support, others = self.mean.kernel.prepare(self.mean.support, lists)
            scores = np.zeros(lists.n_items)
            for t, survived in enumerate(self.survived.tolist()):
                part = slice(self.bounds[t], self.bounds[t + 1])
                scores += item_sums(support, self.items[part], self.values[part], others)
                votes.add(scores, survived)
        return votes.scores()

    def n_weighted(self) -> int:
        return self.mean.n_weighted()

    def described(self) -> dict[str, str]:
        voters = f"{len(self.survived)} versions over {self.survived.sum():.0f} visits"
        return {**self.mean.described(), "voters": voters}

    def explain(self) -> list[tuple[str, float]]:
        """Return the mean coefficients of support items, whose ranking approximates the votes."""
        return self.mean.explain()

    def arrays(self) -> Arrays:
        own = {"bounds": self.bounds, "items": self.items, "values": self.values, "survived": self.survived}
        return {**self.mean.arrays(), **own}

    @classmethod
    def members(cls, n_features: int) -> dict[str, ArrayForm]:
        whole, real = ArrayForm("<i8", (None,)), ArrayForm("<f8", (None,))
        own = {"bounds": whole, "items": whole, "values": real, "survived": real}
        return {**PreferenceModel.members(n_features), **own}

    @classmethod
    def from_arrays(cls, feature_names: list[str], arrays: Mapping[str, AnyArray]) -> Self:
        own = (arrays[name] for name in ("bounds", "items", "values", "survived"))
        return cls(PreferenceModel.from_arrays(feature_names, arrays), *own)
