"""Moses N-best files piece by piece: lines, ids and names, the columns they make, and numbers.

A name with one value is a column of that name. One with several values is Name_0, Name_1, ...; numbers
without a name are columns without names. Marian's WordScores, one number per word, become WordScores_sum and
WordScores_mean, 0 if there is no word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

from rerank.core.errors import FormatError
from rerank.core.text import count
from rerank.core.types import AnyArray, Bytes, Floats, Index, Ints, NDArray
from rerank.formats.common import first_repeated, not_a_number, quoted
from rerank.native.data._names import Names
from rerank.native.formats._moses import FAULTS, scan
from rerank.native.formats._moses_fill import FeatureLines, fill_sparse

_SEPARATOR = re.compile(rb"(?<=[ \t])\|\|\|(?=[ \t]|$)")
_TOKEN = re.compile(rb"[^ \t]*")


def columns_of_line(line: bytes) -> list[bytes]:
    """Return the columns of a line, with the blanks around them."""
    line = line.removesuffix(b"\r")
    first, bars, rest = line.partition(b"|||")
    return [first, *_SEPARATOR.split(rest)] if bars else [line]


def fault_error(path: str, number: int, fault: str, text: Bytes, place: int, n_columns: int) -> FormatError:
    """Return the error for ``fault`` (of FAULTS) at byte ``place`` of a line, with which ``text`` starts."""
    line = first_line(text)
    rest = line[place:]
    token = (_TOKEN.match(rest) or [b""])[0]
    if fault == "columns":
        found = count(len(columns_of_line(line)), "column") if line.strip() else "an empty line"
        expected = f"{n_columns} separated by ' ||| ', as on line 1"
    elif fault == "id":
        found, expected = "an empty id", "the id of a list, then |||"
    elif fault == "name":
        found, expected = f"{quoted(token)}, a feature without a name", "name= value"
    elif fault == "loose":
        found, expected = f"{quoted(token)} after the value of another feature", "name= value"
    elif fault == "twice":
        found, expected = f"feature {quoted(_name_of(token))} twice", "each feature once per line"
    elif fault == "width":
        what = f"of {quoted(_name_of(token))}" if b"=" in token or token.endswith(b":") else "without a name"
        found, expected = (
            f"{count(_n_values(_SEPARATOR.split(rest)[0]), 'value')} {what}",
            "as many as before",
        )
    elif fault == "no value":
        found, expected = f"no value of {quoted(_name_of(token))}", "a number"
    else:
        value = _SEPARATOR.split(rest)[0].strip(b" \t")
        found, expected = not_a_number(value, "total score") if value else ("no total score", "a number")
    return FormatError(path, number, found, expected)


def number_error(path: str, number: int, text: Bytes, dtype: str = "float64") -> FormatError:
    """Return the error for the bad value at the start of ``text``, a feature's on line ``number``."""
    token = _TOKEN.match(first_line(text))
    return FormatError(path, number, *not_a_number(token[0] if token else b"", "value", dtype))


def first_line(text: Bytes) -> bytes:
    """Return the first line of a text without its end."""
    size = 1 << 12
    while True:
        line, newline, _ = text[:size].tobytes().partition(b"\n")
        if newline or size >= len(text):
            return line.removesuffix(b"\r")
        size *= 16


def _name_of(token: bytes) -> bytes:
    return token[: token.rindex(b"=")] if b"=" in token else token[:-1]


def _n_values(column: bytes) -> int:
    """Return the number of values after the name at the start of ``column`` (numbers without a name too)."""
    tokens = column.split()
    if tokens and tokens[0][-1:] not in (b"=", b":"):
        if b"=" in tokens[0]:
            return 1
        tokens = [b"", *tokens]
    ends = (i for i, token in enumerate(tokens[1:]) if b"=" in token or token.endswith(b":"))
    return next(ends, len(tokens) - 1)


EXPECTED = "id ||| text ||| features ||| score"
_WORD_SCORES = 0  # numbers of the names that a vocabulary starts with
_UNNAMED = 1
_LEFT_OUT, _FEATURES, _TOTAL = 0, 1, 2
_NAMED_VALUES = re.compile(rb"[ \t]*[^ \t]*[^ \t=:][=:]([ \t]|$)")


@dataclass
class Piece:
    """Whole lines of a file and what the first pass finds on each of the n lines."""

    path: str
    text: Bytes
    kinds: NDArray[np.int8]  # what each column holds
    line: int  # the number of the first line in its file, from 1
    row: int  # its row among all files
    totals: Floats  # the total scores, or room for them
    spans: Index = field(init=False)  # (n, 2): start and length of each text
    codes: Ints = field(init=False)  # the number of each line's id
    counts: Index = field(init=False)  # features of each line

    def __post_init__(self) -> None:
        n = len(self.totals)
        self.spans = np.empty((n, 2), dtype=np.int64)
        self.codes = np.empty(n, dtype=np.int32)
        self.counts = np.empty(n, dtype=np.int64)


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


class Columns(Struct):
    """first : int64 (n_names), the first column of each name; names None = numbers alone."""

    first: Index
    names: list[str] | None
    width: int


