"""Features that are given by name, item after item; the columns are known after the last one."""

from __future__ import annotations

from array import array

import numpy as np

from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Dense, Features, as_features
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

    def add(self, names: tuple[str, ...], values: array[float] | Floats, n: int) -> None:
        """Add ``n`` items with the same features in the same order, values item by item."""
        self.add_uniform(self._columns_of(names), values, n)

    def add_rows(self, columns: Ints, values: Floats, lengths: Index) -> None:
        """Add items with features of known columns, item by item.

        columns : int32; values; lengths : int64, how many features each item has.
        """
        width = uniform_width(columns, lengths)
        if width is not None:
            self.add_uniform(array("i", columns[:width].tobytes()), values, len(lengths))
            return
        if self._columns is None:
            self._columns = self._kept_columns()
        self._columns.frombytes(columns.tobytes())
        self._lengths.frombytes(lengths.tobytes())
        self._values.frombytes(values.tobytes())
        self.n_items += len(lengths)

    def add_uniform(self, columns: array[int], values: array[float] | Floats, n: int) -> None:
        """Add ``n`` items with features of the same known columns, values item by item."""
        if self.n_items == 0:
            self._uniform = columns
        elif self._columns is None and columns != self._uniform:
            self._columns = self._kept_columns()
        if self._columns is not None:
            self._columns.extend(columns * n)
            self._lengths.extend(array("q", [len(columns)]) * n)
        self._values.frombytes(values.tobytes())
        self.n_items += n

    def _kept_columns(self) -> array[int]:
        """Return the columns of all items so far, and keep how many each has."""
        uniform = self._uniform or array("i")
        self._lengths = array("q", [len(uniform)]) * self.n_items
        return uniform * self.n_items

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
        absent = self.n_items * width - len(self._values)
        if absent:
            taken = "missing (NaN)" if options.missing == "nan" else "0 (missing=nan keeps them apart)"
            note(f"{source}: {absent} of {self.n_items * width} feature values are absent; taken as {taken}")
        values = np.frombuffer(self._values, dtype=np.float64)
        dense = wants_dense(options, len(values), self.n_items * width, source)
        if dense and options.dtype == "float32":
            check_float32(values, source)
        if dense and self._columns is None and not absent:
            return Dense(values.reshape(self.n_items, width).astype(options.dtype, copy=False))
        if self._columns is None:
            self._columns = self._kept_columns()
        columns = np.frombuffer(self._columns or b"", dtype=np.int32)
        indptr = offsets_of(self._lengths)
        if not dense:
            from scipy.sparse import csr_array  # it takes longer to load than most files to read

            return as_features(csr_array((values, columns, indptr), shape=(self.n_items, width)))
        out = empty_dense(self.n_items, width, options.dtype, source)
        out.fill(absent_value(options))
        for start in range(0, self.n_items, _ROWS):
            ends = indptr[start : start + _ROWS + 1]
            part = slice(ends[0], ends[-1])
            rows = np.repeat(np.arange(start, start + len(ends) - 1), np.diff(ends))
            out[rows, columns[part]] = values[part]
        return Dense(out)


def uniform_width(columns: Ints, lengths: Index) -> int | None:
    """Return the length of rows that all have the same columns in the same order, None if they differ."""
    width = int(lengths[0])
    if len(columns) != width * len(lengths) or not np.all(lengths == width):
        return None
    return width if width == 0 or np.array_equal(columns[width:], columns[:-width]) else None
