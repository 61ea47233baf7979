"""A column of strings as one buffer: ids and texts of millions of items without millions of objects."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Bytes, Index, Mask
from rerank.data.columns.offsets import are_bounds, offsets_of
from rerank.native.data import _strings


def utf8(string: str) -> bytes:
    """Return a string as UTF-8, bytes that were not UTF-8 as they were; raises DataError if it has none."""
    try:
        return string.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        found = f"a lone surrogate (\\u{ord(string[error.start]):04x})"
        raise DataError(f"found {found}, expected text that UTF-8 can hold") from None


class StringColumn(Sequence[str]):
    """Strings kept as UTF-8 bytes and int64 offsets.

    String i is ``data[offsets[i]:offsets[i + 1]]``. Bytes that are not UTF-8 survive a round trip (they
    decode by surrogateescape). Raises DataError if the arrays are not of this form.

    Parameters
    ----------
    data : uint8 (n_bytes)
    offsets : int64 (n + 1)
    """

    __slots__ = ("_checked", "data", "offsets")

    def __init__(self, data: Bytes, offsets: Index) -> None:
        if data.ndim != 1 or data.dtype != np.uint8 or offsets.ndim != 1 or offsets.dtype != np.int64:
            raise DataError("string column: expected a uint8 vector and an int64 vector")
        if not are_bounds(offsets, len(data)):
            raise DataError("string column: offsets must rise from 0 to the number of bytes")
        self.data = data
        self.offsets = offsets
        self._checked: tuple[Index, int] | None = None

    @classmethod
    def from_strings(cls, strings: Iterable[str | bytes]) -> StringColumn:
        """Return the column of ``strings``, in their order; raises DataError at a lone surrogate."""
        parts = [s if isinstance(s, bytes) else utf8(s) for s in strings]
        lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def bytes_at(self, index: int) -> bytes:
        """Return the bytes of string ``index`` (not negative)."""
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        size = len(self)
        if not -size <= index < size:
            raise IndexError(index)
        return self.bytes_at(index % size).decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        blob = self.data.tobytes()
        bounds = itertools.pairwise(self.offsets.tolist())
        if blob.isascii():
            text = blob.decode("ascii")
            yield from (text[start:stop] for start, stop in bounds)
        else:
            yield from (blob[start:stop].decode("utf-8", "surrogateescape") for start, stop in bounds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringColumn):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"StringColumn({len(self)} strings, {len(self.data)} bytes)"

    def arrays(self) -> dict[str, AnyArray]:
        """Return the column's arrays by name."""
        return {"bytes": self.data, "offsets": self.offsets}

    def lengths(self) -> Index:
        """Return the length of each string in bytes, int64 (n)."""
        return np.diff(self.offsets)

    def take(self, index: Index) -> StringColumn:
        """Return the strings at ``index`` (not negative), in that order."""
        if len(index) and index.min() < 0:
            raise DataError("string column: found an index below 0, expected 0 or more")
        offsets = offsets_of(self.lengths()[index])
        data = np.empty(offsets[-1], dtype=np.uint8)
        _strings.take(self.data, self.offsets, np.ascontiguousarray(index, dtype=np.int64), offsets, data)
        return StringColumn(data, offsets)

    def repeated(self, lists: Index) -> Mask:
        """Return whether each string occurred earlier in its list, bool (n); ``lists`` are their bounds."""
        out = np.zeros(len(self), dtype=np.uint8)
        if len(self.data) == 0:  # all are empty
            out[:] = 1
            out[lists[:-1]] = 0
        elif self.first_fault(lists) >= 0:
            _strings.mark_repeated(self.data, self.offsets, lists, _slots(lists), out)
        return out.view(np.bool_)

    def first_fault(self, lists: Index) -> int:
        """Return the first string that is empty or equals an earlier one of its list, -1 if there is none.

        ``lists`` are the bounds of the lists; the answer for the last ones is kept.
        """
        if self._checked is None or self._checked[0] is not lists:
            fault = _strings.first_fault(self.data, self.offsets, lists, _slots(lists))
            self._checked = lists, fault
        return self._checked[1]

    def places_in(
        self, lists: Index, other: StringColumn, other_lists: Index, partners: Index | None = None
    ) -> Index:
        """Return where another column has each string: int64 (n), -1 if its list there has none.

        lists, other_lists : the bounds of the lists of both columns.
        other : of equal strings in a list the first one is found.
        partners : int64 (n_lists), optional
            The list of the other column for each list, -1 = none. None = both have the same lists.
        """
        if partners is None:
            partners = np.arange(len(lists) - 1)
        out = np.empty(len(self), dtype=np.int64)
        _strings.match(
            *(self.data, self.offsets, lists, partners),
            *(other.data, other.offsets, other_lists, _slots(other_lists), out),
        )
        return out


def _slots(lists: Index) -> AnyArray:
    """Return room for a hash table of the strings of any of these lists."""
    longest = int(np.diff(lists).max(initial=0))
    return np.empty(1 << max(2, (2 * longest).bit_length()), dtype=np.uint64)


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


def first_again(hashes: AnyArray) -> tuple[int, int] | None:
    """Return the place of a hash that occurs twice and where it was before, None if all differ."""
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
    if not len(same):
        return None
    k = same[np.argmin(order[same + 1])]
    return int(order[k + 1]), int(order[k])
