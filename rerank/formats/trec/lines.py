"""Lines of a query, a document and one or two numbers, read by a kernel into columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rerank.data.columns.offsets import grouped
from rerank.data.columns.strings import StringColumn
from rerank.data.types import Bytes, Floats, Index
from rerank.errors import FormatError
from rerank.formats.buffers import parts_of_lines
from rerank.formats.common import note_regrouped, quoted
from rerank.native.data._names import Names
from rerank.native.formats._trec import Scanner

# Puts the fault of a line into words: its bytes and its number.
Words = Callable[[bytes, int], FormatError]


@dataclass(frozen=True, eq=False)
class Lines:
    """The lines of a file that are not blank, up to the first fault.

    Attributes
    ----------
    source : str
    names : StringColumn
        The different queries in order of first appearance.
    documents : StringColumn (n)
    numbers, ranks : float64 (n)
        The ranks are the numbers if the lines have no others.
    ranked : bool
        Whether every number was written as a whole one.
    others : Names
        The different values of the field that was asked for.
    fault : FormatError, optional
    """

    source: str
    names: StringColumn
    documents: StringColumn
    numbers: Floats
    ranks: Floats
    ranked: bool
    others: Names
    fault: FormatError | None
    _queries: Index  # (k, 2): item, number of its query; one where another query begins
    _others: Index  # the same
    _lines: Index  # (k, 2): item, line; one where the line is not the next one

    def __len__(self) -> int:
        return len(self.numbers)

    def lines_of(self, items: Index) -> Index:
        """Return the lines of some items, from 1."""
        if not len(self._lines):
            return items + 1
        k = np.searchsorted(self._lines[:, 0], items, side="right") - 1
        first, line = np.where(k < 0, 0, self._lines[k, 0]), np.where(k < 0, 1, self._lines[k, 1])
        return items - first + line

    def counts_of_others(self) -> Index:
        """Return how often each of ``others`` occurs, int64."""
        codes = self._others[:, 1]
        return np.bincount(codes, np.diff(self._others[:, 0], append=len(self))).astype(np.int64)

    def check_names(self) -> None:
        """Raise FormatError at the first query that is not UTF-8."""
        if len(self.names.data) and self.names.data.max() < 128:
            return
        for code in range(len(self.names)):
            try:
                self.names.bytes_at(code).decode()
            except UnicodeDecodeError:
                item = self._queries[np.argmax(self._queries[:, 1] == code), :1]
                line = int(self.lines_of(item)[0])
                raise FormatError(self.source, line, "bytes that are not UTF-8", "a query") from None

    def groups(self, *, warn: bool) -> tuple[Index, Index | None]:
        """Return the offsets of queries, and the items in their order; None = they are in that order.

        Warns, if asked to, that the lines of a query are not contiguous.
        """
        starts, codes = self._queries[:, 0], self._queries[:, 1]
        if len(codes) == len(self.names):
            return np.append(starts, len(self)), None
        seen = np.zeros(len(self.names), dtype=np.int64)
        later = np.ones(len(codes), dtype=bool)
        later[np.unique(codes, return_index=True)[1]] = False
        seen[codes[later]] = 1
        if warn:
            line = int(self.lines_of(starts[later][:1])[0])
            note_regrouped(self.source, int(seen.sum()), line)
        return grouped(np.repeat(codes, np.diff(starts, append=len(self))))

    def refuse_repeated(self, offsets: Index, documents: StringColumn, rows: Index | None, words: str) -> None:
        """Raise FormatError at the first line with a document that an earlier line of its query has.

        Parameters
        ----------
        offsets, rows
            From ``groups``.
        documents
            Those of the lines in the order of ``rows``.
        words
            "in" or "for", before the query.
        """
        repeated = np.flatnonzero(documents.repeated(offsets))
        if len(repeated):
            places = repeated if rows is None else rows[repeated]
            item = int(repeated[np.argmin(places)])
            query = self.names[int(np.searchsorted(offsets, item, side="right")) - 1]
            found = f"document {quoted(documents[item])} again {words} query {quoted(query)}"
            expected = "each document once per query" if words == "in" else "one judgement each"
            raise FormatError(self.source, int(self.lines_of(places.min(keepdims=True))[0]), found, expected)


class _Growing:
    """The columns of ``Lines`` as they grow, block by block."""

    def __init__(self) -> None:
        self.numbers, self.ranks, self.ends = array("d"), array("d"), array("q", [0])
        self.documents = bytearray()
        self.queries, self.others, self.lines = array("q"), array("q"), array("q")

    def scan(self, scanner: Scanner, text: Bytes) -> tuple[str, int]:
        """Add the lines of ``text``; return the status of the kernel and the place where it stopped."""
        status, place = scanner.scan(text, int(np.count_nonzero(text == ord("\n"))))
        n = scanner.n
        _extend(self.numbers, scanner.numbers[:n])
        if scanner.has_ranks:
            _extend(self.ranks, scanner.ranks[:n])
        _extend(self.ends, scanner.ends[:n])
        self.documents += memoryview(scanner.documents)[: scanner.n_bytes]
        _extend(self.queries, scanner.found_queries[: scanner.n_queries])
        _extend(self.others, scanner.found_others[: scanner.n_others])
        _extend(self.lines, scanner.found_lines[: scanner.n_lines])
        return status, place


def _extend(column: array[float] | array[int], more: object) -> None:
    view = memoryview(more)  # type: ignore[arg-type]
    if view.nbytes:
        column.frombytes(view.cast("B"))


def read_lines(source: str, blocks: Iterable[bytes], scanner: Scanner, words: Words) -> Lines:
    """Return the lines of a file up to the first fault, which ``words`` puts into words.

    Parameters
    ----------
    source : the file's name in errors.
    blocks : its content, blocks of whole lines.
    scanner : made for the form of the lines.
    words : called with the bytes of the faulty line and its number.
    """
    growing = _Growing()
    fault = None
    for block in blocks:
        for text, _ in parts_of_lines(block, 0):
            status, place = growing.scan(scanner, text)
            if status != "done":
                line = text[place:].tobytes().split(b"\n", 1)[0]
                fault = words(line, scanner.line) if status == "fault" else _again(source, line, scanner.line)
                break
        if fault is not None:
            break
    numbers = np.frombuffer(growing.numbers)
    return Lines(
        source,
        column_of(scanner.queries),
        StringColumn(np.frombuffer(growing.documents, dtype=np.uint8), np.frombuffer(growing.ends, np.int64)),
        numbers,
        np.frombuffer(growing.ranks) if scanner.has_ranks else numbers,
        scanner.ranked,
        scanner.others,
        fault,
        *(
            np.frombuffer(found, np.int64).reshape(-1, 2)
            for found in (growing.queries, growing.others, growing.lines)
        ),
    )


def _again(source: str, line: bytes, number: int) -> FormatError:
    found = f"list {quoted(line.split()[0])} again"
    return FormatError(source, number, found, "the lines of a list together")


def column_of(names: Names) -> StringColumn:
    """Return the strings of a set in order of first appearance."""
    data, offsets = np.empty(names.n_bytes, dtype=np.uint8), np.empty(len(names) + 1, dtype=np.int64)
    names.copy_to(data, offsets)
    return StringColumn(data, offsets)
