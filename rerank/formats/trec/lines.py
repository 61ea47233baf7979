"""Lines of a query, a document and one or two numbers, read by a kernel into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import AnyArray, Bytes, Floats, Index
from rerank.data.columns.offsets import grouped
from rerank.data.columns.strings import StringColumn
from rerank.formats.buffers import parts_of_lines
from rerank.formats.common import note_regrouped, quoted
from rerank.native.data._names import Names
from rerank.native.formats._trec import Scanner

# The columns of a scanner, and what counts their entries.
_COLUMNS = {
    "numbers": "n",
    "ranks": "n_ranks",
    "ends": "n",
    "documents": "n_bytes",
    "found_queries": "n_queries",
    "found_others": "n_others",
    "found_lines": "n_lines",
}
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

    def refuse_repeated(self, offsets: Index, documents: StringColumn, rows: Index | None, word: str) -> None:
        """Raise FormatError at the first line with a document that an earlier line of its query has.

        Parameters
        ----------
        offsets, rows
            From ``groups``.
        documents
            Those of the lines in the order of ``rows``.
        word
            "in" or "for", before the query.
        """
        repeated = np.flatnonzero(documents.repeated(offsets))
        if len(repeated):
            places = repeated if rows is None else rows[repeated]
            item = int(repeated[np.argmin(places)])
            query = self.names.bytes_at(int(np.searchsorted(offsets, item, side="right")) - 1)
            line = int(self.lines_of(places.min(keepdims=True))[0])
            raise self.repeated(query, documents.bytes_at(item), line, word)

    def repeated(self, query: bytes, document: bytes, line: int | None, word: str) -> FormatError:
        """Return the error for a line whose document an earlier line of its query has."""
        found = f"document {quoted(document)} again {word} query {quoted(query)}"
        expected = "each document once per query" if word == "in" else "one judgement each"
        return FormatError(self.source, line, found, expected)

    def holds(self, query: bytes, document: bytes) -> bool:
        """Return whether a line has this query and this document."""
        bounds = np.append(self._queries[:, 0], len(self)).tolist()
        for k, code in enumerate(self._queries[:, 1].tolist()):
            items = range(*bounds[k : k + 2]) if self.names.bytes_at(code) == query else ()
            if any(self.documents.bytes_at(item) == document for item in items):
                return True
        return False


class _Parts:
    """Arrays of the blocks of a file; each name's become one array in the end."""

    def __init__(self, scanner: Scanner) -> None:
        empty = {name: np.array(getattr(scanner, name)[:0]) for name in _COLUMNS}
        self._parts: dict[str, list[AnyArray]] = {name: [array] for name, array in empty.items()}
        self._parts["ends"] = [np.zeros(1, dtype=np.int64)]  # the first one starts there

    def scan(self, scanner: Scanner, text: Bytes) -> tuple[str, int]:
        """Add the lines of ``text``; return the status of the kernel and the place where it stopped."""
        status, place = scanner.scan(text)
        for name, parts in self._parts.items():
            found = getattr(scanner, name)[: getattr(scanner, _COLUMNS[name])]
            parts.append(np.array(found))
        return status, place

    def take(self, name: str) -> AnyArray:
        """Return one column and forget its parts."""
        return np.concatenate(self._parts.pop(name))


def read_lines(source: str, blocks: Iterable[bytes], scanner: Scanner, words: Words) -> Lines:
    """Return the lines of a file up to the first fault, which ``words`` puts into words.

    Parameters
    ----------
    source : the file's name in errors.
    blocks : its content, blocks of whole lines.
    scanner : made for the form of the lines.
    words : called with the bytes of the faulty line and its number.
    """
    parts = _Parts(scanner)
    fault = None
    for block in filter(None, blocks):
        for text, _ in parts_of_lines(block, 0):
            status, place = parts.scan(scanner, text)
            if status != "done":
                line = text[place:].tobytes().split(b"\n", 1)[0]
                fault = words(line, scanner.line) if status == "fault" else _again(source, line, scanner.line)
                break
        if fault is not None:
            break
    numbers = parts.take("numbers")
    return Lines(
        source,
        column_of(scanner.queries),
        StringColumn(parts.take("documents"), parts.take("ends")),
        numbers,
        parts.take("ranks") if scanner.has_ranks else numbers,
        scanner.ranked,
        scanner.others,
        fault,
        parts.take("found_queries"),
        parts.take("found_others"),
        parts.take("found_lines"),
    )


def _again(source: str, line: bytes, number: int) -> FormatError:
    found = f"list {quoted(line.split()[0])} again"
    return FormatError(source, number, found, "the lines of a list together")


def column_of(names: Names) -> StringColumn:
    """Return the strings of a set in order of first appearance."""
    data, offsets = np.empty(names.n_bytes, dtype=np.uint8), np.empty(len(names) + 1, dtype=np.int64)
    names.copy_to(data, offsets)
    return StringColumn(data, offsets)
