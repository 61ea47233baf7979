"""NBestReading of Moses N-best files, in two passes over each piece: lines, ids and names, then numbers.

Memory holds the columns of the lists and one piece of a file. Lists whose lines are not contiguous, or are in
several files, are brought together at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct, field

from rerank.core.errors import FormatError
from rerank.core.files.read import shown
from rerank.core.types import AnyArray, Bytes, Floats, Index, Ints
from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import pieces_of_lines
from rerank.formats.builders import Rows
from rerank.formats.common import absent_value, check_contiguous, empty_dense, quoted, wants_dense
from rerank.formats.moses.lexer import (
    EXPECTED,
    Columns,
    Fault,
    Piece,
    Vocabulary,
    check_numbers,
    column_kinds,
    columns_of,
    fill,
    scan_piece,
)
from rerank.native.formats._gather import gather
from rerank.native.formats._moses import count_lines
from rerank.native.formats._moses_fill import fill_dense, fill_sparse

_WHAT = "dense features (sparse ones need memory for values alone: --layout sparse)"
_AT_ONCE = 1 << 16  # rows whose absent values are filled in at a time


class _Dense(Struct):
    """Rows of the columns so far, NaN where a line has no value."""

    columns: Columns
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    def put(self, out: AnyArray, places: Index) -> None:
        """Write the values into dense rows ``out``, column j at ``places[j]``."""
        out[:, places] = self.rows.array()

    def triples(self) -> tuple[Index, Ints, Floats]:
        """Return values per row, columns and values."""
        values = self.rows.array()
        known = ~np.isnan(values)
        return known.sum(axis=1), np.nonzero(known)[1].astype(np.int32), values[known]


class _Sparse(Struct):
    """Compressed rows of the columns so far."""

    columns: Columns
    counts: Rows = field(default_factory=lambda: Rows("values of lines", np.int64))
    indices: Rows = field(default_factory=lambda: Rows("features", np.int32))
    data: Rows = field(default_factory=lambda: Rows("features", np.float64))

    def __len__(self) -> int:
        return len(self.counts)

    def put(self, out: AnyArray, places: Index) -> None:
        """Write the values into dense rows ``out``, column j at ``places[j]``."""
        counts, indices, data = self.triples()
        out[np.repeat(np.arange(len(counts)), counts), places[indices]] = data

    def triples(self) -> tuple[Index, Ints, Floats]:
        """Return values per row, columns and values."""
        return self.counts.array(), self.indices.array(), self.data.array()


class FeatureBlocks:
    """Features of pieces one after the other, in blocks that need no second copy if lines have one form.

    What the columns are, and whether they are dense, is known at the end of the last file. Until then each
    block has the columns of the names so far, dense if half of its cells have a value. Usually there is one
    block, and it becomes the features; otherwise blocks are brought to the columns of all names.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._blocks: list[_Dense | _Sparse] = []
        self._n = self._values = 0
        self._beyond: FormatError | None = None  # the first number that float32 does not hold

    def count(self, piece: Piece) -> None:
        """Count the lines and values of a piece."""
        self._n += len(piece.totals)
        self._values += int(piece.counts.sum())

    def add(self, piece: Piece, vocabulary: Vocabulary, columns: Columns) -> None:
        """Read the numbers of a piece; raises FormatError at the first bad one.

        ``columns`` is the same object as for the piece before if no name is new.
        """
        n, values, width = len(piece.totals), int(piece.counts.sum()), columns.width
        options = self._options
        dense = options.layout == "dense" or options.missing == "nan"
        dense |= options.layout == "auto" and 2 * values >= n * width
        last = self._blocks[-1] if self._blocks else None
        if last is None or last.columns is not columns or isinstance(last, _Dense) != dense:
            last = _Dense(columns, Rows(_WHAT, options.dtype, width)) if dense else _Sparse(columns)
            self._blocks.append(last)
        longest = max(int(piece.counts.max()), 1)
        line = np.empty(longest, dtype=np.int32), np.empty(longest)  # scratch
        if isinstance(last, _Dense):
            out = np.nan, *line, last.rows.more(n)
            fill(fill_dense, piece, vocabulary, columns.first, np.arange(n), *out, dtype=options.dtype)
            return
        if options.dtype == "float32" and self._beyond is None:
            try:  # every line goes into one row that nobody reads
                row = np.nan, *line, np.empty((1, width), dtype=np.float32)
                places = np.zeros(n, dtype=np.int64)
                fill(fill_dense, piece, vocabulary, columns.first, places, *row, dtype="float32")
            except FormatError as error:
                self._beyond = error
        indices, data = np.empty(values + 1, dtype=np.int32), np.empty(values + 1)  # every row has a place
        indptr = offsets_of(piece.counts)
        fill(fill_sparse, piece, vocabulary, columns.first, np.arange(n), indptr, indices, data)
        last.counts.more(n)[:] = piece.counts
        last.indices.more(values)[:] = indices[:-1]
        last.data.more(values)[:] = data[:-1]

    def are_dense(self, columns: Columns, source: str) -> bool:
        """Return whether the features of all lines become dense; raises DataError as ``wants_dense``."""
        return wants_dense(self._options, self._values, self._n * columns.width, source)

    def finish(self, columns: Columns, dense: bool, source: str) -> Features:
        """Return the features of all lines, in their order."""
        if not dense:
            return self._compressed(columns)
        if self._beyond is not None:
            raise self._beyond
        first = self._blocks[0]
        if len(self._blocks) == 1 and isinstance(first, _Dense) and first.columns.width == columns.width:
            X = first.rows.array()
        else:
            X = empty_dense(self._n, columns.width, self._options.dtype, source)
            at = 0
            while self._blocks:
                block = self._blocks.pop(0)
                some = X[at : at + len(block)]
                some[:] = np.nan
                block.put(some, _places(block.columns, columns))
                at += len(block)
        absent = absent_value(self._options)
        if self._values < self._n * columns.width and not np.isnan(absent):
            for at in range(0, self._n, _AT_ONCE):
                np.nan_to_num(X[at : at + _AT_ONCE], copy=False, nan=absent)
        return Dense(X)

    def _compressed(self, columns: Columns) -> Sparse:
        indices, data = np.empty(self._values, dtype=np.int32), np.empty(self._values)
        counts = np.empty(self._n, dtype=np.int64)
        row = at = 0
        while self._blocks:
            block = self._blocks.pop(0)
            places = _places(block.columns, columns)
            of_rows, found, values = block.triples()
            moved = places[found]
            if np.any(np.diff(places) < 0):
                order = np.lexsort((moved, np.repeat(np.arange(len(of_rows)), of_rows)))
                moved, values = moved[order], values[order]
            counts[row : row + len(of_rows)] = of_rows
            indices[at : at + len(moved)] = moved
            data[at : at + len(moved)] = values
            row, at = row + len(of_rows), at + len(moved)
        return Sparse(offsets_of(counts), indices, data, columns.width)


