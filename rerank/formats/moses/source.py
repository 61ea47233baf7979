"""Moses N-best files cut into parts of whole lines, and what is found out about their lines and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rerank.data.types import Bytes, Floats, Index, Ints
from rerank.errors import FormatError
from rerank.files import read_bytes, shown
from rerank.formats.moses.faults import fault_error, line_columns, number_error
from rerank.native.data._names import Names
from rerank.native.formats._moses import FAULTS, count_lines, scan
from rerank.native.formats._moses_fill import fill_sparse

EXPECTED = "id ||| text ||| features ||| score"
WORD_SCORES = 0  # numbers of the names that a vocabulary starts with
UNNAMED = 1

_BOM = b"\xef\xbb\xbf"
_PADDING = 64
_LEFT_OUT, _FEATURES, _TOTAL = 0, 1, 2
_NAMED_VALUES = re.compile(rb"[ \t]*[^ \t]*[^ \t=:][=:]([ \t]|$)")
_TOTAL_SCORE = re.compile(
    rb"[ \t]*[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|nan|inf|infinity)[ \t]*", re.IGNORECASE
)


@dataclass
class Part:
    """Whole lines of a file: their bytes, the lines before them there and in all that is read."""

    path: str
    text: Bytes
    kinds: npt.NDArray[np.int8]
    lines_before: int
    rows: slice


@dataclass
class Lines:
    """What the first pass finds, by line: a text's start in its part and its length, and so on."""

    spans: Index
    totals: Floats
    codes: Ints
    counts: Index


@dataclass
class Vocabulary:
    """Ids of lists and names of features by number; see ``scan`` for the arrays."""

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

    def grow(self, which: str) -> None:
        if which == "no room":
            self.names.grow()
            self._fit()
        else:
            self.ids.grow()


def open_parts(path: str, lines_before: int) -> list[Part]:
    """The parts of one file; ``lines_before`` of other files count before its rows.

    Raises FormatError where it is empty or its first line has not the columns there must be.
    """
    data = read_bytes(path)
    start = 3 if data[:3] == _BOM else 0
    if len(data) == start:
        raise FormatError(shown(path), None, "an empty file", f"lines '{EXPECTED}'")
    end = data.find(b"\n", start)
    kinds = _column_kinds(shown(path), bytes(data[start : end if end >= 0 else len(data)]))
    # The last lines go to a copy with room behind it; it also ends in a newline if the file does not.
    cut = max(data.rfind(b"\n", 0, max(len(data) - _PADDING, 0)) + 1, start)
    tail = bytes(data[cut:])
    tail += b"" if tail.endswith(b"\n") else b"\n"
    text = np.frombuffer(data, dtype=np.uint8)
    padded = np.frombuffer(tail + bytes(_PADDING), dtype=np.uint8)
    parts = []
    before = 0
    for some in (text[start:cut], padded[: len(tail)]):
        if len(some):
            rows = slice(lines_before + before, lines_before + before + count_lines(some))
            parts.append(Part(shown(path), some, kinds, before, rows))
            before += rows.stop - rows.start
    return parts


def _column_kinds(path: str, line: bytes) -> npt.NDArray[np.int8]:
    """What each column holds, going by the first line.

    The total score is the first number that stands alone behind the third column, the features lie
    before it. Marian's columns in between are features where they begin with a name and its sign
    (word scores); alignments, there or behind the total, and counts of words are left out.
    """
    columns = line_columns(line)
    if len(columns) < 4:
        raise FormatError(path, 1, f"{len(columns)} column{'s' * (len(columns) > 1)}", EXPECTED)
    totals = [c for c in range(3, len(columns)) if _TOTAL_SCORE.fullmatch(columns[c])]
    if not totals:
        raise FormatError(path, 1, "no total score (a number that stands alone)", EXPECTED)
    kinds = np.zeros(len(columns), dtype=np.int8)
    kinds[totals[0]] = _TOTAL
    kinds[totals[0] - 1] = _FEATURES
    for c in range(2, totals[0] - 1):
        kinds[c] = _FEATURES if _NAMED_VALUES.match(columns[c]) else _LEFT_OUT
    return kinds


def scan_parts(parts: Sequence[Part], vocabulary: Vocabulary) -> Lines:
    """The first pass over all parts. Raises FormatError at the first bad line."""
    n = parts[-1].rows.stop
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
            _check_numbers(parts, lines, vocabulary, part.rows.start + int(state[1]))
            line = part.lines_before + int(state[1]) + 1
            start = int(state[0])
            raise fault_error(part.path, line, fault, part.text[start:], place - start, len(part.kinds))
    return lines


def _check_numbers(parts: Sequence[Part], lines: Lines, vocabulary: Vocabulary, n_rows: int) -> None:
    """Raise FormatError at the first bad number in the rows before ``n_rows``.

    The first pass looks at no numbers; where it finds a fault, one of those may come before.
    """
    for part in parts:
        spans = lines.spans[part.rows.start : min(part.rows.stop, n_rows)]
        if len(spans) == 0:
            break
        longest = int(lines.counts[part.rows.start : n_rows].max())
        row, place = fill_sparse(  # every line into one row that nobody reads
            part.text,
            spans,
            part.kinds,
            vocabulary.names,
            vocabulary.followers,
            np.zeros(len(vocabulary.names), dtype=np.int64),
            np.zeros(len(spans), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.empty(longest + 1, dtype=np.int32),
            np.empty(longest + 1),
        )
        if row >= 0:
            raise number_error(part.path, part.lines_before + row + 1, part.text[place:])
