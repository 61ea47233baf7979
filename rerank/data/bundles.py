"""Sparse features of lists, with those that have the same column in a list as one bundle.

Candidates of one list share structure, so that most features of a list come and go together: in 50-best
parses, 45 million values of 150,000 features are 5 million members and 7 million values of bundles. A sum
over rows then reads each value of a bundle once, and each member twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.core.types import Index
from rerank.data.blocks import ListNumbers
from rerank.data.matrix import Features, Mixed, Sparse
from rerank.native.data import _blocks, _bundles
from rerank.native.data._matrix import Matrix

SMALL = 100_000  # values that are not worth it
WORTH = 0.5  # members and values of bundles for each value of a feature
SAMPLE = 64


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

    Parameters
    ----------
    features
        Of any layout; dense ones are never worth it.
    offsets, items
        int64 (n_lists + 1) and (n_items): the rows of each list.
    """
    block = features.rows if isinstance(features, Mixed) else features
    if not isinstance(block, Sparse) or block.n_values < SMALL:
        return False
    sample = np.unique(np.linspace(0, len(offsets) - 2, SAMPLE).astype(np.int64))
    rows = np.concatenate([items[offsets[i] : offsets[i + 1]] for i in sample.tolist()])
    bounds = np.concatenate([[0], np.cumsum(np.diff(offsets)[sample])])
    room, found = _bundled(features.take(rows), bounds, np.arange(len(rows), dtype=np.int64))
    return found.n_members + found.n_values <= WORTH * len(room.data)


def bundle(features: Features, offsets: Index, items: Index) -> Bundles:
    """Return the rows of the lists in terms of bundles.

    Parameters
    ----------
    features
        Sparse or mixed ones.
    offsets, items
        int64 (n_lists + 1) and (n_items): the rows of each list.
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
