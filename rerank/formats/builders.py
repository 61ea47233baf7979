"""Columns that grow line by line, so that a reader holds the arrays it makes and one line of the file."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from rerank.core.errors import DataError, FormatError, RerankError
from rerank.core.files import read as files
from rerank.core.memory import SMALL, require
from rerank.core.system import private_pages
from rerank.core.types import AnyArray, Bytes, DTypeLike, Index
from rerank.data.columns.forests import BracketError, Forest, TreeReader
from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.formats.buffers import BOM
from rerank.formats.common import STORE, note_regrouped, quoted

BLANKS = b" \t\r\n"
_FIRST = 1 << 16  # bytes of rows at first
_STEP = 1 << 27  # bytes of rows after which the memory that is left is looked at again
_PACKED = 1024  # rows that are packed at once


def whole_lines(path: str) -> Iterator[bytes]:
    """Yield the content of a file ("-" = standard input), decompressed, in blocks of whole lines.

    Every line ends in a newline, even if the file does not; a byte order mark at the start is skipped. Blocks
    are longer than ``files.BLOCK`` only if a line is.
    """
    parts: list[bytes] = []
    first = True
    held = 0
    for block in files.read_blocks(path):
        held += len(block)
        if held < files.BLOCK:  # blocks of archives are much smaller
            parts.append(block)
            continue
        cut = block.rfind(b"\n") + 1
        parts.append(block[:cut] if cut else block)
        if cut:
            lines = b"".join(parts)
            yield lines.removeprefix(BOM) if first else lines
            first = False
            parts = [block[cut:]]
            held = len(parts[0])
    last = b"".join(parts)
    if first:
        last = last.removeprefix(BOM)
    if last:
        yield last if last.endswith(b"\n") else last + b"\n"


def each_line(path: str) -> Iterator[bytes]:
    """Yield the lines of a file without their newlines; see ``whole_lines``."""
    for lines in whole_lines(path):
        parts = lines.split(b"\n")
        parts.pop()
        yield from parts


def filled_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number, from 1, and the content of each line that is not blank; see ``each_line``."""
    number = 1
    for lines in whole_lines(path):
        if lines.strip(BLANKS):  # millions of blank lines cost nothing
            parts = lines.split(b"\n")
            parts.pop()
            yield from (line for line in enumerate(parts, number) if line[1].strip(BLANKS))
        number += lines.count(b"\n")


