"""Columns of features: their names from a file, and those that are kept if indices are far apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.types import Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Sparse
from rerank.formats.common import quoted

_LARGEST_INDEX = 2**31 - 1
_INDEX_AND_NAME = re.compile(r"([0-9]{1,18})\t")


class ColumnNames(Struct, frozen=True, dict=True):
    """Names by column; a column without one is named by its index, which counts from ``first``."""

    path: str
    names: dict[int, str]
    first: int

    @cached_property
    def n_columns(self) -> int:
        """The number of columns up to the last one with a name."""
        return max(self.names, default=-1) + 1

    @cached_property
    def columns(self) -> Index:
        """The columns with a name, rising."""
        return np.array(sorted(self.names), dtype=np.int64)

    def at(self, columns: Iterable[int]) -> list[str]:
        """Return the names of some columns."""
        return [self.names.get(column, str(column + self.first)) for column in columns]

    def check(self, n_features: int, source: str) -> None:
        """Raise DataError if there are fewer names than ``source`` has features."""
        if self.n_columns < n_features:
            found = f"found {self.n_columns} feature names, expected {n_features}"
            raise DataError(f"{self.path}: {found}, as {source} has")


def read_feature_names(path: str, first: int = 1) -> ColumnNames:
    """Return the names of the columns that a file of names gives.

    Raises FormatError at the first line that has no name, or one that occurred earlier.

    path : lines are names in the order of the columns, or, if the first one has that form, "index<TAB>name".
    first : the index of column 0.
    """
    source = shown(path)
    try:
        text = bytes(read_bytes(path)).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(source, None, "bytes that are not UTF-8", "feature names") from None
    lines = [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")]
    if lines == [""]:
        raise FormatError(source, None, "an empty file", "one feature name per line")
    names: dict[int, str] = {}
    lines_of: dict[str, int] = {}
    indexed = _INDEX_AND_NAME.match(lines[0]) is not None
    for number, line in enumerate(lines, start=1):
        column, name = _column_and_name(source, number, line, first) if indexed else (number - 1, line)
        name = name.strip()
        if not name:
            raise FormatError(source, number, "an empty name", "a feature name")
        if column in names:
            raise FormatError(source, number, f"index {column + first} again", "each index once")
        if name in lines_of:
            found = f"{name!r} again (line {lines_of[name]})"
            raise FormatError(source, number, found, "each feature name once")
        names[column] = name
        lines_of[name] = number
    out = ColumnNames(path, names, first)
    for name in names.values():
        column = int(name) - first if name.isdecimal() and name.isascii() and len(name) < 12 else -1
        if str(column + first) == name and 0 <= column < out.n_columns and column not in names:
            raise DataError(f"{source}: feature {name} has no name, and another one is named {name!r}")
    return out


def _column_and_name(path: str, number: int, line: str, first: int) -> tuple[int, str]:
    match = _INDEX_AND_NAME.match(line)
    if match is None:
        raise FormatError(path, number, quoted(line), "index<TAB>name, as on line 1")
    index = int(match[1])
    if not first <= index <= _LARGEST_INDEX:
        raise FormatError(path, number, f"index {index}", f"an index from {first} to {_LARGEST_INDEX}")
    return index - first, line[match.end() :]


WIDE = 1_000_000  # columns that are kept without a question
_SHARE = 4  # columns for each one present, from which on only those present are kept
_DIRECT = 8  # columns for each value, up to which a mark for every column is cheaper than sorting


def is_wide(n_columns: int, n_present: int) -> bool:
    """Return whether only the columns that are present should be kept."""
    return n_columns > WIDE and n_columns > _SHARE * n_present


def columns_to_keep(features: Sparse, named: Index, zeros: bool) -> Index | None:
    """Return the columns to keep of features whose indices are far apart, None to keep all.

    Parameters
    ----------
    features : sparse features.
    named : columns to keep in any case, rising.
    zeros : whether a column of nothing but zeros that a file gives is present.

    Returns
    -------
    ndarray or None
        int64, rising: those with a value, those named, and the last column.
    """
    n = features.n_features
    if n <= WIDE:
        return None
    some = features.indices if zeros or features.data is None else features.indices[features.data != 0]
    if n <= _DIRECT * len(some):
        seen = np.zeros(n, dtype=bool)
        seen[some] = True
        present = np.flatnonzero(seen)
    else:
        present = np.unique(some)
    kept = np.union1d(np.append(present, n - 1), named).astype(np.int64)
    return kept if is_wide(n, len(kept)) else None


def narrowed(features: Sparse, kept: Index) -> Sparse:
    """Return the columns ``kept``, int64, rising; a value in another column is dropped."""
    places = np.searchsorted(kept, features.indices)
    places[places == len(kept)] = 0
    there = kept[places] == features.indices
    indices = places.astype(np.int32)
    if np.all(there):
        return replace(features, indices=indices, n_features=len(kept))
    indptr = offsets_of(there)[features.indptr]
    data = None if features.data is None else features.data[there]
    return Sparse(indptr, indices[there], data, len(kept))
