"""Features of N-best lists piece by piece, in blocks that need no second copy if all lines are alike.

What the columns are, and whether they are dense, is known at the end of the last file. Until then each block
has the columns of the names so far, dense if half of its cells have a value. Usually there is one block, and
it becomes the features; otherwise blocks are brought to the columns of all names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Dense, Features, Sparse
from rerank.formats.base import ReadOptions
from rerank.formats.common import absent_value, empty_dense, wants_dense
from rerank.formats.growing import Rows
from rerank.formats.moses.scan import Columns, Piece, Vocabulary, fill
from rerank.native.formats._moses_fill import fill_dense, fill_sparse

_WHAT = "dense features (sparse ones need memory for values alone: --layout sparse)"
_AT_ONCE = 1 << 16  # rows whose absent values are filled in at a time


@dataclass
class _Dense:
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


@dataclass
class _Sparse:
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


class Gathered:
    """Features of pieces one after the other."""

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
