"""Reading BLLIP's feature files: count, then parse in place, then leave out sentences without a parse."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import Buffer
from rerank.core.text import count
from rerank.core.types import Bytes, Counts, Floats, Ints
from rerank.data.columns.offsets import fresh_array
from rerank.data.matrix import Sparse
from rerank.formats.bllip.faults import fault_error
from rerank.formats.buffers import content_start, parts_of_lines
from rerank.formats.common import line_of, note, quoted, token_at
from rerank.native.formats._bllip import FAULTS, fill, scan

_EXPECTED = "S=<number of sentences> alone on the first line"
_HEADER_LINE = re.compile(rb"[ \t\r\n]*(S=([0-9]{1,18})[ \t\r]*(?:\n|\Z))?")


@dataclass
class Sentences:
    """The content of a file.

    Attributes
    ----------
    sizes : int32 (n_sentences), the number of parses of each, 0 for some.
    edges : float64 (n_parses, 3), constituents of the gold tree, of the parse, of both.
    features : n_parses rows.
    """

    sizes: Ints
    edges: Floats
    features: Sparse


def parse(data: Buffer, path: str, n_features: int, strict: bool) -> Sentences:
    """Parse a whole file into at least ``n_features`` columns; raises FormatError at its first bad line.

    Sentences without a parse are reported, or refused under ``strict``.
    """
    text = np.frombuffer(data, dtype=np.uint8)
    announced, start = _header(data, path)
    parts = [(part, origin, scan(part)) for part, origin in parts_of_lines(data, start)]
    lines, rows, values, valued = (sum(column) for column in zip(*(c for *_, c in parts), strict=True))
    sizes = np.empty(lines, dtype=np.int32)
    edges = np.empty((rows, 3))
    indptr = np.zeros(rows + 1, dtype=np.int64)
    indices = fresh_array((values,), np.int32)
    column = fresh_array((values,), np.float64) if valued else None
    width = n_features
    line = row = value = 0
    for part, origin, more in parts:
        ends = indptr[row + 1 : row + more[1] + 1]
        some = slice(value, value + more[2])
        fault, place, detail, widest = fill(
            part,
            sizes[line : line + more[0]],
            edges[row : row + more[1]],
            ends,
            indices[some],
            None if column is None else column[some],
        )
        if fault:
            raise fault_error(path, text, FAULTS[fault], origin + place, detail)
        ends += value
        width = max(width, widest)
        line, row, value = line + more[0], row + more[1], value + more[2]
    _check_sizes(path, text, sizes, announced, strict)
    return Sentences(sizes, edges, Sparse(indptr, indices, column, width))


def _header(data: Buffer, path: str) -> tuple[int, int]:
    """The number of sentences that the first line announces, and where the next line starts."""
    start = content_start(data, path, _EXPECTED)
    match = _HEADER_LINE.match(data, start)
    if match is not None and match[1]:
        return int(match[2]), match.end()
    place = match.end() if match is not None else start
    if place == len(data):
        raise FormatError(path, None, "a file of blanks", _EXPECTED)
    text = np.frombuffer(data, dtype=np.uint8)
    line = line_of(text, place)
    raise FormatError(path, line, quoted(token_at(text, place)), _EXPECTED)


def _check_sizes(path: str, text: Bytes, sizes: Ints, announced: int, strict: bool) -> None:
    """Refuse a file that is cut off or has no parse; report sentences without one."""
    if len(sizes) != announced:
        found = count(len(sizes), "sentence")
        raise FormatError(path, None, found, f"{announced}, as S={announced} on its first line says")
    empty = np.flatnonzero(sizes == 0)
    if len(empty) == len(sizes):
        raise FormatError(path, None, "no parse", "at least one sentence with parses")
    if not len(empty):
        return
    first = int(empty[0]) + 1
    if strict:
        raise FormatError(path, _line_of_sentence(text, first), "a sentence without a parse", "N=1 or more")
    without = f"{count(len(empty), 'sentence')} of {len(sizes)} without a parse left out"
    note(f"{path}: {without} (first: sentence {first})")


def _line_of_sentence(text: Bytes, number: int) -> int:
    """The line of a sentence, given by its number from 1; the header is the first line that is not blank."""
    lines = enumerate(bytes(text).split(b"\n"), start=1)
    return [line for line, content in lines if content.strip()][number]


def f_of(counts: Counts) -> Floats:
    """Return F (n) of matched, gold and test constituents, the first columns of ``counts``; 0 for 0 / 0."""
    matched, both = 2.0 * counts[:, 0], np.add(counts[:, 1], counts[:, 2], dtype=np.float64)
    return np.divide(matched, both, out=np.zeros(len(counts)), where=both > 0)