def _places(these: Columns, of: Columns) -> Index:
    """The place of each column among those of all names."""
    if these.names is None or of.names is None:
        return np.arange(these.width, dtype=np.int64)
    known = {name: j for j, name in enumerate(of.names)}
    return np.array([known[name] for name in these.names], dtype=np.int64)


def read_lists(paths: Sequence[str], options: ReadOptions) -> CandidateLists:
    """Return the lists of one file, or of several joined by id; raises FormatError at the first bad line."""
    reading = NBestReading(options)
    for path in paths:
        reading.read(
            NBestFile(shown(path), len(reading.totals)), pieces_of_lines(path, f"lines '{EXPECTED}'")
        )
    return reading.lists()


class NBestReading:
    """The lists that were read so far."""

    def __init__(self, options: ReadOptions) -> None:
        self.options = options
        self.vocabulary = Vocabulary()
        self.files: list[NBestFile] = []
        self.features = FeatureBlocks(options)
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

    def read(
        self, file: NBestFile, pieces: Iterable[Bytes], kinds: AnyArray | None = None
    ) -> AnyArray | None:
        """Read pieces of one file; return what each column of a line holds, for pieces that follow."""
        self.files.append(file)
        for text in pieces:
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
        return kinds

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
        starts = np.concatenate([file.starts() for file in self.files])
        codes = np.concatenate([file.codes() for file in self.files])
        lengths = np.diff(starts, append=n)
        if np.all(codes[1:] >= codes[:-1]):
            offsets, rows = offsets_of(np.bincount(codes, lengths).astype(np.int64)), None
        else:
            offsets, rows = grouped(np.repeat(codes, lengths))
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


class NBestFile:
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


def _check_file(parts: Sequence[NBestFile], ids: Sequence[bytes], strict: bool) -> None:
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
