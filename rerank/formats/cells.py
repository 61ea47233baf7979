"""Features that come by name, item after item: the columns are known when the last one is read."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rerank.data.matrix import Dense, Features, Sparse
from rerank.errors import ConfigError, DataError, DataNote
from rerank.formats.base import ReadOptions

_CHUNK = 1 << 18  # values
_REMEMBERED = 256


def check_layout(options: ReadOptions) -> None:
    """Raise ConfigError for options of layout that exclude each other."""
    if options.layout == "sparse" and options.missing == "nan":
        raise ConfigError("layout='sparse' cannot hold missing='nan': what a sparse row leaves out is 0")
    if options.layout == "sparse" and options.dtype == "float32":
        raise ConfigError("layout='sparse' cannot honour dtype='float32': sparse features are float64")


@dataclass
class _Chunk:
    """Values of some items: how many each has, their columns and what they are."""

    lengths: array[int] = field(default_factory=lambda: array("q"))
    columns: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))


class Cells:
    """Named values of items, put into columns in order of first appearance."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.n_items = 0
        self.n_values = 0
        self._chunks = [_Chunk()]
        self._remembered: dict[tuple[str, ...], array[int]] = {}

    def add(self, names: Collection[str], values: Iterable[float]) -> None:
        """The features of one more item; each name at most once.

        Raises TypeError or OverflowError where a value is no number that fits a float; an infinite one
        is taken, the caller looks for it.
        """
        chunk = self._chunks[-1]
        numbers = array("d", values)
        chunk.columns.extend(self._columns_of(tuple(names)))
        chunk.values.extend(numbers)
        chunk.lengths.append(len(numbers))
        self.n_items += 1
        self.n_values += len(numbers)
        if len(chunk.values) >= _CHUNK:
            self._chunks.append(_Chunk())

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
        """The features of all items; the chunks are gone afterwards.

        Dense where half of the cells are present (as ``layout`` auto has it) or ``missing`` is "nan".
        What items leave out is counted in a DataNote.
        """
        width = len(self.names)
        absent = self.n_items * width - self.n_values
        layout = "dense" if options.missing == "nan" else options.layout
        if absent:
            taken = "missing (NaN)" if options.missing == "nan" else "0 (missing=nan keeps them apart)"
            note = f"{source}: {absent} of {self.n_items * width} feature values are absent; taken as {taken}"
            warnings.warn(note, DataNote, stacklevel=2)
        if layout == "dense" or (layout == "auto" and self.n_values >= absent):
            return self._dense(width, options, source)
        if options.dtype == "float32":
            raise DataError(f"{source}: sparse features are float64; float32 needs layout=dense")
        return self._sparse(width)

    def _dense(self, width: int, options: ReadOptions, source: str) -> Dense:
        fill = np.nan if options.missing == "nan" else 0.0
        try:
            out = np.full((self.n_items, width), fill, dtype=options.dtype)
        except (MemoryError, ValueError):
            raise DataError(
                f"{source}: {self.n_items} items x {width} features are too many for a dense array"
            ) from None
        row = 0
        for chunk in self._take():
            n = len(chunk.lengths)
            rows = np.repeat(np.arange(row, row + n), np.frombuffer(chunk.lengths, dtype=np.int64))
            row += n
            values = np.frombuffer(chunk.values, dtype=np.float64)
            if options.dtype == "float32":
                check_float32(values, source)
            out[rows, np.frombuffer(chunk.columns, dtype=np.int32)] = values
        return Dense(out)

    def _sparse(self, width: int) -> Sparse:
        indptr = np.zeros(self.n_items + 1, dtype=np.int64)
        indices = np.empty(self.n_values, dtype=np.int32)
        data = np.empty(self.n_values)
        row = at = 0
        for chunk in self._take():
            lengths = np.frombuffer(chunk.lengths, dtype=np.int64)
            n, size = len(lengths), len(chunk.values)
            np.cumsum(lengths, out=indptr[row + 1 : row + n + 1])
            indptr[row + 1 : row + n + 1] += at
            columns = np.frombuffer(chunk.columns, dtype=np.int32)
            order = np.lexsort((columns, np.repeat(np.arange(n), lengths)))
            indices[at : at + size] = columns[order]
            data[at : at + size] = np.frombuffer(chunk.values, dtype=np.float64)[order]
            row += n
            at += size
        return Sparse(indptr, indices, data, width)

    def _take(self) -> Iterable[_Chunk]:
        """The chunks with items in them, each let go of before the next comes."""
        self._chunks.reverse()
        while self._chunks:
            chunk = self._chunks.pop()
            if chunk.lengths:
                yield chunk


def check_float32(values: npt.NDArray[np.float64], source: str) -> None:
    """Raise DataError where a value is too large for float32."""
    largest = float(np.finfo(np.float32).max)
    over = np.abs(values) > largest
    if np.any(over):
        raise DataError(f"{source}: feature value {values[np.argmax(over)]} is too large for float32")
