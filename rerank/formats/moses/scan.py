"""The first pass over Moses N-best files: parts of whole lines, ids and names, and the columns they make.

A name with one value is a column of that name. One with several values is Name_0, Name_1, ...; numbers
without a name are columns without names. Marian's WordScores, one number per word, become WordScores_sum and
WordScores_mean, 0 if there is no word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rerank.data.types import AnyArray, Bytes, Floats, Index, Ints
from rerank.errors import FormatError
from rerank.files import read_bytes, shown
from rerank.formats.buffers import content_start, parts_of_lines
from rerank.formats.common import first_repeated, not_a_number, quoted
from rerank.formats.moses.faults import columns_of_line, fault_error, number_error
from rerank.native.data._names import Names
from rerank.native.formats._moses import FAULTS, count_lines, scan
from rerank.native.formats._moses_fill import FeatureLines, fill_sparse
from rerank.text import count

_EXPECTED = "id ||| text ||| features ||| score"
_WORD_SCORES = 0  # numbers of the names that a vocabulary starts with
_UNNAMED = 1
_LEFT_OUT, _FEATURES, _TOTAL = 0, 1, 2
_NAMED_VALUES = re.compile(rb"[ \t]*[^ \t]*[^ \t=:][=:]([ \t]|$)")


@dataclass
class Part:
    """Whole lines of a file: their bytes, the lines before them in the file, their rows among all files."""

    path: str
    text: Bytes
    kinds: npt.NDArray[np.int8]
    lines_before: int
    rows: slice

    def line_of(self, row: int) -> int:
        """Return the line of a row, from 1."""
        return row - self.rows.start + self.lines_before + 1


@dataclass
class Lines:
    """What the first pass finds on each line: start and length of the text, total score, list, features."""

    spans: Index
    totals: Floats
    codes: Ints
    counts: Index


@dataclass
class Vocabulary:
    """Ids of lists and names of features by number; see the kernel ``scan`` for the arrays."""

    ids: Names = field(default_factory=Names)
    names: Names = field(default_factory=lambda: Names([b"WordScores", b""]))
    followers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    stats: Index = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    attempts: int = 0

    def __post_init__(self) -> None:
        self._fit()

    def _fit(self) -> None:
        room = self.names.room
        followers, stats = np.full(room + 1, -1, dtype=np.int32), np.zeros((room, 3), dtype=np.int64)
        stats[:, 1] = -1
        followers[: len(self.followers)] = self.followers
        stats[: len(self.stats)] = self.stats
        self.followers, self.stats = followers, stats

    def grow(self, fault: str) -> None:
        """Make room for more names or ids, whichever the fault asks for."""
        if fault == "no room":
            self.names.grow()
            self._fit()
        else:
            self.ids.grow()


@dataclass
class Scanned:
    """The parts of all files and what the first pass finds in them."""

    parts: Sequence[Part]
    lines: Lines
    vocabulary: Vocabulary


@dataclass
class Columns:
    """first : int64 (n_names), the first column of each name; names None = numbers alone."""

    first: Index
    names: list[str] | None
    width: int


def open_parts(path: str, rows_before: int) -> list[Part]:
    """Return the parts of one file, whose rows follow ``rows_before`` of other files.

    Raises FormatError if it is empty or its first line does not have the required columns.
    """
    data, source = read_bytes(path), shown(path)
    start = content_start(data, source, f"lines '{_EXPECTED}'")
    end = data.find(b"\n", start)
    kinds = _column_kinds(source, bytes(data[start : end if end >= 0 else len(data)]))
    parts = []
    before = 0
    for text, _ in parts_of_lines(data, start):
        n = count_lines(text)
        parts.append(Part(source, text, kinds, before, slice(rows_before + before, rows_before + before + n)))
        before += n
    return parts


def _column_kinds(path: str, line: bytes) -> npt.NDArray[np.int8]:
    """What each column holds, according to the first line.

    The total score is the first column after the third that is a number alone; the features are before it.
    Marian's columns in between are features if they begin with a name and its sign (word scores). Alignments,
    there or after the total, and counts of words are left out.
    """
    columns = columns_of_line(line)
    if len(columns) < 4:
        raise FormatError(path, 1, count(len(columns), "column"), _EXPECTED)
    total = next((c for c in range(3, len(columns)) if _is_total(columns[c].strip(b" \t"))), None)
    if total is None:
        raise FormatError(path, 1, "no total score (a column that is a number)", _EXPECTED)
    kinds = np.zeros(len(columns), dtype=np.int8)
    kinds[total] = _TOTAL
    kinds[total - 1] = _FEATURES
    for c in range(2, total - 1):
        kinds[c] = _FEATURES if _NAMED_VALUES.match(columns[c]) else _LEFT_OUT
    return kinds


def _is_total(column: bytes) -> bool:
    """Whether a column is a number, if not a finite one."""
    return not_a_number(column, "")[1] != "a number"


def scan_parts(parts: Sequence[Part]) -> Scanned:
    """Read lines, ids and names of all parts; raises FormatError at the first bad line."""
    n = parts[-1].rows.stop
    vocabulary = Vocabulary()
    lines = Lines(
        np.empty((n, 2), dtype=np.int64),
        np.empty(n),
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int64),
    )
    for part in parts:
        state = np.array([0, 0, vocabulary.attempts, part.rows.start], dtype=np.int64)
        while True:
            code, place = scan(
                part.text,
                part.kinds,
                vocabulary.ids,
                vocabulary.names,
                vocabulary.followers,
                vocabulary.stats,
                state,
                lines.spans[part.rows],
                lines.totals[part.rows],
                lines.codes[part.rows],
                lines.counts[part.rows],
            )
            fault = FAULTS[code]
            if not fault.startswith("no room"):
                break
            vocabulary.grow(fault)
        vocabulary.attempts = int(state[2])
        if fault != "none":
            row = part.rows.start + int(state[1])
            _check_numbers(Scanned(parts, lines, vocabulary), row)
            start = int(state[0])
            raise fault_error(
                part.path, part.line_of(row), fault, part.text[start:], place - start, len(part.kinds)
            )
    return Scanned(parts, lines, vocabulary)


def fill(
    kernel: Callable[..., tuple[int, int]],
    scanned: Scanned,
    first: Index,
    places: Index,
    *out: AnyArray | float,
    dtype: str = "float64",
) -> None:
    """Read the numbers of the first ``len(places)`` rows by the kernel of a layout.

    Raises FormatError at the first bad number.

    Parameters
    ----------
    first : int64 (n_names), the first column of each name.
    places : int64 (n), where the features of each row go.
    out : the kernel's last arguments.
    """
    names, followers = scanned.vocabulary.names, scanned.vocabulary.followers
    for part in scanned.parts:
        rows = slice(part.rows.start, min(part.rows.stop, len(places)))
        if rows.start >= rows.stop:
            break
        spans = scanned.lines.spans[rows]
        lines = FeatureLines(part.text, spans, part.kinds, names, followers, first, places[rows])
        row, place = kernel(lines, *out)
        if row >= 0:
            raise number_error(part.path, part.line_of(rows.start + row), part.text[place:], dtype)


def _check_numbers(scanned: Scanned, n_rows: int) -> None:
    """Raise FormatError at the first bad number in the rows before ``n_rows``, which the scan skips."""
    if n_rows == 0:
        return
    room = int(scanned.lines.counts[:n_rows].max()) + 1
    first = np.zeros(len(scanned.vocabulary.names), dtype=np.int64)
    # Every line goes into one row that nobody reads.
    row = np.zeros(1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room)
    fill(fill_sparse, scanned, first, np.zeros(n_rows, dtype=np.int64), *row)


def columns_of(scanned: Scanned) -> Columns:
    """Return the columns in the order in which the names first appear, word scores first.

    Raises FormatError if there are numbers without names beside names or not equally many of them, or two
    names make one column. These are faults of the file as a whole, so a bad number on any line is reported
    first.
    """
    parts, lines, vocabulary = scanned.parts, scanned.lines, scanned.vocabulary
    n = len(vocabulary.names)
    seen = np.flatnonzero(vocabulary.stats[:n, 0])
    first = np.zeros(n, dtype=np.int64)
    if _UNNAMED in seen:
        width = int(vocabulary.stats[_UNNAMED, 1])
        fault = _unnamed_fault(lines, vocabulary, seen, width)
        columns = Columns(first, None, width)
    else:
        names: list[str] = []
        strings = vocabulary.names.strings()
        for i in seen.tolist():
            name = strings[i].decode("utf-8", "surrogateescape")
            values = int(vocabulary.stats[i, 1])
            first[i] = len(names)
            if i == _WORD_SCORES:
                names += [f"{name}_sum", f"{name}_mean"]
            else:
                names += [name] if values == 1 else [f"{name}_{k}" for k in range(values)]
        fault = None
        twice = first_repeated(names)
        if twice is not None:
            i = seen[np.searchsorted(first[seen], twice, side="right") - 1]
            row = int(vocabulary.stats[i, 2])
            fault = row, f"a second feature {quoted(names[twice])}", "columns of different names"
        columns = Columns(first, names, len(names))
    if fault is not None:
        row, found, expected = fault
        _check_numbers(scanned, parts[-1].rows.stop)
        part = part_of(parts, row)
        raise FormatError(part.path, part.line_of(row), found, expected)
    return columns


def part_of(parts: Sequence[Part], row: int) -> Part:
    """Return the part that contains a row."""
    return next(part for part in parts if row < part.rows.stop)


def _unnamed_fault(
    lines: Lines, vocabulary: Vocabulary, seen: Index, width: int
) -> tuple[int, str, str] | None:
    """Why numbers without names do not make columns: the row, what was found and expected."""
    start = int(vocabulary.stats[_UNNAMED, 2])
    others = vocabulary.stats[seen[seen != _UNNAMED], 2]
    if len(others):
        named = int(others.min())
        if named < start:
            return start, "a number without a name", "name= value, as before"
        return named, "a feature with a name", "numbers alone, as before"
    wrong = lines.counts != width
    if np.any(wrong):
        return int(np.argmax(wrong)), "no features", f"{width}, as in other lines"
    return None
