"""A column of strings as one buffer: ids and texts of millions of items without millions of objects."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rerank.errors import DataError


class StringColumn(Sequence[str]):
    """Strings kept as UTF-8 bytes and int64 offsets.

    ``data`` is uint8 (n_bytes), ``offsets`` is int64 (n + 1); string i is
    ``data[offsets[i]:offsets[i + 1]]``. Bytes that are not UTF-8 survive a round trip (they decode
    by surrogateescape).
    """

    __slots__ = ("data", "offsets")

    def __init__(self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> None:
        if data.ndim != 1 or data.dtype != np.uint8 or offsets.ndim != 1 or offsets.dtype != np.int64:
            raise DataError("string column: expected a uint8 vector and an int64 vector")
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(data) or np.any(np.diff(offsets) < 0):
            raise DataError("string column: offsets must rise from 0 to the number of bytes")
        self.data = data
        self.offsets = offsets

    @classmethod
    def from_strings(cls, strings: Iterable[str | bytes]) -> StringColumn:
        """A column holding ``strings`` in their order."""
        parts = [s if isinstance(s, bytes) else s.encode("utf-8", "surrogateescape") for s in strings]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, parts), dtype=np.int64, count=len(parts)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def bytes_at(self, index: int) -> bytes:
        """The bytes of string ``index`` (not negative)."""
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes()

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        size = len(self)
        if not -size <= index < size:
            raise IndexError(index)
        return self.bytes_at(index % size).decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        blob = self.data.tobytes()
        bounds = self.offsets.tolist()
        for start, stop in itertools.pairwise(bounds):
            yield blob[start:stop].decode("utf-8", "surrogateescape")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StringColumn):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"StringColumn({len(self)} strings, {len(self.data)} bytes)"

    def lengths(self) -> npt.NDArray[np.int64]:
        """Length of each string in bytes, int64 (n)."""
        return np.diff(self.offsets)

    def take(self, index: npt.NDArray[np.int64]) -> StringColumn:
        """The strings at ``index`` (not negative), in that order."""
        lengths = self.lengths()[index]
        offsets = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        source = np.repeat(self.offsets[:-1][index] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return StringColumn(self.data[source], offsets)
