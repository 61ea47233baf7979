"""The judged items of lists, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.learners.base import NothingToLearnError, checked_list_weights
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

        - ``lists``: lists with labels.
        - ``list_weights``: float64 (n_lists), None = 1.

        Raises NothingToLearnError if no list with a judged item has a weight above 0, and FitError if the
        weights are not finite numbers of 0 or more.
        """
        assert lists.labels is not None, "Learner.fit refuses lists without labels"
        weight = np.repeat(checked_list_weights(list_weights, lists), lists.lengths)
        used = ~np.isnan(lists.labels) & (weight > 0)
        rows = np.flatnonzero(used)
        if not len(rows):
            raise NothingToLearnError(f"{lists.source}: every list with a judged item has weight 0")
        sizes = np.add.reduceat(used, lists.offsets[:-1], dtype=np.int64)
        features = lists.features if len(rows) == lists.n_items else lists.features.take(rows)
        offsets = offsets_of(sizes[sizes > 0])
        return cls(features, lists.labels[rows], weight[rows], offsets, DataRecord(judged=len(rows)))


class ItemFacts(NamedTuple):
    """Facts about judged items.

    Attributes
    ----------
    n, weight
        How many, and the sum of their weights.
    least, largest
        Their labels lie between these.
    differ
        Whether a list has two different labels.
    """

    n: int
    weight: float
    least: float
    largest: float
    differ: bool

    @classmethod
    def of(cls, items: JudgedItems) -> ItemFacts:
        """Return the facts of some items."""
        labels, starts = items.labels, items.offsets[:-1]
        differ = bool(np.any(np.minimum.reduceat(labels, starts) < np.maximum.reduceat(labels, starts)))
        return cls(len(labels), float(items.weight.sum()), float(labels.min()), float(labels.max()), differ)

    @classmethod
    def summed(cls, parts: Sequence[ItemFacts]) -> ItemFacts:
        """Return the facts of the items of all parts."""
        n, weights, least, largest, differ = zip(*parts, strict=True)
        return cls(sum(n), float(np.sum(weights)), min(least), max(largest), any(differ))