class Rows:
    """An array (n, width), or (n) without a width, that grows at its end.

    Its pages are moved as it grows, not copied, and those that hold nothing yet take no memory.

    Parameters
    ----------
    what : str, what the rows are, for the error if memory does not suffice.
    dtype : data type
    width : int, optional
    """

    def __init__(self, what: str, dtype: DTypeLike, width: int | None = None) -> None:
        self._what = what
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._dtype = np.dtype(dtype)
        self._row = self._dtype.itemsize * (1 if width is None else width)
        self._n = 0
        self._asked = SMALL
        self._pages = private_pages(_FIRST)

    def __len__(self) -> int:
        return self._n

    def holds(self, n: int) -> bool:
        """Return whether ``more`` would not move the rows that there are."""
        return (self._n + n) * self._row <= len(self._pages)

    def more(self, n: int) -> AnyArray:
        """Return ``n`` new rows to be filled, before the next call and no later.

        Raises RerankError if memory does not suffice.
        """
        start = self._n * self._row
        self._n += n
        needed = self._n * self._row
        if needed > self._asked:
            require(max(needed - start, _STEP), self._what)
            self._asked = needed + _STEP
        if needed > len(self._pages):
            try:
                self._resize(max(needed, len(self._pages) + len(self._pages) // 2))
            except (MemoryError, OverflowError, OSError):
                raise RerankError(f"the system has no memory for {self._what}") from None
        return self._array(n, start)

    def drop(self, n: int) -> None:
        """Take back the last ``n`` rows."""
        self._n -= n

    def select(self, columns: Sequence[int]) -> None:
        """Leave out all but these columns, ascending, in the same memory."""
        (width,) = self._shape
        flat = self._array(self._n, 0).reshape(-1)
        for start in range(0, self._n, _PACKED):  # each row moves to a place before its own
            stop = min(start + _PACKED, self._n)
            rows = flat[start * width : stop * width].reshape(-1, width)
            flat[start * len(columns) : stop * len(columns)] = rows[:, columns].reshape(-1)
        self._shape = (len(columns),)
        self._row = len(columns) * self._dtype.itemsize

    def array(self) -> AnyArray:
        """Return all rows without copying them; nothing can be added afterwards."""
        self._resize(max(self._n * self._row, 1))
        return self._array(self._n, 0)

    def _array(self, n: int, start: int) -> AnyArray:
        if n * self._row == 0:
            return np.empty((n, *self._shape), dtype=self._dtype)
        values = np.frombuffer(self._pages, dtype=np.uint8, count=n * self._row, offset=start)
        return values.view(self._dtype).reshape(n, *self._shape)

    def _resize(self, size: int) -> None:
        try:
            self._pages.resize(size)
        except (BufferError, SystemError, ValueError, OSError):  # rows are in use, or no pages can be moved
            old, self._pages = self._pages, private_pages(size)
            kept = min(len(old), size)
            with memoryview(old) as source, memoryview(self._pages) as target:
                target[:kept] = source[:kept]


class StringBuilder:
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
        self.append(column.data, column.lengths())

    def append(self, data: Bytes, lengths: Index) -> None:
        """Add the strings of these lengths that ``data`` consists of."""
        self._data += data.data
        self._lengths.frombytes(lengths.tobytes())

    def column(self) -> StringColumn:
        """Return the strings without copying their bytes; nothing can be added afterwards."""
        return StringColumn(np.frombuffer(self._data, dtype=np.uint8), offsets_of(self._lengths))


class Grouper:
    """The list of each item, by the name in its line; lists are in order of first appearance.

    If the items of a list are not contiguous, they are brought together and ``finish`` warns; with ``strict``
    that is an error.

    Attributes
    ----------
    last : the list of the last item, None without items.
    """

    def __init__(self, path: str, strict: bool) -> None:
        self._path = path
        self._strict = strict
        self._numbers: dict[str, int] = {}
        self._codes = array("q")
        self.last: str | None = None
        self._code = -1
        self._apart: set[int] = set()
        self._apart_line = 0

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, name: str, line: int, n: int = 1) -> int:
        """Add ``n`` items and return the number of their list; raises FormatError, see above."""
        if name != self.last:
            known = len(self._numbers)
            self._code = self._numbers.setdefault(name, known)
            if self._code < known:
                self._note_again(name, line)
            self.last = name
        if n == 1:
            self._codes.append(self._code)
        else:
            self._codes.extend(array("q", [self._code]) * n)
        return self._code

    def are_new(self, names: Sequence[str]) -> bool:
        """Return whether no list was added that has one of these names, and they all differ."""
        found = set(names)
        return len(found) == len(names) and self._numbers.keys().isdisjoint(found)

    def add_new(self, names: Sequence[str], sizes: Index) -> None:
        """Add all items of new lists, see ``are_new``; sizes : int64, how many each has."""
        known = len(self._numbers)
        self._numbers.update(zip(names, range(known, known + len(names)), strict=True))
        codes = np.repeat(np.arange(known, known + len(names)), sizes)
        self._codes.frombytes(codes.tobytes())
        self.last, self._code = names[-1], known + len(names) - 1

    def extend(self, names: Sequence[str], sizes: Index, line_of: Callable[[int], int]) -> None:
        """Add runs of items; ``line_of`` returns the first line of a run; raises FormatError, see above.

        sizes : int64 (n_runs), at least 1.
        """
        start = 0
        if names and names[0] == self.last:
            self.add(names[0], 0, int(sizes[0]))
            start = 1
        if start < len(names) and self.are_new(names[start:]):
            self.add_new(names[start:], sizes[start:])
            return
        for i in range(start, len(names)):
            is_first = not self._apart_line and names[i] in self._numbers
            self.add(names[i], line_of(i) if is_first else 0, int(sizes[i]))

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
        return offsets, _column_of(self._numbers), rows


def _column_of(names: Collection[str]) -> StringColumn:
    text = "".join(names)
    if not text.isascii():
        return StringColumn.from_strings(name.encode() for name in names)
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    return StringColumn(data, offsets_of(np.fromiter(map(len, names), dtype=np.int64)))


class ForestBuilder:
    """A forest that grows; all forests of one ``reader`` number their symbols in the same way."""

    def __init__(self, reader: TreeReader) -> None:
        self._reader = reader
        self._lengths = array("q")
        self._symbols = bytearray()
        self._sizes = bytearray()

    def __len__(self) -> int:
        return len(self._lengths)

    def read(self, text: Bytes, spans: Index) -> None:
        """Add the trees at ``spans`` of a text, see ``TreeReader.read``; raises BracketError."""
        part = self._reader.read(text, spans)
        self._lengths.frombytes(part.lengths().tobytes())
        self._symbols += part.symbols.data
        self._sizes += part.sizes.data

    def fill(self, n: int) -> None:
        """Add missing trees until there are ``n``."""
        self._lengths.extend([0] * (n - len(self)))

    def forest(self) -> Forest:
        """Return the trees without copying their nodes; nothing can be added afterwards."""
        symbols, sizes = (np.frombuffer(nodes, dtype=np.int32) for nodes in (self._symbols, self._sizes))
        return Forest(offsets_of(self._lengths), symbols, sizes, self._reader.vocabulary, check=False)


def bracket_strings(forest: Forest, what: str, name: str, path: str) -> StringColumn:
    """Return trees in brackets; raise DataError if format ``name`` would read one back as another.

    what : what one of the trees is, for the message.
    path : the file that is written.
    """
    strings = forest.to_strings()
    try:
        again = Forest.from_strings(strings) == forest
    except BracketError:
        again = False
    if not again:
        raise DataError(f"{path}: {name} would read a {what} back as another; {STORE}")
    return strings
