"""Sparse features of lists, made ready for learners that go through them list by list.

A feature that every item of a list has with one value cancels in every difference, so a pairwise learner can
do without it. Candidates of one sentence share most of their features: what remains is small, and is stored
in the order in which the learner reads it. A list has only few of all features; if they are numbered anew
within each list, their weights fit in the fastest cache.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rerank.core.types import Index
from rerank.data.matrix import Features, Mixed, Sparse
from rerank.native.data import _blocks

# A copy is made only if it is so much smaller than the features, which stay: together at most 1.2 times.
WORTH = 0.2
SAMPLE = 64
SHARED = 2  # numbering pays if a list has this many values for each of its features
FEW = 4096  # the weights of so many features fit in a cache in any case
MANY_VISITS = 8  # from so many on it pays to number each value of a feature


class ListItems(Protocol):
    """The items of lists that a learner reads: the rows items[offsets[i]:offsets[i + 1]] of list i."""

    @property
    def offsets(self) -> Index: ...
    @property
    def items(self) -> Index: ...
    @property
    def n_lists(self) -> int: ...


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


def list_rows(features: Features, pairs: ListItems, visits: int) -> ListRows:
    """Return the rows of the items of ``pairs`` for a learner that visits each list ``visits`` times.

    Parameters
    ----------
    features : Dense, Sparse or Mixed
    pairs
        The lists and items that the learner reads.
    visits
        More visits make it worth while to pack and number the features, see ``number_by_list``.
    """
    packed, rows = pack_differing(features, pairs)
    matrix = packed.matrix()
    most = number_by_list(matrix, packed, pairs.offsets, rows, visits)
    return ListRows(matrix, rows, most)


def number_by_list(matrix: Any, features: Features, offsets: Index, rows: Index, visits: int) -> int:
    """Number the features of each list anew, if that pays a learner that visits each list ``visits`` times.

    It does after two visits, if items share features. After some more visits it pays to give each value of a
    feature a number: a kernel then reads two bytes per value.

    Parameters
    ----------
    matrix
        The rows of ``features``, which the numbers are added to.
    features
        Sparse or mixed features; others are left as they are.
    offsets, rows
        int64 (n_lists + 1) and (n_items): the rows of each list.
    visits
        How often the learner visits each list.

    Returns
    -------
    int
        The most numbers of a list, or 0 if its features are not numbered.
    """
    block = features.rows if isinstance(features, Mixed) else features
    if not isinstance(block, Sparse) or block.n_values == 0 or block.n_features <= FEW or visits < 3:
        return 0
    columns = len(features.places) if isinstance(features, Mixed) else 0
    lengths = np.diff(block.indptr)[rows]
    by_value = block.data is not None and visits >= MANY_VISITS
    for kind in (True, False) if by_value else (False,):
        numbers = ListNumbers(block, len(offsets) - 1, columns, kind)
        for of_lists in (offsets[: SAMPLE + 1], offsets):
            most: int = _blocks.number_by_list(matrix, of_lists, rows, numbers)
            if most < 0 or lengths[: of_lists[-1]].sum() < SHARED * numbers.bounds[1, len(of_lists) - 1]:
                break
        else:
            matrix.number_by_list(numbers)
            return most
    return 0


def pack_differing(features: Features, pairs: ListItems) -> tuple[Features, Index]:
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


class ListNumbers:
    """Room for the numbers of features within lists: of CSR rows beside some dense ``columns``.

    entry : uint16 (n_values)
        The number of each value within its list.
    bounds : int64 (2, n_lists + 1)
        Where the features, and the entries, of each list begin and end.
    features : int32
        The features of all lists.
    place : uint16, values : float64, or None
        If values are numbered: the feature of each entry, by its number in the list, and its value.
    """

    def __init__(self, block: Sparse, n_lists: int, columns: int, by_value: bool) -> None:
        room = block.n_values // max(SHARED, 1) + columns * n_lists + 1  # only its start is touched
        self.entry = np.empty(block.n_values, dtype=np.uint16)
        self.bounds = np.empty((2, n_lists + 1), dtype=np.int64)
        self.features = np.empty(room, dtype=np.int32)
        self.place = np.empty(room, dtype=np.uint16) if by_value else None
        self.values = np.empty(room) if by_value else None
