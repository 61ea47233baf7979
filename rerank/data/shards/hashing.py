"""Hashes of ids: an id that occurs again is found without keeping the ids, 8 bytes each and a value."""

from __future__ import annotations

import os

import numpy as np

from rerank.core.types import AnyArray, Index
from rerank.data.columns.strings import StringColumn

# One for each place, other ones in every process: no ids can be made to collide.
_factors: list[AnyArray] = [np.empty(0, dtype=np.uint64)]


def hashes_of(ids: StringColumn) -> AnyArray:
    """Return a hash of each id within this process, uint64 (n).

    It is the sum, modulo 2^64, of (byte + 1) times a random odd number for each place (multilinear hashing):
    two ids have the same one with a probability of about 2^-64.
    """
    lengths = ids.lengths()
    longest = int(lengths.max(initial=0))
    if longest > len(_factors[0]):
        more = np.frombuffer(os.urandom(16 * longest), dtype=np.uint64) | np.uint64(1)
        _factors[0] = np.concatenate([_factors[0], more])
    starts = ids.offsets[:-1] - ids.offsets[0]
    data = ids.data[ids.offsets[0] : ids.offsets[-1]]
    places = np.arange(len(data), dtype=np.int64) - np.repeat(starts, lengths)
    sums = np.zeros(len(data) + 1, dtype=np.uint64)
    np.cumsum((data.astype(np.uint64) + np.uint64(1)) * _factors[0][places], out=sums[1:])
    return sums[starts + lengths] - sums[starts]


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


def first_again(hashes: AnyArray) -> tuple[int, int] | None:
    """Return the place of a hash that occurs twice and where it was before, None if all differ."""
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    if not len(same):
        return None
    k = same[np.argmin(order[same + 1])]
    return int(order[k + 1]), int(order[k])
