"""Hashes of ids: an id that occurs again is found without keeping the ids, 8 bytes each and a value."""

from __future__ import annotations

import numpy as np

from rerank.core.types import AnyArray, Index


class KnownIds:
    """Hashes of ids, each with a number, in sorted parts that are each at least twice as long as the next."""

    def __init__(self) -> None:
        self._parts: list[tuple[AnyArray, Index]] = []

    def find(self, hashes: AnyArray) -> tuple[Index, Index]:
        """Return the places of the hashes that are known, in no order, and their numbers."""
        places, numbers = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for known, own in self._parts:
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            found = np.flatnonzero(known[at] == hashes)
            places.append(found)
            numbers.append(own[at[found]])
        return np.concatenate(places), np.concatenate(numbers)

    def add(self, hashes: AnyArray, numbers: Index) -> None:
        """Add hashes (n) with their numbers (n)."""
        order = np.argsort(hashes, kind="stable")
        hashes, numbers = hashes[order], numbers[order]
        while self._parts and len(self._parts[-1][0]) < 2 * len(hashes):
            known, own = self._parts.pop()
            hashes, numbers = np.concatenate([known, hashes]), np.concatenate([own, numbers])
            order = np.argsort(hashes, kind="stable")
            hashes, numbers = hashes[order], numbers[order]
        self._parts.append((hashes, numbers))
