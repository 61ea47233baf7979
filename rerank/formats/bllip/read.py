"""Reading BLLIP's feature files: count, then parse in place, then leave out sentences without a parse."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np

from rerank.data.columns.offsets import fresh_array
from rerank.data.matrix import Sparse
from rerank.data.types import Bytes, Floats, Ints
from rerank.errors import DataNote, FormatError
from rerank.files import Buffer
from rerank.formats.bllip.faults import fault_error
from rerank.formats.svmlight.faults import line_of, quoted
from rerank.native.formats._bllip import FAULTS, fill, scan
from rerank.text import count

_EXPECTED = "S=<number of sentences> alone on the first line"
_BOM = b"\xef\xbb\xbf"
_PADDING = 64  # kernels may look at 32 bytes behind a part
_HEADER_LINE = re.compile(rb"[ \t\r\n]*(S=([0-9]{1,18})[ \t\r]*(?:\n|\Z))?")


@dataclass
class Sentences:
    """What a file holds.

    sizes : int32 (n_sentences), the parses of each, 0 for some; edges : float64 (n_parses, 3), the
    constituents of the gold tree, of the parse, of both; features : n_parses rows.
    """

    sizes: Ints
    edges: Floats
    features: Sparse


@dataclass
class _Part:
    """Whole lines of the file from byte ``origin`` on, and what ``scan`` counts there."""

    text: Bytes
    origin: int
    counts: tuple[int, int, int, int]


def parse(data: Buffer, path: str, n_features: int, strict: bool) -> Sentences:
    """All of a file with ``n_features`` columns or more; FormatError at its first bad line.

    Sentences without a parse are told in a DataNote, or refused under ``strict``.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    announced, start = _header(data, path)
    parts = _parts(data, text, start)
    lines, rows, values, valued = (sum(column) for column in zip(*(p.counts for p in parts), strict=True))
    sizes = np.empty(lines, dtype=np.int32)
    edges = np.empty((rows, 3))
    indptr = np.zeros(rows + 1, dtype=np.int64)
    indices = fresh_array((values,), np.int32)
    column = fresh_array((values,), np.float64) if valued else None
    width = n_features
    line = row = value = 0
    for part in parts:
        more = part.counts
        ends = indptr[row + 1 : row + more[1] + 1]
        some = slice(value, value + more[2])
        fault, place, detail, widest = fill(
            part.text,
            sizes[line : line + more[0]],
            edges[row : row + more[1]],
            ends,
            indices[some],
            None if column is None else column[some],
        )
        if fault:
            raise fault_error(path, text, FAULTS[fault], part.origin + place, detail)
        ends += value
        width = max(width, widest)
        line, row, value = line + more[0], row + more[1], value + more[2]
    _check_sizes(path, text, sizes, announced, strict)
    return Sentences(sizes, edges, Sparse(indptr, indices, column, width))


def _header(data: Buffer, path: str) -> tuple[int, int]:
    """The number of sentences that the first line says, and where the lines behind it start."""
    start = len(_BOM) if data[: len(_BOM)] == _BOM else 0
    if len(data) == start:
        raise FormatError(path, None, "an empty file", _EXPECTED)
    match = _HEADER_LINE.match(data, start)
    if match is not None and match[1]:
        return int(match[2]), match.end()
    place = match.end() if match is not None else start
    if place == len(data):
        raise FormatError(path, None, "a file of blanks", _EXPECTED)
    line = line_of(np.frombuffer(data, dtype=np.uint8), place)
    token = re.split(rb"[ \t\r\n]", bytes(data[place : place + 4096]), maxsplit=1)[0]
    raise FormatError(path, line, quoted(token.decode("utf-8", "backslashreplace")), _EXPECTED)


def _parts(data: Buffer, text: Bytes, start: int) -> list[_Part]:
    """The lines from ``start`` on; the last ones go to a copy with room behind and a newline at its end."""
    cut = max(data.rfind(b"\n", 0, max(len(data) - _PADDING, 0)) + 1, start)
    tail = bytes(data[cut:])
    tail += b"" if tail.endswith(b"\n") else b"\n"
    padded = np.frombuffer(tail + bytes(_PADDING), dtype=np.uint8)
    pieces = [(text[start:cut], start), (padded[: len(tail)], cut)]
    return [_Part(piece, origin, scan(piece)) for piece, origin in pieces if len(piece)]


def _check_sizes(path: str, text: Bytes, sizes: Ints, announced: int, strict: bool) -> None:
    """Refuse a file cut off or without any parse; tell of sentences without one."""
    if len(sizes) != announced:
        found = count(len(sizes), "sentence")
        raise FormatError(path, None, found, f"{announced}, as S={announced} on its first line says")
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == len(sizes):
        raise FormatError(path, None, "no parse", "one sentence with parses at least")
    if not len(empty):
        return
    first = int(empty[0]) + 1
    if strict:
        raise FormatError(path, _line_of_sentence(text, first), "a sentence without a parse", "N=1 or more")
    note = f"{path}: {count(len(empty), 'sentence')} of {len(sizes)} without a parse left out"
    warnings.warn(f"{note} (first: sentence {first})", DataNote, stacklevel=4)


def _line_of_sentence(text: Bytes, number: int) -> int:
    """The line of a sentence by its number from 1; the header is the first line that is not blank."""
    seen = -1
    for line, content in enumerate(bytes(text).split(b"\n"), start=1):
        seen += bool(content.strip())
        if seen == number:
            return line
    raise AssertionError(number)


def f_of(counts: Floats) -> Floats:
    """F (n) of matched, gold and test constituents, the columns of ``counts`` (n, 3 or more); 0 for 0 / 0."""
    matched, both = 2 * counts[:, 0], counts[:, 1] + counts[:, 2]
    return np.divide(matched, both, out=np.zeros(len(counts)), where=both > 0)
