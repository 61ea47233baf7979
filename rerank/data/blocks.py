"""Sparse features of lists, packed for learners that only see differences within lists.

A feature that every item of a list has with one value cancels in every difference, so for a pairwise
learner it can go without loss. Candidates of one sentence share most of their features: what is left
is small, and lies in the order in which the learner reads it.
"""

from __future__ import annotations

import numpy as np

from rerank.data.matrix import Features, Sparse
from rerank.data.pairs import Pairs
from rerank.data.types import Index
from rerank.native.data import _blocks

# A packed copy is made only where it is so much smaller: it stands beside the data, never above 1.2 times.
WORTH = 0.2
SAMPLE = 64


def pack_differing(features: Features, pairs: Pairs) -> tuple[Features, Index]:
    """(features, rows): for each item of ``pairs`` the row that holds its differing values.

    The features themselves and ``pairs.items`` where they are dense or where packing would keep more
    than a fifth of the values; whether it would is first judged by up to 64 lists.
    """
    if not isinstance(features, Sparse) or pairs.n_lists == 0 or features.n_values == 0:
        return features, pairs.items
    seen = np.zeros(features.n_features, dtype=np.int32)
    first = np.empty(features.n_features)
    given = (features.indptr, features.indices, features.data)
    sample = np.unique(np.linspace(0, pairs.n_lists - 1, SAMPLE).astype(np.int64))
    kept = 0
    for lists in (sample, np.arange(pairs.n_lists, dtype=np.int64)):
        kept, looked = _blocks.differing_values(
            *given, lists, pairs.offsets, pairs.items, seen, first, False, None, None, None
        )
        if kept > WORTH * looked:
            return features, pairs.items
    indptr = np.empty(len(pairs.items) + 1, dtype=np.int64)
    indices = np.empty(kept, dtype=np.int32)
    data = None if features.data is None else np.empty(kept)
    everything = np.arange(pairs.n_lists, dtype=np.int64)
    _blocks.differing_values(
        *given, everything, pairs.offsets, pairs.items, seen, first, True, indptr, indices, data
    )
    return Sparse(indptr, indices, data, features.n_features), np.arange(len(pairs.items), dtype=np.int64)
