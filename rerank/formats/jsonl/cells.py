"""Features that are given by name, item after item; the columns are known after the last one."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import Floats, Index, Ints
from rerank.formats.base import ReadOptions
from rerank.formats.common import absent_value, check_float32, empty_dense, note, wants_dense

_ROWS = 8192
_REMEMBERED = 256


class Cells:
    """Named values of items, put into columns in order of first appearance.

    As long as all items have the same features in the same order, their values one after the other are the
    dense array; columns and lengths of rows are stored only after that.
    """

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.n_items = 0
        self._values = array("d")
        self._uniform: array[int] | None = None  # the columns of every item so far
        self._columns: array[int] | None = None
        self._lengths = array("q")
        self._remembered: dict[tuple[str, ...], array[int]] = {}

    @property
    def n_values(self) -> int:
        return len(self._values)

    def add(self, names: tuple[str, ...], values: array[float] | Floats, n: int) -> None:
        """Add ``n`` items with the same features in the same order, values item by item."""
        columns = self._columns_of(names)
        if self.n_items == 0:
            self._uniform = columns
        elif self._columns is None and columns != self._uniform:
            self._keep_columns()
        if self._columns is not None:
            self._columns.extend(columns * n)
            self._lengths.extend(array("q", [len(columns)]) * n)
        self._values.frombytes(values.tobytes())
        self.n_items += n

    def _keep_columns(self) -> None:
        uniform = self._uniform or array("i")
        self._columns = uniform * self.n_items
        self._lengths = array("q", [len(uniform)]) * self.n_items

    def _columns_of(self, names: tuple[str, ...]) -> array[int]:
        columns = self._remembered.get(names)
        if columns is None:
            known = self.names
            columns = array("i", [known.setdefault(name, len(known)) for name in names])
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            self._remembered[names] = columns
        return columns

    def finish(self, options: ReadOptions, source: str) -> Features:
        """Return the features of all items; nothing can be added afterwards.

        Warns how many values are absent. Whether the features are dense is decided by ``wants_dense``.
        """
        width = len(self.names)
        absent = self.n_items * width - self.n_values
        if absent:
            taken = "missing (NaN)" if options.missing == "nan" else "0 (missing=nan keeps them apart)"
            note(f"{source}: {absent} of {self.n_items * width} feature values are absent; taken as {taken}")
        if wants_dense(options, self.n_values, self.n_items * width, source):
            return self._dense(width, options, source)
        return self._sparse(width)

    def _dense(self, width: int, options: ReadOptions, source: str) -> Dense:
        values = np.frombuffer(self._values, dtype=np.float64)
        if options.dtype == "float32":
            check_float32(values, source)
        if self._columns is None and len(values) == self.n_items * width:
            return Dense(values.reshape(self.n_items, width).astype(options.dtype, copy=False))
        out = empty_dense(self.n_items, width, options.dtype, source)
        out.fill(absent_value(options))
        for rows, part, lengths, columns in self._parts():
            out[np.repeat(np.arange(rows.start, rows.stop), lengths), columns] = values[part]
        return Dense(out)

    def _sparse(self, width: int) -> Sparse:
        indptr = np.zeros(self.n_items + 1, dtype=np.int64)
        indices = np.empty(self.n_values, dtype=np.int32)
        data = np.empty(self.n_values)
        values = np.frombuffer(self._values, dtype=np.float64)
        for rows, part, lengths, columns in self._parts():
            indptr[rows.start + 1 : rows.stop + 1] = part.start + np.cumsum(lengths)
            order = np.lexsort((columns, np.repeat(np.arange(len(lengths)), lengths)))
            indices[part] = columns[order]
            data[part] = values[part][order]
        return Sparse(indptr, indices, data, width)

    def _parts(self) -> Iterator[tuple[slice, slice, Index, Ints]]:
        """Yield ranges of rows and of their values, the lengths of the rows and the columns of the values."""
        if self._columns is None:
            self._keep_columns()
        all_columns = np.frombuffer(self._columns or b"", dtype=np.int32)
        all_lengths = np.frombuffer(self._lengths, dtype=np.int64)
        at = 0
        for row in range(0, self.n_items, _ROWS):
            lengths = all_lengths[row : row + _ROWS]
            part = slice(at, at + int(lengths.sum()))
            at = part.stop
            yield slice(row, row + len(lengths)), part, lengths, all_columns[part]