def column_kinds(path: str, text: Bytes) -> NDArray[np.int8]:
    """Return what each column holds, int8 (n_columns), according to the first line of ``text``.

    The total score is the first column after the third that is a number alone; the features are before it.
    Marian's columns in between are features if they begin with a name and its sign (word scores). Alignments,
    there or after the total, and counts of words are left out. Raises FormatError if columns are lacking.
    """
    columns = columns_of_line(first_line(text))
    if len(columns) < 4:
        raise FormatError(path, 1, count(len(columns), "column"), EXPECTED)
    places = range(3, len(columns))  # a total is a number, if not a finite one
    total = next((c for c in places if not_a_number(columns[c].strip(b" \t"), "")[1] != "a number"), None)
    if total is None:
        raise FormatError(path, 1, "no total score (a column that is a number)", EXPECTED)
    kinds = np.zeros(len(columns), dtype=np.int8)
    kinds[total] = _TOTAL
    kinds[total - 1] = _FEATURES
    for c in range(2, total - 1):
        kinds[c] = _FEATURES if _NAMED_VALUES.match(columns[c]) else _LEFT_OUT
    return kinds


def scan_piece(piece: Piece, vocabulary: Vocabulary) -> None:
    """Read lines, ids and names of a piece; raises FormatError at the first bad line."""
    state = np.array([0, 0, vocabulary.attempts, piece.row], dtype=np.int64)
    while True:
        code, place = scan(
            piece.text,
            piece.kinds,
            vocabulary.ids,
            vocabulary.names,
            vocabulary.followers,
            vocabulary.stats,
            state,
            (piece.spans, piece.totals, piece.codes, piece.counts),
        )
        fault = FAULTS[code]
        if not fault.startswith("no room"):
            break
        vocabulary.grow(fault)
    vocabulary.attempts = int(state[2])
    if fault != "none":
        row, start = int(state[1]), int(state[0])
        check_numbers(piece, vocabulary, row)
        text = piece.text[start:]
        raise fault_error(piece.path, piece.line + row, fault, text, place - start, len(piece.kinds))


def fill(
    kernel: Callable[..., tuple[int, int]],
    piece: Piece,
    vocabulary: Vocabulary,
    first: Index,
    places: Index,
    *out: AnyArray | float,
    dtype: str = "float64",
) -> None:
    """Read the numbers of the first ``len(places)`` lines of a piece by the kernel of a layout.

    first : int64 (n_names), the first column of each name.
    places : int64 (n), where the features of each line go; ``out`` are the kernel's last arguments.

    Raises FormatError at the first bad number.
    """
    names, followers, spans = vocabulary.names, vocabulary.followers, piece.spans[: len(places)]
    lines = FeatureLines(piece.text, spans, piece.kinds, names, followers, first, places)
    row, place = kernel(lines, *out)
    if row >= 0:
        raise number_error(piece.path, piece.line + row, piece.text[place:], dtype)


def check_numbers(piece: Piece, vocabulary: Vocabulary, n: int) -> None:
    """Raise FormatError at the first bad number in the first ``n`` lines, which the scan skips."""
    if n == 0:
        return
    room = int(piece.counts[:n].max()) + 1
    first = np.zeros(len(vocabulary.names), dtype=np.int64)
    # Every line goes into one row that nobody reads.
    row = np.zeros(1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room)
    fill(fill_sparse, piece, vocabulary, first, np.zeros(n, dtype=np.int64), *row)


class Fault(Struct):
    """Fault in the names of a file as a whole, and its row of all files."""

    row: int
    found: str
    expected: str


def columns_of(vocabulary: Vocabulary, bare: int | None) -> tuple[Columns, Fault | None]:
    """Return the columns in the order in which the names first appear, word scores first, and any fault.

    It is a fault if there are numbers without names beside names or not equally many of them (``bare``: the
    first row without features), or two names make one column. These are faults of the file as a whole, so a
    bad number on any line comes first.
    """
    n = len(vocabulary.names)
    seen = np.flatnonzero(vocabulary.stats[:n, 0])
    first = np.zeros(n, dtype=np.int64)
    if _UNNAMED in seen:
        width = int(vocabulary.stats[_UNNAMED, 1])
        return Columns(first, None, width), _unnamed_fault(vocabulary, seen, width, bare)
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
    columns = Columns(first, names, len(names))
    twice = first_repeated(names)
    if twice is None:
        return columns, None
    i = seen[np.searchsorted(first[seen], twice, side="right") - 1]
    found = f"a second feature {quoted(names[twice])}"
    return columns, Fault(int(vocabulary.stats[i, 2]), found, "columns of different names")


def _unnamed_fault(vocabulary: Vocabulary, seen: Index, width: int, bare: int | None) -> Fault | None:
    """Return why numbers without names do not make columns."""
    start = int(vocabulary.stats[_UNNAMED, 2])
    others = vocabulary.stats[seen[seen != _UNNAMED], 2]
    if len(others):
        named = int(others.min())
        if named < start:
            return Fault(start, "a number without a name", "name= value, as before")
        return Fault(named, "a feature with a name", "numbers alone, as before")
    return None if bare is None else Fault(bare, "no features", f"{width}, as in other lines")
