"""The text of a CSV or TSV file block by block: its header, its lines, and rows that need a closer look."""

from __future__ import annotations

import re

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import plain_suffix, shown
from rerank.core.types import Bytes, Index
from rerank.formats.growing import whole_lines

_PADDING = 64  # zeros that kernels need after the text
_QUOTED = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"')
_PLAIN = {mark: re.compile(rb"[^\n\r" + mark + rb"]*") for mark in (b",", b"\t")}
_LINE_END = re.compile(rb"\r*\n")
OPEN = "a quote that is never closed"
QUOTE = "text after a closing quote"
RETURN = "a carriage return within a line"


def split_row(text: bytes, mark: bytes) -> tuple[list[bytes], int, str]:
    """Return the cells of the first row, where the next one starts, and the fault of the row, "" if none."""
    cells: list[bytes] = []
    at = 0
    while True:
        quoted = text[at : at + 1] == b'"'
        found = (_QUOTED if quoted else _PLAIN[mark]).match(text, at)
        if found is None:
            return cells, at, OPEN
        cells.append(found[1].replace(b'""', b'"') if quoted else found[0])
        at = found.end()
        end = text[at : at + 1]
        if end not in (mark, b"\r", b"\n"):
            return cells, at, QUOTE
        if end != mark:
            break
        at += 1
    line_end = _LINE_END.match(text, at)
    return (cells, at, RETURN) if line_end is None else (cells, line_end.end(), "")


class Source:
    """A table's header and separator, and the text below it.

    Raises FormatError if there is no header.

    Attributes
    ----------
    name : str
        The file's name in messages.
    delimiter : bytes
        The comma or the tab.
    header : list of str
        The cells of the first row.
    text : uint8
        Whole lines and 64 zeros.
    at : int
        Where the next row starts in ``text``; the caller moves it on.
    """

    def __init__(self, path: str) -> None:
        self.name = shown(path)
        self._blocks = whole_lines(path)
        self._room = np.empty(0, dtype=np.uint8)
        self._line = 1  # on which ``text`` starts
        self._load(next(self._blocks, b""))
        if not self.size:
            raise FormatError(self.name, None, "an empty file", "a header of column names")
        first, _, _ = self._rest().partition(b"\n")
        if not first.strip():
            raise FormatError(self.name, 1, "an empty line", "a header of column names")
        self.delimiter = self._delimiter(path, first)
        while (row := self.row()) is None:
            pass
        cells, end = row
        self._check_utf8(self._rest()[:end])
        self.header = [cell.decode() for cell in cells]
        self.at = end
        self._unchecked = self._rest()

    @property
    def size(self) -> int:
        """The bytes of ``text`` without the padding."""
        return len(self.text) - _PADDING

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

    def more(self) -> bool:
        """Return whether there is more text; the next block is read once this one is used up.

        Raises FormatError if the text is not UTF-8.
        """
        if self.at == self.size:
            self._line = self.line_of(self.at)
            self._load(next(self._blocks, b""))
        self._check_utf8(self._unchecked)
        self._unchecked = b""
        return self.size > 0

    def row(self) -> tuple[list[bytes], int] | None:
        """Return the cells of the next row and where the row after it starts.

        None if more had to be read because its quotes go beyond ``text``. Raises FormatError if its cells are
        not quoted as in CSV.
        """
        rest = self._rest()
        cells, end, fault = split_row(rest, self.delimiter)
        if not fault:
            return cells, self.at + end
        parts = [rest]
        size = 0
        while fault == OPEN and size < len(rest) and (block := next(self._blocks, b"")):
            parts.append(block)
            size += len(block)
        line = self.line_of(self.at)
        if not size:
            raise FormatError(self.name, line, fault, "cells quoted as in CSV")
        self._line = line
        self._load(b"".join(parts))
        return None

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, that holds byte ``offset`` of ``text``."""
        return self._line + int(np.count_nonzero(self.text[:offset] == 10))

    def lines_of(self, offsets: Index) -> Index:
        """Return the lines that hold these bytes."""
        return self._line + np.searchsorted(np.flatnonzero(self.text[: self.size] == 10), offsets)

    def _load(self, block: bytes) -> None:
        """Make a block the text; its room is used again, so that pages are touched once."""
        size = len(block)
        if size + _PADDING > len(self._room):
            self._room = np.empty(size + _PADDING, dtype=np.uint8)
        self.text: Bytes = self._room[: size + _PADDING]
        self.text[:size] = np.frombuffer(block, dtype=np.uint8)
        self.text[size:] = 0
        self.at = 0
        self._unchecked = block

    def _rest(self) -> bytes:
        """The text from the next row on."""
        return self.text[self.at : self.size].tobytes()

    def _check_utf8(self, text: bytes) -> None:
        try:
            if not text.isascii():
                text.decode()
        except UnicodeDecodeError as error:
            line = self.line_of(self.at) + text.count(b"\n", 0, error.start)
            raise FormatError(self.name, line, "bytes that are not UTF-8", "text") from None
