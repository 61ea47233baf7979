"""The lines of a table: its header, then blocks of plain lines, and rows where cells may be quoted."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from rerank.errors import FormatError
from rerank.files import plain_suffix, shown
from rerank.formats.growing import whole_lines
from rerank.text import count

_ROWS = 4096
_LONGEST_CELL = 1 << 30

Rows = tuple[list[list[str]], list[int]]  # and the line on which each starts


@contextmanager
def long_cells() -> Iterator[None]:
    """The csv module refuses cells of more than 128 kB unless told otherwise, for the whole process."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class Source:
    """A table's header and separator, and what stands behind it.

    A quoted cell may go over several lines, so from the first quote of the file on (behind the header)
    there are only rows, as the csv module splits them. Raises FormatError where it cannot.
    """

    def __init__(self, path: str) -> None:
        self.name = shown(path)
        self._blocks = whole_lines(path)
        first = next(self._blocks, None)
        if first is None:
            raise FormatError(self.name, None, "an empty file", "a header of column names")
        line, _, self._rest = first.partition(b"\n")
        if not line.strip():
            raise FormatError(self.name, 1, "an empty line", "a header of column names")
        (text,) = self._decoded(line + b"\n", 1)
        self.delimiter = self._delimiter(path, text)
        self._line = 2
        self._quoted = False
        try:
            self.header = next(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error:  # or a name that goes over several lines
            self._quoted = True
            self._line = 1
            self._rest = first
            rows = self._rows(itertools.chain([self._rest], self._blocks), 1)
            self.header = next(rows)[0]
            self._later = rows

    def _delimiter(self, path: str, header: str) -> str:
        suffix = plain_suffix(path)
        if suffix in (".csv", ".tsv"):
            return "," if suffix == ".csv" else "\t"
        found = [mark for mark in (",", "\t") if mark in header]
        if len(found) != 1:
            what = "commas and tabs" if found else "neither comma nor tab"
            raise FormatError(
                self.name, 1, f"{what} in the header", "one of them (a file named .csv or .tsv says which)"
            )
        return found[0]

    def plain_blocks(self) -> Iterator[tuple[bytes, int]]:
        """Whole lines as far as the first quote, and the number of the first of each block."""
        if self._quoted:
            return
        for block in itertools.chain([self._rest], self._blocks):
            if b'"' in block:
                self._later = self._rows(itertools.chain([block], self._blocks), self._line)
                self._quoted = True
                return
            if block:
                yield block, self._line
                self._line += block.count(b"\n")

    def quoted_rows(self) -> Iterator[Rows]:
        """The rows behind the plain blocks, once those have been taken."""
        if self._quoted:
            yield from self._gathered(self._later)

    def rows_of(self, block: bytes, line: int) -> Iterator[Rows]:
        """The rows of a plain block that starts on ``line``."""
        return self._gathered(self._rows(iter([block]), line))

    def _gathered(self, rows: Iterator[tuple[list[str], int]]) -> Iterator[Rows]:
        """Rows of as many cells as the header has, some thousand at a time."""
        width = len(self.header)
        while some := list(itertools.islice(rows, _ROWS)):
            for cells, line in some:
                if len(cells) != width:
                    found = count(len(cells), "cell")
                    raise FormatError(self.name, line, found, f"{width}, as the header has")
            yield [cells for cells, _ in some], [line for _, line in some]

    def _rows(self, blocks: Iterator[bytes], line: int) -> Iterator[tuple[list[str], int]]:
        """Rows that are no blank lines, and the line on which each starts."""
        lines = self._lines(blocks, line)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        while True:
            start = line + reader.line_num
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise FormatError(self.name, start, f"no row ({error})", "cells as CSV quotes them") from None
            if row:
                yield row, start

    def _lines(self, blocks: Iterator[bytes], line: int) -> Iterator[str]:
        for block in blocks:
            yield from self._decoded(block, line)
            line += block.count(b"\n")

    def _decoded(self, block: bytes, line: int) -> list[str]:
        """The lines of a block with their newlines."""
        try:
            text = block.decode()
        except UnicodeDecodeError as error:
            line += block.count(b"\n", 0, error.start)
            raise FormatError(self.name, line, "bytes that are not UTF-8", "text") from None
        return [part + "\n" for part in text[:-1].split("\n")]
