"""The bytes of files that kernels read and write: parts and pieces of whole lines, and blocks of lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import IO

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import BLOCK, Buffer, read_blocks, shown
from rerank.core.types import Bytes, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.native.formats._gather import gather

BOM = b"\xef\xbb\xbf"

_PADDING = 64  # readable bytes that kernels need after a part
_BLOCK = 1 << 22
_PIECE = 1 << 22


def content_start(data: Buffer, path: str, expected: str) -> int:
    """Return where the text after a byte order mark starts.

    Raises FormatError if the file is empty, or carriage returns alone end its lines.
    """
    start = len(BOM) if data[: len(BOM)] == BOM else 0
    if len(data) == start:
        raise FormatError(path, None, "an empty file", expected)
    if data.find(b"\n", start) < 0 <= data.find(b"\r", start) and b"\r" in bytes(data[start:]).strip():
        raise FormatError(path, 1, "carriage returns without newlines", "lines that end in newlines")
    return start


def parts_of_lines(data: Buffer, start: int, most: int = 1, smallest: int = 1) -> list[tuple[Bytes, int]]:
    """Return the lines from byte ``start`` on in parts that kernels can read.

    Each part consists of whole lines and is followed by 64 readable bytes. So the last lines go into a padded
    copy, which ends in a newline even if the file does not.

    Parameters
    ----------
    start : the first byte of a line.
    most : at most so many parts, the copy not counted.
    smallest : bytes of a part at least, unless there is only one.

    Returns
    -------
    list of (bytes, uint8; their offset in the file)
    """
    text = np.frombuffer(data, dtype=np.uint8)
    cut = max(data.rfind(b"\n", 0, max(len(data) - _PADDING, 0)) + 1, start)
    tail = bytes(data[cut:])
    tail += b"" if tail.endswith(b"\n") else b"\n"
    n_parts = min(most, max((cut - start) // smallest, 1))
    bounds = [start]
    for part in range(1, n_parts):
        bounds.append(max(data.find(b"\n", start + (cut - start) * part // n_parts) + 1, bounds[-1]))
    bounds.append(cut)
    parts = [(text[a:b], a) for a, b in itertools.pairwise(bounds) if b > a]
    return [*parts, (np.frombuffer(tail + bytes(_PADDING), dtype=np.uint8)[: len(tail)], cut)]


def strings_at(pieces: Sequence[tuple[Bytes, Index, Index]]) -> StringColumn:
    """Return strings copied out of files.

    pieces : of (text, spans (n, 2), the start and length of each string; their positions in the column (n)).
    """
    lengths = np.empty(sum(len(spans) for _, spans, _ in pieces), dtype=np.int64)
    for _, spans, places in pieces:
        lengths[places] = spans[:, 1]
    offsets = offsets_of(lengths)
    data = np.empty(offsets[-1], dtype=np.uint8)
    for text, spans, places in pieces:
        if len(data):
            gather(text, spans, places, offsets, data)
    return StringColumn(data, offsets)


def pieces_of_lines(path: str, expected: str) -> Iterator[Bytes]:
    """Yield the lines of a file ("-" = standard input), decompressed, in pieces that kernels can read.

    A piece consists of whole lines, about 4 MB, and is followed by 64 readable bytes. It lasts until the
    next one is asked for, so that memory holds one piece at a time. Every line ends in a newline, even if
    the file does not; a byte order mark at the start is left out. Raises FormatError as ``content_start``.
    """
    room = np.empty(_PIECE + BLOCK + _PADDING, dtype=np.uint8)
    used, first = 0, True

    def piece(stop: int) -> Bytes:
        nonlocal first
        start = content_start(room[:stop].tobytes(), shown(path), expected) if first else 0
        first = False
        return room[start:stop]

    for block in read_blocks(path):
        if used + len(block) + _PADDING > len(room):
            room = np.concatenate([room[:used], np.empty(used + len(block) + _PADDING, dtype=np.uint8)])
        room[used : used + len(block)] = np.frombuffer(block, dtype=np.uint8)
        used += len(block)
        cut = used - len(block) + block.rfind(b"\n") + 1
        if used >= _PIECE and cut > used - len(block):
            yield piece(cut)
            room[: used - cut] = room[cut:used].copy()
            used -= cut
    if used or first:
        last = piece(used)
        if last[-1] != ord("\n"):
            room[used] = ord("\n")
            last = room[used - len(last) : used + 1]
        yield last


def blocks(sizes: Index) -> list[tuple[int, int]]:
    """Return ranges of consecutive lines that fit a buffer of about 4 MB, at least one line each.

    sizes : int64 (n_lines), the most bytes that each line takes.
    """
    ends = np.cumsum(sizes)
    bounds = []
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
        bounds.append((start, stop))
        start = stop
    return bounds


def write_blocks(
    file: IO[bytes], sizes: Index, render: Callable[[int, int, Bytes], int], spare: int = 0
) -> None:
    """Write lines that a kernel renders into a buffer, block by block.

    sizes : int64 (n_lines), the most bytes that each line takes.
    render : called with the range of lines and the buffer; returns the bytes it has filled.
    spare : bytes that a block may take beyond its lines.
    """
    bounds = blocks(sizes)
    out = np.empty(max(int(sizes[a:b].sum()) for a, b in bounds) + spare, dtype=np.uint8)
    for a, b in bounds:
        file.write(out[: render(a, b, out)].data)
