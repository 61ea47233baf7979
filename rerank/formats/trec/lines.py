"""Content of files of runs and judgements: lines read by a kernel into columns, or JSON of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.types import AnyArray, Bytes, Floats, Index
from rerank.data.columns.offsets import grouped
from rerank.data.columns.strings import StringColumn
from rerank.formats.buffers import BOM, parts_of_lines
from rerank.formats.common import note_regrouped, quoted
from rerank.formats.jsonl.read import parsed
from rerank.formats.jsonl.schema import MisfitError, described, number_of, numbers_of
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


class Lines(Struct, frozen=True, eq=False):
    """The lines of a file that are not blank, up to the first fault."""

    source: str
    names: StringColumn  # the different queries in order of first appearance
    documents: StringColumn
    numbers: Floats
    ranks: Floats  # the numbers if the lines have no others
    ranked: bool  # whether every number was written as a whole one
    others: Names  # the different values of the field that was asked for
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

        offsets, rows, documents : from ``groups``, and those of the lines in that order.
        word : "in" or "for", before the query.
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
        expected = "each document once per query" if word == "in" else "one judgement each; see --subtopics"
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

    ``blocks`` are whole lines of the file, ``scanner`` is made for their form.
    """
    parts = _Parts(scanner)
    fault = None
    for block in filter(None, blocks):
        for text, _ in parts_of_lines(block, 0):
            status, place = parts.scan(scanner, text)
            if status != "done":
                line = text[place:].tobytes().split(b"\n", 1)[0]
                if status == "fault":
                    fault = words(line, scanner.line)
                else:
                    found = f"list {quoted(line.split()[0])} again"
                    fault = FormatError(source, scanner.line, found, "the lines of a list together")
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


def column_of(names: Names) -> StringColumn:
    """Return the strings of a set in order of first appearance."""
    data, offsets = np.empty(names.n_bytes, dtype=np.uint8), np.empty(len(names) + 1, dtype=np.int64)
    names.copy_to(data, offsets)
    return StringColumn(data, offsets)


META = "mteb_model_meta"
EXPECTED = "a JSON object {query: {document: number}}, or MTEB's of subsets and splits around it"

_MOST_SHOWN = 8
_DEEPEST = 4  # subset, split, query, document


class Nested(Struct, frozen=True):
    """Numbers by query and document, and the name of the model that MTEB records for them, "" = none."""

    numbers: dict[str, dict[str, Any]]
    model: str

    def each(self, truths: bool = True) -> Iterator[tuple[str, list[str], array[float]]]:
        """Yield each query with its documents and their numbers; raises MisfitError if one is no number.

        truths : whether true and false are numbers, 1 and 0, as labels are.
        """
        for query, found in self.numbers.items():
            if type(found) is not dict:
                raise MisfitError(query, described(found), EXPECTED)
            values = list(found.values())
            try:
                numbers = numbers_of(values, query)
            except MisfitError:  # again, with the document in the error
                numbers = array("d", [number_of(value, f"{query}.{name}") for name, value in found.items()])
            if not truths and bool in map(type, values):
                name = next(name for name, value in found.items() if type(value) is bool)
                raise MisfitError(f"{query}.{name}", described(found[name]), "a number")
            yield query, list(found), numbers


def read_nested(path: str, subset: str | None = None) -> Nested:
    """Return the numbers in a JSON file; raises FormatError.

    ``subset`` chooses the part of a file with several: a subset, a split, or ``subset/split``.
    """
    source = shown(path)
    try:
        value = parsed(bytes(read_bytes(path)).removeprefix(BOM), EXPECTED)
        if type(value) is not dict:
            raise MisfitError("", "an empty file" if value is None else described(value), EXPECTED)
    except MisfitError as misfit:
        raise misfit.at(source, None) from None
    meta = value.pop(META, None)
    name = meta.get("model_name") if type(meta) is dict else None
    return Nested(_part_of(value, subset, source), name if type(name) is str else "")


def _part_of(value: dict[str, Any], subset: str | None, source: str) -> dict[str, Any]:
    """Return the numbers of one part of the file; raises FormatError if another number of parts match."""
    depth = _depth(value)
    if depth < 3:
        if subset is not None:
            raise FormatError(source, None, "no subsets", f"subset {quoted(subset)}")
        return value
    parts = {
        "/".join(names): part for names, part in _parts(value, depth - 2) if type(part) is not dict or part
    }
    wanted = [name for name in parts if subset is None or subset in (name, *name.split("/"))]
    if len(wanted) == 1:
        return parts[wanted[0]]
    names = ", ".join(map(quoted, list(parts)[:_MOST_SHOWN])) + (", ..." if len(parts) > _MOST_SHOWN else "")
    expected = "one (--subset NAME)" if subset is None else f"one that {quoted(subset)} names (--subset)"
    raise FormatError(source, None, f"the subsets {names}", expected)


def _parts(value: dict[str, Any], levels: int) -> Iterator[tuple[list[str], Any]]:
    """Yield what is so many levels further in, with its keys."""
    for name, inner in value.items():
        if levels == 1 or type(inner) is not dict:
            yield [name], inner
        else:
            for names, part in _parts(inner, levels - 1):
                yield [name, *names], part


def _depth(value: Any, most: int = _DEEPEST) -> int:
    """Return how many objects are around the first other value, ``most`` at most; 0 without such a value."""
    if most == 0 or type(value) is not dict:
        return 0
    for inner in value.values():
        depth = _depth(inner, most - 1)
        if depth or type(inner) is not dict:
            return depth + 1
    return 0
