"""Reading Moses N-best files piece by piece, in two passes over each: lines, ids and names, then numbers.

Memory holds the columns of the lists and one piece of a file. Lists whose lines are not contiguous, or are in
several files, are brought together at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import shown
from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import pieces_of_lines
from rerank.formats.common import check_contiguous, quoted
from rerank.formats.growing import Rows
from rerank.formats.moses.gathering import Gathered
from rerank.formats.moses.scan import (
    EXPECTED,
    Columns,
    Fault,
    Piece,
    Vocabulary,
    check_numbers,
    column_kinds,
    columns_of,
    scan_piece,
)
from rerank.native.formats._gather import gather
from rerank.native.formats._moses import count_lines


def read_lists(paths: Sequence[str], options: ReadOptions) -> CandidateLists:
    """Return the lists of one file, or of several joined by id; raises FormatError at the first bad line."""
    reading = _Reading(options)
    for path in paths:
        reading.read(path)
    return reading.lists()


class _Reading:
    """The lists that were read so far."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.vocabulary = Vocabulary()
        self.files: list[_File] = []
        self.features = Gathered(options)
        self.columns = Columns(np.zeros(0, dtype=np.int64), [], 0)
        self.fault: Fault | None = None  # of the names as a whole
        # The first bad number, which is raised after faults of the whole; the first that is no number at
        # all (in float64), which comes before them.
        self.bad: FormatError | None = None
        self.wrong: FormatError | None = None
        self.seen = -1  # names with features when the columns were made
        self.bare: int | None = None  # the first row without features
        self.totals = Rows("total scores", np.float64)
        self.text = Rows("texts", np.uint8)
        self.ends = Rows("places of texts", np.int64)
        self.ends.more(1)[0] = 0

    def read(self, path: str) -> None:
        """Read one file."""
        file = _File(shown(path), len(self.totals))
        self.files.append(file)
        kinds = None
        for text in pieces_of_lines(path, f"lines '{EXPECTED}'"):
            if kinds is None:
                kinds = column_kinds(file.path, text)
            row, n = len(self.totals), count_lines(text)
            piece = Piece(file.path, text, kinds, file.line_of(row), row, self.totals.more(n))
            try:
                scan_piece(piece, self.vocabulary)
            except FormatError as error:
                raise self.wrong or error from None
            file.add(piece.codes, row)
            self.features.count(piece)
            if self.bad is None:
                self._add_texts(piece)
                try:
                    self._add_features(piece)
                except FormatError as error:
                    self.bad = error
            if self.bad is not None and self.wrong is None:
                try:
                    check_numbers(piece, self.vocabulary, n)
                except FormatError as error:
                    self.wrong = error

    def _add_texts(self, piece: Piece) -> None:
        offsets = offsets_of(piece.spans[:, 1])
        before = len(self.text)
        if offsets[-1]:
            places = np.arange(len(piece.spans), dtype=np.int64)
            gather(piece.text, piece.spans, places, offsets, self.text.more(int(offsets[-1])))
        self.ends.more(len(piece.spans))[:] = offsets[1:] + before

    def _add_features(self, piece: Piece) -> None:
        if self.bare is None and not piece.counts.all():
            self.bare = piece.row + int(np.argmin(piece.counts))
        seen = int(np.count_nonzero(self.vocabulary.stats[: len(self.vocabulary.names), 0]))
        if seen != self.seen or self.fault is not None:
            self.columns, self.fault = columns_of(self.vocabulary, self.bare)
            self.seen = seen
        if self.fault is None:
            self.features.add(piece, self.vocabulary, self.columns)
        else:
            check_numbers(piece, self.vocabulary, len(piece.totals))

    def lists(self) -> CandidateLists:
        """Return the lists of all files; raise FormatError for what is wrong with them as a whole."""
        columns, fault = columns_of(self.vocabulary, self.bare)
        if fault is not None:
            file = next(one for one in reversed(self.files) if one.first <= fault.row)
            raise self.wrong or FormatError(file.path, file.line_of(fault.row), fault.found, fault.expected)
        ids = self.vocabulary.ids.strings()
        for path in dict.fromkeys(file.path for file in self.files):
            _check_file([file for file in self.files if file.path == path], ids, self.options.strict)
        source = self.files[0].path
        dense = self.features.are_dense(columns, source)
        if self.bad is not None:
            raise self.bad
        features = self.features.finish(columns, dense, source)
        n = len(self.totals)
        texts = StringColumn(self.text.array(), self.ends.array())
        totals: Floats = self.totals.array()
        first_best = np.arange(n, dtype=np.float64)
        np.negative(first_best, out=first_best)  # the first line of a list is the best
        offsets, rows = self._lists()
        if rows is not None:
            features, texts = features.take(rows), texts.take(rows)
            totals, first_best = totals[rows], first_best[rows]
        return CandidateLists(
            offsets,
            features,
            base_scores=totals,
            first_best=first_best,
            list_ids=StringColumn.from_strings(ids),
            rows=rows,
            feature_names=columns.names,
            texts=texts,
            source=source,
        )

    def _lists(self) -> tuple[Index, Index | None]:
        """The offsets of lists and the row of each item; None if they are in order."""
        starts = np.concatenate([file.starts() for file in self.files])
        codes = np.concatenate([file.codes() for file in self.files])
        lengths = np.diff(starts, append=len(self.totals))
        if np.all(codes[1:] >= codes[:-1]):
            return offsets_of(np.bincount(codes, lengths).astype(np.int64)), None
        return grouped(np.repeat(codes, lengths))


class _File:
    """The runs of lines of one list in a file, whose first row is ``first``."""

    def __init__(self, path: str, first: int) -> None:
        self.path = path
        self.first = first
        self._code = -1  # of the last line
        self._starts: list[Index] = []
        self._codes: list[Ints] = []

    def add(self, codes: Ints, row: int) -> None:
        """Add lines by the number of their list, the first one of them in ``row``."""
        new = np.flatnonzero(np.diff(codes, prepend=np.int32(self._code)))
        self._starts.append(new + row)
        self._codes.append(codes[new])
        self._code = int(codes[-1])

    def starts(self) -> Index:
        """Return the first row of each run."""
        return np.concatenate(self._starts)

    def codes(self) -> Index:
        """Return the list of each run."""
        return np.concatenate(self._codes).astype(np.int64)

    def line_of(self, row: int) -> int:
        """Return the line of a row, from 1."""
        return row - self.first + 1


def _check_file(parts: Sequence[_File], ids: Sequence[bytes], strict: bool) -> None:
    """Report, or under ``strict`` refuse, lists of one file whose lines are not contiguous.

    ``parts`` are several if it was given several times: their lines count as those of one file.
    """
    codes = np.concatenate([part.codes() for part in parts])
    lines = np.concatenate([part.starts() - part.first + 1 for part in parts])
    check_contiguous(
        codes,
        lambda at: int(lines[at]),
        lambda at: f"id {quoted(ids[codes[at]])}",
        parts[0].path,
        strict,
    )
