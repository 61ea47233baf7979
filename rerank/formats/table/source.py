"""The rows of a CSV or TSV file: its header, then blocks of rows as places of cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.types import Bytes, Index
from rerank.errors import FormatError
from rerank.files import plain_suffix, shown
from rerank.formats.buffers import strings_at
from rerank.formats.growing import whole_lines
from rerank.native.formats._table import FAULTS, split_rows
from rerank.text import count

_PADDING = 64  # readable bytes that kernels need after the text
_FAULTS = {
    FAULTS["open"]: "a quote that is never closed",
    FAULTS["quote"]: "text after a closing quote",
    FAULTS["return"]: "a carriage return within a line",
}


@dataclass
class Rows:
    """Some rows of a table.

    text : uint8, quoted cells in it are unquoted.
    spans : int64 (n_rows, n_columns, 2), the start and the length of each cell in ``text``.
    lines : int64 (n_rows), the line on which each row starts, from 1.
    """

    text: Bytes
    spans: Index
    lines: Index

    def cell(self, row: int, column: int) -> bytes:
        """Return the content of one cell."""
        start, length = self.spans[row, column].tolist()
        return self.text[start : start + length].tobytes()

    def column(self, column: int) -> StringColumn:
        """Return all cells of a column."""
        return strings_at([(self.text, self.spans[:, column], np.arange(len(self.lines)))])


class Source:
    """A table's header and separator, and the rows below it. Raises FormatError if there is no header."""

    def __init__(self, path: str) -> None:
        self.name = shown(path)
        self._blocks = whole_lines(path)
        self._rest = next(self._blocks, b"")
        if not self._rest:
            raise FormatError(self.name, None, "an empty file", "a header of column names")
        first, _, _ = self._rest.partition(b"\n")
        if not first.strip():
            raise FormatError(self.name, 1, "an empty line", "a header of column names")
        self.delimiter = self._delimiter(path, first)
        self._line = self._next_line = 1
        self.header = self._header()

    def _delimiter(self, path: str, header: bytes) -> bytes:
        suffix = plain_suffix(path)
        if suffix in (".csv", ".tsv"):
            return b"," if suffix == ".csv" else b"\t"
        found = [mark for mark in (b",", b"\t") if mark in header]
        if len(found) != 1:
            what = "commas and tabs" if found else "neither comma nor tab"
            expected = "one of them (a suffix .csv or .tsv decides)"
            raise FormatError(self.name, 1, f"{what} in the header", expected)
        return found[0]

    def _header(self) -> list[str]:
        """Return the cells of the first row and go on to the rows below it."""
        while True:
            most = self._rest.count(self.delimiter) + 1
            rows, used, fault, n = self._split(1, most, any_width=True)
            if len(rows.lines):
                self._check_utf8(self._rest[:used])
                self._go_on(used)
                return [rows.cell(0, j).decode() for j in range(n)]
            self._read_on(fault)

    def rows(self) -> Iterator[Rows]:
        """Yield the rows below the header, many at a time, each as wide as the header.

        Raises FormatError at a row that is not; the rows before it are yielded first.
        """
        width = len(self.header)
        while True:
            self._rest = self._rest or next(self._blocks, b"")
            if not self._rest:
                return
            self._check_utf8(self._rest)
            rows, used, fault, n = self._split(self._rest.count(b"\n"), width)
            if len(rows.lines):
                yield rows
            self._go_on(used)
            if fault == FAULTS["width"]:
                raise FormatError(self.name, self._line, count(n, "cell"), f"{width}, as the header has")
            if fault:
                self._read_on(fault)

    def _split(self, n_rows: int, width: int, any_width: bool = False) -> tuple[Rows, int, int, int]:
        """Return rows, the bytes they take, the fault after them, and the number of cells of the last row."""
        block = self._rest
        text = np.zeros(len(block) + _PADDING, dtype=np.uint8)
        text[: len(block)] = np.frombuffer(block, dtype=np.uint8)
        spans = np.empty((n_rows, width, 2), dtype=np.int64)
        lines = np.empty(n_rows + 1, dtype=np.int64)
        n, used, fault, cells = split_rows(text, len(block), ord(self.delimiter), any_width, spans, lines)
        lines += self._line
        self._next_line = int(lines[n])
        return Rows(text, spans[:n], lines[:n]), used, fault, cells

    def _go_on(self, used: int) -> None:
        """Leave behind the rows that have just been split."""
        self._rest = self._rest[used:]
        self._line = self._next_line

    def _read_on(self, fault: int) -> None:
        """Read at least as much again if a quoted cell goes beyond what has been read."""
        parts = [self._rest]
        size = 0
        if fault == FAULTS["open"]:
            while size < len(self._rest) and (block := next(self._blocks, b"")):
                parts.append(block)
                size += len(block)
        if not size:
            raise FormatError(self.name, self._line, _FAULTS[fault], "cells quoted as in CSV")
        self._rest = b"".join(parts)

    def _check_utf8(self, block: bytes) -> None:
        try:
            if not block.isascii():
                block.decode()
        except UnicodeDecodeError as error:
            line = self._line + block.count(b"\n", 0, error.start)
            raise FormatError(self.name, line, "bytes that are not UTF-8", "text") from None
