"""Columns that grow line by line, so that a reader holds the arrays it makes and one line of the file."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rerank.data.lists import offsets_of
from rerank.data.strings import StringColumn
from rerank.errors import DataNote, FormatError
from rerank.files import read_blocks
from rerank.wording import count

Index = npt.NDArray[np.int64]

_BOM = b"\xef\xbb\xbf"
_SHOWN = 40


def each_line(path: str) -> Iterator[bytes]:
    """The lines of a file ("-" = standard input), decompressed, split at newlines alone and without them.

    A byte order mark at the start is no text. One line is held at a time, and a block of the file.
    """
    parts: list[bytes] = []
    first = True
    for block in read_blocks(path):
        begin, *lines = block.split(b"\n")
        parts.append(begin)
        if not lines:
            continue
        line = b"".join(parts)
        yield line.removeprefix(_BOM) if first else line
        first = False
        parts = [lines.pop()]
        yield from lines
    line = b"".join(parts)
    if first:
        line = line.removeprefix(_BOM)
    if line:
        yield line


def quoted(text: str) -> str:
    """A piece of a file for a message: quoted, control characters escaped, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "...")


class Strings:
    """A StringColumn that grows."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._lengths = array("q")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, string: bytes) -> None:
        self._data += string
        self._lengths.append(len(string))

    def column(self) -> StringColumn:
        """The strings so far, without a copy of their bytes; nothing can be added afterwards."""
        return StringColumn(np.frombuffer(self._data, dtype=np.uint8), offsets_of(self._lengths))


class Grouping:
    """The list of each item, by the name that its line gives; lists in order of first appearance.

    ``strict`` refuses items of one list that do not stand together; else they are brought together, and
    ``finish`` says so.
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

    def add(self, name: str, line: int) -> int:
        """One more item; returns the number of its list. Raises FormatError, see above."""
        if name != self._last:
            known = len(self._numbers)
            self._code = self._numbers.setdefault(name, known)
            if self._code < known:
                self._stands_apart(name, line)
            self._last = name
        self._codes.append(self._code)
        return self._code

    def _stands_apart(self, name: str, line: int) -> None:
        if self._strict:
            found = f"list {quoted(name)} again"
            raise FormatError(self._path, line, found, "the lines of a list together")
        self._apart_line = self._apart_line or line
        self._apart.add(self._code)

    def finish(self) -> tuple[Index, StringColumn, Index | None]:
        """Offsets, ids of lists, and ``rows`` (None where items keep their order)."""
        codes = np.frombuffer(self._codes, dtype=np.int64)
        rows = None
        if self._apart:
            rows = np.argsort(codes, kind="stable").astype(np.int64)
            note = (
                f"{self._path}: the lines of {count(len(self._apart), 'list')} stand apart "
                f"(from line {self._apart_line}); they are brought together"
            )
            warnings.warn(note, DataNote, stacklevel=2)
        ids = StringColumn.from_strings(name.encode() for name in self._numbers)
        return offsets_of(np.bincount(codes)), ids, rows
