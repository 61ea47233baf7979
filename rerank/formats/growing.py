"""Columns that grow line by line, so that a reader holds the arrays it makes and one line of the file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.types import Index
from rerank.errors import FormatError
from rerank.files import read_blocks
from rerank.formats.buffers import BOM
from rerank.formats.common import note_regrouped, quoted


def whole_lines(path: str) -> Iterator[bytes]:
    """Yield the content of a file ("-" = standard input), decompressed, in blocks of whole lines.

    Every line ends in a newline, even if the file does not; a byte order mark at the start is skipped. Blocks
    are longer than ``files.BLOCK`` only if a line is.
    """
    parts: list[bytes] = []
    first = True
    for block in read_blocks(path):
        cut = block.rfind(b"\n") + 1
        parts.append(block[:cut] if cut else block)
        if cut:
            lines = b"".join(parts)
            yield lines.removeprefix(BOM) if first else lines
            first = False
            parts = [block[cut:]]
    last = b"".join(parts)
    if first:
        last = last.removeprefix(BOM)
    if last:
        yield last + b"\n"


def each_line(path: str) -> Iterator[bytes]:
    """Yield the lines of a file without their newlines; see ``whole_lines``."""
    for lines in whole_lines(path):
        parts = lines.split(b"\n")
        parts.pop()
        yield from parts


class Strings:
    """A StringColumn that grows."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._lengths = array("q")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, string: bytes) -> None:
        """Add one string."""
        self._data += string
        self._lengths.append(len(string))

    def extend(self, strings: Sequence[bytes]) -> None:
        """Add some strings."""
        self._data += b"".join(strings)
        self._lengths.extend(map(len, strings))

    def join(self, column: StringColumn) -> None:
        """Add the strings of a column."""
        self._data += column.data.data
        self._lengths.frombytes(column.lengths().tobytes())

    def column(self) -> StringColumn:
        """Return the strings without copying their bytes; nothing can be added afterwards."""
        return StringColumn(np.frombuffer(self._data, dtype=np.uint8), offsets_of(self._lengths))


class Grouping:
    """The list of each item, by the name in its line; lists are in order of first appearance.

    If the items of a list are not contiguous, they are brought together and ``finish`` warns; with ``strict``
    that is an error.
    """

    def __init__(self, path: str, strict: bool) -> None:
        self._path = path
        self._strict = strict
        self._numbers: dict[str, int] = {}
        self._codes = array("q")
        self._last: str | None = None
        self._code = -1
        self._apart: set[int] = set()
        self._apart_line = 0

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, name: str, line: int, n: int = 1) -> int:
        """Add ``n`` items and return the number of their list; raises FormatError, see above."""
        if name != self._last:
            known = len(self._numbers)
            self._code = self._numbers.setdefault(name, known)
            if self._code < known:
                self._note_again(name, line)
            self._last = name
        if n == 1:
            self._codes.append(self._code)
        else:
            self._codes.extend(array("q", [self._code]) * n)
        return self._code

    def _note_again(self, name: str, line: int) -> None:
        if self._strict:
            found = f"list {quoted(name)} again"
            raise FormatError(self._path, line, found, "the lines of a list together")
        self._apart_line = self._apart_line or line
        self._apart.add(self._code)

    def finish(self) -> tuple[Index, StringColumn, Index | None]:
        """Return offsets, ids of lists, and ``rows`` (None if items keep their order)."""
        if self._apart:
            note_regrouped(self._path, len(self._apart), self._apart_line)
        offsets, rows = grouped(np.frombuffer(self._codes, dtype=np.int64))
        return offsets, StringColumn.from_strings(name.encode() for name in self._numbers), rows
