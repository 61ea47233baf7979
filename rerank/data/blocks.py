"""Sparse features of lists, made ready for learners that go through them list by list.

A feature that every item of a list has with one value cancels in every difference, so a pairwise learner can
do without it. Candidates of one sentence share most of their features: what remains is small, and is stored
in the order in which the learner reads it. A list has only few of all features; if they are numbered anew
within each list, their weights fit in the fastest cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.pairs import Pairs
from rerank.data.types import Index
from rerank.native.data import _blocks

# A copy is made only if it is so much smaller than the features, which stay: together at most 1.2 times.
WORTH = 0.2
SAMPLE = 64
SHARED = 2  # numbering pays if a list has this many values for each of its features
FEW = 4096  # the weights of so many features fit in a cache in any case


class ListRows(NamedTuple):
    """What a kernel reads of the features of lists.

    matrix : Matrix
        The rows, perhaps with the features of each list numbered anew.
    rows : int64 (n_items)
        The row of each item of the pairs.
    most : int
        The largest number of features of a list that numbers its own, otherwise 0.
    """

    matrix: Any
    rows: Index
    most: int


def list_rows(features: Features, pairs: Pairs, visits: int) -> ListRows:
    """Return the rows of the items of ``pairs`` for a learner that visits each list ``visits`` times.

    Features are numbered by list only if that pays: after two visits, and if items share them.
    """
    packed, rows = pack_differing(features, pairs)
    matrix = packed.matrix()
    if isinstance(packed, Dense) or packed.n_features <= FEW or visits < 3:
        return ListRows(matrix, rows, 0)
    return ListRows(matrix, rows, _number_by_list(matrix, packed, pairs, rows, packed is not features))


def pack_differing(features: Features, pairs: Pairs) -> tuple[Features, Index]:
    """Return features and, for each item of ``pairs``, the row of them that holds its differing values.

    These are the features themselves and ``pairs.items`` if they are dense or packing would keep more than a
    fifth of the sparse values; whether it would is judged by up to 64 lists first.
    """
    if isinstance(features, Mixed):
        rows, items = pack_differing(features.rows, pairs)
        if rows is features.rows or not isinstance(rows, Sparse):
            return features, items
        return replace(features, values=features.values[pairs.items], rows=rows), items
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


def _number_by_list(matrix: Any, features: Features, pairs: Pairs, rows: Index, small: bool) -> int:
    """Number the features of each list of a sparse or mixed matrix anew; return the most of a list, or 0."""
    block = features.rows if isinstance(features, Mixed) else features
    places = features.places if isinstance(features, Mixed) else np.empty(0, dtype=np.int32)
    if not isinstance(block, Sparse) or not (small or block.data is not None) or block.n_values == 0:
        return 0
    local = np.empty(block.n_values, dtype=np.uint16)
    bounds = np.empty(pairs.n_lists + 1, dtype=np.int64)
    own = np.empty(block.n_values + len(places) * pairs.n_lists, dtype=np.int32)  # only its start is touched
    number = np.full(block.n_features, -1, dtype=np.int32)
    given = (block.indptr, block.indices, places)
    room = (rows, number, local, bounds, own)
    sample = pairs.offsets[: SAMPLE + 1]
    _blocks.number_by_list(*given, sample, *room)
    looked = np.diff(block.indptr)[rows[: sample[-1]]].sum()
    if looked < SHARED * bounds[len(sample) - 1]:
        return 0
    most: int = _blocks.number_by_list(*given, pairs.offsets, *room)
    if most <= 0:
        return 0
    matrix.number_by_list(local, bounds, own[: bounds[-1]].copy())
    return most
