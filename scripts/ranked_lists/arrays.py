"""Lists as the plain arrays that other tools take."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from rerank import CandidateLists, DataError
from rerank.core.types import Floats, Index


@dataclass(frozen=True, eq=False)
class Arrays:
    """Features (n_items, n_features), labels (n_items) and offsets (n_lists + 1) of lists, item by item."""

    X: Floats
    y: Floats
    offsets: Index

    @property
    def lengths(self) -> Index:
        """Return the number of items of each list."""
        return np.diff(self.offsets)

    @property
    def qid(self) -> Index:
        """Return the number of its list for each item."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.lengths)


def arrays_of(lists: CandidateLists, missing: float) -> Arrays:
    """Return lists as arrays, with ``missing`` in place of NaN features.

    Raises
    ------
    DataError
        If an item is unjudged, which other tools do not know.
    """
    if lists.labels is None or np.isnan(lists.labels).any():
        raise DataError(f"{lists.source}: unjudged items, expected a label for every item")
    X = np.array(lists.features.to_dense(), dtype=np.float64)
    return Arrays(np.where(np.isnan(X), missing, X), lists.labels, lists.offsets)


def list_minmax(part: Arrays) -> Arrays:
    """Return the features scaled to 0 to 1 within each list; a constant becomes 0."""
    starts = part.offsets[:-1]
    low = np.minimum.reduceat(part.X, starts)
    width = np.maximum.reduceat(part.X, starts) - low
    scaled = (part.X - low[part.qid]) / np.where(width > 0, width, 1.0)[part.qid]
    return replace(part, X=scaled)


def explicit_pairs(part: Arrays) -> Floats:
    """Return the features of better minus worse of every pair in a list (n_pairs, n_features)."""
    found = []
    for start, stop in itertools.pairwise(part.offsets):
        X, y = part.X[start:stop], part.y[start:stop]
        better, worse = np.nonzero(y[:, None] > y)
        found.append(X[better] - X[worse])
    return np.concatenate(found)
