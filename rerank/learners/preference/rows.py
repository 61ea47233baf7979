"""Rows of a kernel on items, computed when they are needed and kept as long as there is room."""

from __future__ import annotations

import numpy as np

from rerank.core import memory
from rerank.core.types import Index
from rerank.models.preference import kernel_rows
from rerank.similarity.expression import Items


class KernelRows:
    """The kernel of items with all items.

    The kernel is symmetric: what is in a row that is kept is not computed again for other rows. If all rows
    fit, each value is computed once at most. Otherwise the rows that were not used for longest make room.

    Parameters
    ----------
    items
        All items.
    room
        Bytes that rows may take, which is enough for two rows if it is less.

    Attributes
    ----------
    values
        float64 (capacity, n).
    n, capacity
        Items, and rows that are kept at most.

    Raises
    ------
    RerankError
        If there is no memory for the rows.
    """

    def __init__(self, items: Items, room: float) -> None:
        self.n = items.n
        self.capacity = int(min(self.n, max(room // (8 * self.n), 2)))
        what = f"{self.capacity:,} rows of the kernel of {self.n:,} items"
        memory.require(8 * self.capacity * self.n, what, "a smaller cache needs less")
        self.values = np.empty((self.capacity, self.n))
        self._items = items
        self._slots = np.full(self.n, -1, dtype=np.int64)  # of each item's row
        self._owners = np.full(self.capacity, -1, dtype=np.int64)  # the item of each slot
        self._used = np.zeros(self.capacity, dtype=np.int64)  # when it was fetched last
        self._time = 0

    def fetch(self, wanted: Index) -> Index:
        """Return the places in ``values`` of the rows of items, ``capacity`` different ones at most."""
        self._time += 1
        kept = self._slots[wanted]
        self._used[kept[kept >= 0]] = self._time
        missing = np.sort(wanted[kept < 0])  # neighbours share trees, such as their question's
        if len(missing):
            slots = np.argsort(self._used, kind="stable")[: len(missing)]
            left = self._owners[slots]
            self._slots[left[left >= 0]] = -1
            self._compute(missing, slots)
            self._slots[missing] = slots
            self._owners[slots] = missing
            self._used[slots] = self._time
        found: Index = self._slots[wanted]
        return found

    def _compute(self, items: Index, slots: Index) -> None:
        """Fill the rows of some items, from the other rows that are kept as far as these go."""
        known, rest = np.flatnonzero(self._slots >= 0), np.flatnonzero(self._slots < 0)
        self.values[np.ix_(slots, known)] = self.values[np.ix_(self._slots[known], items)].T
        self.values[np.ix_(slots, rest)] = kernel_rows(self._items, items, self._items.take(rest))
