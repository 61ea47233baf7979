"""The judged items of lists, each an example of its own, for losses of single items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import checked_list_weights
from rerank.models.training import DataRecord


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judged items of the lists whose weight is not 0.

    Attributes
    ----------
    features
        Of these items.
    labels, weight
        float64 (n): their labels, and the weights of their lists.
    offsets
        int64 (n_lists + 1): the bounds of the lists that have such items.
    data
        What is recorded of them; ``judged`` counts them.
    """

    features: Features
    labels: Floats
    weight: Floats
    offsets: Index
    data: DataRecord

    @classmethod
    def of(cls, lists: CandidateLists, list_weights: Floats | None) -> JudgedItems:
        """Return the judged items of ``lists``.

        Parameters
        ----------
        lists
            Lists with labels.
        list_weights
            float64 (n_lists), None = 1.

        Raises
        ------
        FitError
            If every list with a judged item has weight 0, or the weights are not finite numbers of 0 or more.
        """
        assert lists.labels is not None, "Learner.fit refuses lists without labels"
        weight = np.repeat(checked_list_weights(list_weights, lists), lists.lengths)
        used = ~np.isnan(lists.labels) & (weight > 0)
        rows = np.flatnonzero(used)
        if not len(rows):
            raise FitError(f"{lists.source}: every list with a judged item has weight 0")
        sizes = np.add.reduceat(used, lists.offsets[:-1], dtype=np.int64)
        features = lists.features if len(rows) == lists.n_items else lists.features.take(rows)
        offsets = offsets_of(sizes[sizes > 0])
        return cls(features, lists.labels[rows], weight[rows], offsets, DataRecord(judged=len(rows)))
