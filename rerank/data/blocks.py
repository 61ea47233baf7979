"""Sparse features of lists, made ready for learners that go through them list by list.

A feature that every item of a list has with one value cancels in every difference, so a pairwise learner can
do without it. Candidates of one sentence share most of their features: what remains is small, and is stored
in the order in which the learner reads it. A list has only few of all features; if they are renumbered
within each list, their weights fit in the fastest cache.

Most features of a list also come and go together, as one bundle: in 50-best parses, 45 million values of
150,000 features are 5 million members and 7 million values of bundles. A sum over rows then reads each value
of a bundle once, and each member twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from rerank.core.types import Index
from rerank.data.matrix import Features, Mixed, Sparse
from rerank.native.data import _blocks, _bundles
from rerank.native.data._matrix import Matrix

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
    """Features of lists, as kernels read them.

    matrix : Matrix
        The rows, perhaps with the features of each list renumbered.
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

    pairs : the lists and items that the learner reads.
    visits : more visits make it worth while to pack and number the features, see ``number_by_list``.
    """
    packed, rows = pack_differing(features, pairs)
    matrix = packed.matrix()
    most = number_by_list(matrix, packed, pairs.offsets, rows, visits)
    return ListRows(matrix, rows, most)


def number_by_list(matrix: Any, features: Features, offsets: Index, rows: Index, visits: int) -> int:
    """Renumber the features of each list, if that pays a learner that visits each list ``visits`` times.

    It does after two visits, if items share features. After some more visits it pays to give each value of a
    feature a number: a kernel then reads two bytes per value.

    Parameters
    ----------
    matrix : the rows of ``features``, which the numbers are added to.
    features : sparse or mixed features; others are left as they are.
    offsets, rows : int64 (n_lists + 1) and (n_items): the rows of each list.
    visits : how often the learner visits each list.

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
    sample = np.unique(np.linspace(0, pairs.n_lists - 1, SAMPLE).astype(np.int64))
    kept = 0
    for lists in (sample, np.arange(pairs.n_lists, dtype=np.int64)):
        kept, looked = _blocks.differing_values(
            features.matrix(), lists, pairs.offsets, pairs.items, seen, first, None, None, None
        )
        if kept > WORTH * looked:
            return features, pairs.items
    indptr = np.empty(len(pairs.items) + 1, dtype=np.int64)
    indices = np.empty(kept, dtype=np.int32)
    data = None if features.data is None else np.empty(kept)
    everything = np.arange(pairs.n_lists, dtype=np.int64)
    _blocks.differing_values(
        features.matrix(), everything, pairs.offsets, pairs.items, seen, first, indptr, indices, data
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


SMALL = 100_000  # values that are not worth it
WORTH_BUNDLING = 0.5  # members and values of bundles for each value of a feature


class Bundles(NamedTuple):
    """The rows of some lists in terms of bundles.

    matrix : Matrix
        The rows of the items, whose columns are the bundles of their list counted from 0. Up to a constant
        of each list, scores of the items are the same as from the features.
    members : Matrix
        The features of each bundle.
    starts : int64 (n_lists + 1)
        List i has the bundles starts[i]:starts[i + 1].
    n_entries : int
        If the bundles of each list are numbered with each of their values (see data.blocks), the most
        numbers of a list; the matrix then has no other values. Otherwise 0.
    """

    matrix: Any
    members: Any
    starts: Index
    n_entries: int


def worth_bundling(features: Features, offsets: Index, items: Index) -> bool:
    """Return whether bundles of these lists hold at most half of the values, judged by up to 64 of them.

    features : of any layout; dense ones are never worth it.
    offsets, items : int64 (n_lists + 1) and (n_items): the rows of each list.
    """
    block = features.rows if isinstance(features, Mixed) else features
    if not isinstance(block, Sparse) or block.n_values < SMALL:
        return False
    sample = np.unique(np.linspace(0, len(offsets) - 2, SAMPLE).astype(np.int64))
    rows = np.concatenate([items[offsets[i] : offsets[i + 1]] for i in sample.tolist()])
    bounds = np.concatenate([[0], np.cumsum(np.diff(offsets)[sample])])
    room, found = _bundled(features.take(rows), bounds, np.arange(len(rows), dtype=np.int64))
    return found.n_members + found.n_values <= WORTH_BUNDLING * len(room.data)


def bundle(features: Features, offsets: Index, items: Index) -> Bundles:
    """Return the rows of the lists in terms of bundles.

    features : sparse or mixed ones.
    offsets, items : int64 (n_lists + 1) and (n_items): the rows of each list.
    """
    room, found = _bundled(features, offsets, items)
    n, n_values, n_items = found.n_bundles, found.n_values, len(items)
    most = int(np.diff(room.starts).max(initial=0))
    indptr = room.indptr[: n_items + 1].copy()
    rows = Sparse(indptr, room.indices[:n_values].copy(), room.data[:n_values].copy(), most)
    members = Sparse(
        room.member_indptr[: n + 1].copy(), room.members[: found.n_members].copy(), None, features.n_features
    )
    starts = room.starts
    del room
    numbers, n_entries = _numbered(rows, offsets)
    matrix = rows.matrix()
    if n_entries:
        matrix = Matrix(n_items, most, indptr=indptr, indices=np.empty(0, dtype=np.int32))
        matrix.number_by_list(numbers)
    return Bundles(matrix, members.matrix(), starts, n_entries)


def _numbered(rows: Sparse, offsets: Index) -> tuple[ListNumbers, int]:
    """Return the numbers of each bundle with each of its values, and the most of a list; 0: too many."""
    numbers = ListNumbers(rows, len(offsets) - 1, 0, by_value=True)
    assert numbers.place is not None
    items = np.arange(rows.n_items, dtype=np.int64)
    most: int = _blocks.number_by_list(rows.matrix(), offsets, items, numbers)
    if most <= 0:
        return numbers, 0
    bounds = numbers.bounds
    of_list = np.repeat(bounds[0, :-1], np.diff(bounds[1]))
    numbers.place = numbers.features[of_list + numbers.place[: bounds[1, -1]]].astype(np.uint16)
    return numbers, most


class _Found(NamedTuple):
    n_bundles: int
    n_members: int
    n_values: int


def _bundled(features: Features, offsets: Index, items: Index) -> tuple[_Room, _Found]:
    room = _Room(features, len(offsets) - 1, items)
    return room, _Found(*_bundles.bundle(features.matrix(), offsets, items, room))


class _Room:
    """Room for the bundles of lists, of which only the start is touched; see _bundles.bundle."""

    def __init__(self, features: Features, n_lists: int, items: Index) -> None:
        block = features.rows if isinstance(features, Mixed) else features
        assert isinstance(block, Sparse)
        n = int(np.diff(block.indptr)[items].sum())
        if isinstance(features, Mixed):
            n += len(items) * len(features.places)
        self.starts = np.empty(n_lists + 1, dtype=np.int64)
        self.member_indptr = np.empty(n + 2, dtype=np.int64)
        self.members = np.empty(n, dtype=np.int32)
        self.indptr = np.empty(len(items) + 2, dtype=np.int64)
        self.indices = np.empty(n, dtype=np.int32)
        self.data = np.empty(n)
