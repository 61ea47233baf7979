"""Reading large SVMlight files without holding their text: piece by piece, into the final array.

Pieces of whole lines are read into a few buffers that are used again and again, so that memory holds the
features once and no text, and the text costs no fresh pages. Threads parse pieces while the next ones are
read, or decompressed. The rows of a piece are counted when it is read, so that each piece knows its rows.

This path takes only what is plain: dense rows, lists whose lines are together, and no fault. At anything else
it stops, and the reader of whole texts (svmlight.read) reads the file again, with its notes and errors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from rerank.core import progress
from rerank.core.errors import FormatError, RerankError
from rerank.core.files.archives import MAGIC_LENGTH, archive_of
from rerank.core.files.read import first_bytes, opened, read_blocks
from rerank.core.types import AnyArray, Bytes, Floats
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import BOM, strings_at
from rerank.formats.builders import Rows
from rerank.formats.common import absent_value
from rerank.formats.feature_columns import WIDE, ColumnNames
from rerank.formats.svmlight.read import (
    first_item,
    looks_dense,
    note_one_list,
    note_without_ids,
    steps_of,
)
from rerank.native.data._matrix import value_fault
from rerank.native.formats._svmlight import parse_dense, scan

PIECE = 1 << 21
_PADDING = 64  # readable bytes that kernels need after a piece
_INFLATION = 4  # bytes of text to expect for each byte of an archive

Fill = Callable[[memoryview], int]


class _NotPlainError(Exception):
    """The file needs the reader of whole texts."""


def read_pieces(path: str, options: ReadOptions, given: ColumnNames | None) -> CandidateLists | None:
    """Return the lists of a large file, None if it is not plain.

    Raises FormatError if an archive is damaged, DataError if there are fewer names than features.
    """
    try:
        size = os.stat(path).st_size
        with ExitStack() as stack:
            if archive_of(first_bytes(path, MAGIC_LENGTH)) is None:
                fill = _of_file(stack.enter_context(opened(path)).rewound(), size)
            else:
                fill = _of_blocks(read_blocks(path))
                size *= _INFLATION
            shown = progress.step(f"parsing {os.path.basename(path)}", size, "byte")
            return _Reader(path, options, given).lists(fill, stack.enter_context(shown))
    except (_NotPlainError, OSError):
        return None


def _of_file(file: IO[bytes], size: int) -> Fill:
    """Reading of a plain file, up to the size that it had when it was opened."""
    left = size

    def fill(room: memoryview) -> int:
        nonlocal left
        n = file.readinto(room[:left]) if left else 0  # type: ignore[attr-defined]
        left -= n
        return int(n)

    return fill


def _of_blocks(blocks: Iterator[bytes]) -> Fill:
    """Reading from an iterator of blocks, which may be empty."""
    rest = memoryview(b"")

    def fill(room: memoryview) -> int:
        nonlocal rest
        while not rest:
            block = next(blocks, None)
            if block is None:
                return 0
            rest = memoryview(block)
        n = min(len(rest), len(room))
        room[:n] = rest[:n]
        rest = rest[n:]
        return n

    return fill


class _Lines:
    """Pieces of whole lines, one after the other; a last line without a newline gets one."""

    def __init__(self, fill: Fill) -> None:
        self.fill, self.rest, self.first, self.done = fill, b"", True, False

    def next(self, held: bytearray) -> int:
        """Fill a buffer; return how many bytes of whole lines it holds, 0 at the end.

        Raises _NotPlainError if a line is longer than a piece, or all of the text is in the first one.
        """
        if self.done:
            return 0
        end = len(self.rest)
        with memoryview(held) as room:
            room[:end] = self.rest
            while end < PIECE and (n := self.fill(room[end:PIECE])):
                end += n
        self.done = end < PIECE
        if self.done and end and held[end - 1] != 10:
            held[end] = 10
            end += 1
        cut = held.rfind(b"\n", 0, end) + 1
        if (self.done and self.first) or (end and not cut):
            raise _NotPlainError
        self.rest, self.first = bytes(held[cut:end]), False
        return cut


@dataclass
class _Piece:
    """Content of one piece: labels, where runs of a qid begin, their qids, ids, values present.

    ``missing``: whether any value is NaN.
    """

    labels: Floats
    starts: list[int]
    qids: list[bytes]
    ids: StringColumn
    n_values: int
    missing: bool


@dataclass
class _Reader:
    """The state of one reading, which threads share."""

    path: str
    options: ReadOptions
    given: ColumnNames | None
    failed: bool = False
    n_pieces: int = 0  # that were read
    n_bytes: int = 0  # of these
    parsing: int = 0  # pieces
    parsed: dict[int, _Piece] = field(default_factory=dict)  # not yet joined
    n_joined: int = 0  # rows of the pieces that were joined
    pieces: list[_Piece] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)  # of lists
    qids: dict[bytes, None] = field(default_factory=dict)
    last: bytes = b""

    def __post_init__(self) -> None:
        self.first = 0 if self.options.zero_based else 1
        self.auto = self.options.layout == "auto" and self.options.missing != "nan"
        self.reading = threading.Lock()
        self.turn = threading.Condition()  # guards what parsed pieces change

    def lists(self, fill: Fill, advance: progress.Advance) -> CandidateLists:
        """The lists of the file; raises _NotPlainError."""
        from concurrent.futures import ThreadPoolExecutor

        lines, more = _Lines(fill), self.options.n_threads() - 1
        with ThreadPoolExecutor(max(more, 1)) as pool:
            others = [pool.submit(self.work, lines, progress.nothing) for _ in range(more)]
            self.work(lines, advance)
            for other in others:
                other.result()
        return self.joined()

    def work(self, lines: _Lines, advance: progress.Advance) -> None:
        """Read and parse pieces until there is none left. One thread reads at a time, the others parse."""
        held = bytearray(PIECE + _PADDING)
        at = 0
        try:
            while True:
                with self.reading:
                    size = 0 if self.failed else lines.next(held)
                    if not size:
                        return
                    text = np.frombuffer(held, dtype=np.uint8)[:size]
                    text = text if self.n_pieces else self.begin(text)
                    X = self.room(text)
                    number = self.n_pieces
                    self.n_pieces, self.n_bytes = number + 1, self.n_bytes + size
                    now = self.n_bytes
                piece = self.parse(text, X)
                del X  # pages that are in use cannot move
                with self.turn:
                    self.parsing -= 1
                    self.parsed[number] = piece
                    while len(self.pieces) in self.parsed:
                        self.join(self.parsed.pop(len(self.pieces)))
                    self.turn.notify_all()
                advance(now - at)
                at = now
        except BaseException:
            with self.turn:
                self.failed = True
                self.turn.notify_all()
            raise

    def room(self, text: Bytes) -> AnyArray:
        """The rows of the next piece; those that there are move only while nothing is parsed into them."""
        n_rows, _, width = scan(text, self.first, False)
        if width > self.width:
            raise _NotPlainError
        with self.turn:
            if not self.rows.holds(n_rows):
                self.turn.wait_for(lambda: self.failed or not self.parsing)
            if self.failed:
                raise _NotPlainError
            self.parsing += 1
            try:
                return self.rows.more(n_rows)
            except RerankError:  # the reader of whole texts knows how many rows there are
                raise _NotPlainError from None

    def begin(self, text: Bytes) -> Bytes:
        """The first piece without a byte order mark. What it shows: qids and the width."""
        if text[: len(BOM)].tobytes() == BOM:
            text = text[len(BOM) :]
        try:
            _, self.has_qid = first_item(text.tobytes(), 0, self.path)
        except FormatError:
            raise _NotPlainError from None
        _, _, width = scan(text, self.first, False)
        self.width = max(width, 0 if self.given is None else self.given.n_columns)
        if not 0 < self.width <= WIDE or (self.auto and not looks_dense(text, self.first)):
            raise _NotPlainError
        self.steps, self.fill = steps_of(self.width, self.first), absent_value(self.options)
        self.rows = Rows(f"the features of {self.path}", self.options.dtype, self.width)
        return text

    def parse(self, text: Bytes, X: AnyArray) -> _Piece:
        """Parse a piece into its rows; raises _NotPlainError at a fault."""
        labels, spans = np.empty(len(X)), np.empty((len(X), 4), dtype=np.int64)
        how = 0, self.has_qid, self.first, self.fill, self.steps
        fault, _, _, n_values, columns = parse_dense(text, *how, X, labels, spans)
        if fault or columns > self.width:
            raise _NotPlainError
        _, missing = value_fault(X.reshape(-1), True)
        starts = np.flatnonzero(spans[:, 0] >= 0)
        qids = [text[at : at + n].tobytes() for at, n in spans[starts, :2].tolist()]
        ids = strings_at([(text, spans[:, 2:], np.arange(len(X)))])
        return _Piece(labels, starts.tolist(), qids, ids, n_values, missing)

    def join(self, piece: _Piece) -> None:
        """Append the next piece; raises _NotPlainError if lines of a list are not together."""
        for start, qid in zip(piece.starts, piece.qids, strict=True):
            if qid == self.last:  # a list that continues: a qid is never empty
                continue
            if qid in self.qids:
                raise _NotPlainError
            self.qids[qid], self.last = None, qid
            self.starts.append(self.n_joined + start)
        self.n_joined += len(piece.labels)
        self.pieces.append(piece)

    def joined(self) -> CandidateLists:
        """The lists of all pieces; raises _NotPlainError if their features would be sparse."""
        n, pieces = len(self.rows), self.pieces
        values = self.rows.array()
        if self.auto and 2 * sum(one.n_values for one in pieces) < values.size:
            raise _NotPlainError
        if self.given is not None:
            self.given.check(self.width, self.path)
        lengths = np.concatenate([one.ids.lengths() for one in pieces])
        note_without_ids(self.path, int(np.count_nonzero(lengths == 0)), n)
        ids = None
        if lengths.any():
            ids = StringColumn(np.concatenate([one.ids.data for one in pieces]), offsets_of(lengths))
        labels = np.concatenate([one.labels for one in pieces])
        if not self.starts:
            note_one_list(self.path, n)
        return CandidateLists(
            np.array([*(self.starts or [0]), n], dtype=np.int64),
            Dense(values, any(one.missing for one in pieces)),
            labels=labels,
            item_ids=ids,
            list_ids=StringColumn.from_strings(self.qids) if self.starts else None,
            feature_names=None if self.given is None else self.given.at(range(self.width)),
            source=self.path,
        )
