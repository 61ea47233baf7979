"""Utilities from files, computed elsewhere: COMET, BERTScore and the like.

``matrix:PATH`` names one of

- a folder with a file for each list, ``LIST.npy`` or ``LIST.tsv`` with the list's id as its name: an array
  (candidates, pseudo-references), or a table whose first line has the ids of the pseudo-references after a
  tab, and whose other lines have the id of a candidate and its values;
- a ``.npy`` file: an array (lists, candidates, pseudo-references) of lists of one size, or all values in one
  row, list by list and candidate by candidate;
- a text file of lines ``list TAB candidate TAB pseudo-reference TAB value`` in any order, each pair once.

``matrix:PATH,symmetric`` declares that the order of two candidates does not matter: the text file then needs
each pair in one order only, and a table that is not symmetric is refused. Items without ids are numbered from
1 in their list, and so are lists.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import read_bytes
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.utilities import Pairing, Utility

_SYMMETRIC = ",symmetric"
_EQUAL = 1e-6  # share of the largest value by which two orders of a pair may differ: single precision


class MatrixUtility(Utility):
    """Numbers from a file or a folder, larger is better."""

    def __init__(self, text: str, rest: str) -> None:
        super().__init__(text)
        self.symmetric = rest.endswith(_SYMMETRIC)
        self.path = rest.removesuffix(_SYMMETRIC)
        if not os.path.exists(self.path):
            raise ConfigError(f"utility matrix: {self.path}: no such file or folder")

    def _tables(self, pairing: Pairing) -> Iterator[Floats]:
        if self.symmetric and not pairing.same:
            raise ConfigError(f"utility {self.text}: only candidates with each other can be symmetric")
        if os.path.isdir(self.path):
            found = self._of_folder(pairing)
        elif self.path.endswith(".npy"):
            found = self._of_array(pairing)
        else:
            found = self._of_lines(pairing)
        for i, (table, file) in enumerate(found):
            yield self._checked(table, pairing, i, file)

    def _checked(self, table: Floats, pairing: Pairing, i: int, file: str) -> Floats:
        name = pairing.lists.list_id(i)
        rows, columns = _names(pairing.lists, pairing.rows(i)), _names(pairing.others, pairing.columns(i))
        if table.shape != (len(rows), len(columns)):
            found = f"a table of {' x '.join(map(str, table.shape))} for list {name!r}"
            raise FormatError(file, None, found, f"{len(rows)} x {len(columns)}, candidates and references")
        if not np.isfinite(table).all():
            row, column = np.argwhere(~np.isfinite(table))[0].tolist()
            pair = f"candidate {rows[row]!r} and reference {columns[column]!r} of list {name!r}"
            raise FormatError(file, None, f"{table[row, column]:g} for {pair}", "a finite number")
        if self.symmetric:
            gaps = np.abs(table - table.T)
            if gaps.max(initial=0.0) > _EQUAL * np.abs(table).max(initial=0.0):
                row, column = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
                values = f"{table[row, column]:g} and {table[column, row]:g}"
                pair = f"{rows[int(row)]!r} and {rows[int(column)]!r} of list {name!r}"
                raise FormatError(file, None, f"{values} for the two orders of {pair}", "a symmetric table")
        return table

    def _of_folder(self, pairing: Pairing) -> Iterator[tuple[Floats, str]]:
        ids = [pairing.lists.list_id(i) for i in range(pairing.lists.n_lists)]
        files = {os.path.splitext(name)[0]: name for name in sorted(os.listdir(self.path)) if name[0] != "."}
        unknown = [name for key, name in files.items() if key not in set(ids)]
        if unknown:
            found = f"{unknown[0]!r}, which is no list of {pairing.lists.source}"
            raise FormatError(self.path, None, found, f"LIST.npy or LIST.tsv, such as {ids[0] + '.npy'!r}")
        for i, name in enumerate(ids):
            if name not in files:
                raise FormatError(self.path, None, f"no file for list {name!r}", f"{name}.npy or {name}.tsv")
            path = os.path.join(self.path, files[name])
            if path.endswith(".npy"):
                yield _array(path), path
            else:
                yield _named_table(path, pairing, i), path

    def _of_array(self, pairing: Pairing) -> Iterator[tuple[Floats, str]]:
        values, sizes = _array(self.path), pairing.sizes()
        if values.ndim == 3 and len(values) == pairing.lists.n_lists:
            yield from ((table, self.path) for table in values)
            return
        if values.ndim != 1 or len(values) != sizes.sum():
            shape = " x ".join(map(str, values.shape))
            expected = f"{int(sizes.sum()):,} in a row, or {pairing.lists.n_lists} tables"
            raise FormatError(self.path, None, f"{shape} values", expected)
        ends = np.cumsum(sizes)
        for i, end in enumerate(ends.tolist()):
            shape_of = len(pairing.rows(i)), len(pairing.columns(i))
            yield values[end - sizes[i] : end].reshape(shape_of), self.path

    def _of_lines(self, pairing: Pairing) -> Iterator[tuple[Floats, str]]:
        n = pairing.lists.n_lists
        memory.require(8 * int(pairing.sizes().sum()), "the utilities of all pairs", "a folder needs less")
        lists = {pairing.lists.list_id(i): i for i in range(n)}
        rows = [_places(pairing.lists, pairing.rows(i), self.path) for i in range(n)]
        columns = (
            rows
            if pairing.same
            else [_places(pairing.others, pairing.columns(i), self.path) for i in range(n)]
        )
        tables = [np.full((len(rows[i]), len(columns[i])), np.nan) for i in range(n)]
        for number, cells in _lines(self.path):
            if len(cells) != 4:
                expected = "list, candidate, pseudo-reference and value, separated by tabs"
                raise FormatError(self.path, number, f"{len(cells)} cells", expected)
            i = lists.get(cells[0], -1)
            if i < 0:
                raise FormatError(
                    self.path, number, f"list {cells[0]!r}", f"a list of {pairing.lists.source}"
                )
            places = rows[i].get(cells[1], -1), columns[i].get(cells[2], -1)
            if min(places) < 0:
                name = cells[1] if places[0] < 0 else cells[2]
                raise FormatError(self.path, number, f"item {name!r}", f"an item of list {cells[0]!r}")
            if not np.isnan(tables[i][places]):
                raise FormatError(self.path, number, "a pair that is given twice", "each pair once")
            tables[i][places] = _number(cells[3], self.path, number)
        for i, table in enumerate(tables):
            if self.symmetric:
                table = np.where(np.isnan(table), table.T, table)
            if np.isnan(table).any():
                row, column = np.argwhere(np.isnan(table))[0].tolist()
                pair = f"{list(rows[i])[row]!r} and {list(columns[i])[column]!r}"
                found = f"no value for {pair} of list {pairing.lists.list_id(i)!r}"
                raise FormatError(self.path, None, found, "one for each candidate and pseudo-reference")
            yield table, self.path


def _names(lists: CandidateLists, items: Index) -> list[str]:
    """The ids of a list's items, or their numbers from 1."""
    ids = lists.item_ids
    return [str(k + 1) if ids is None else ids[item] for k, item in enumerate(items.tolist())]


def _places(lists: CandidateLists, items: Index, path: str) -> dict[str, int]:
    names = _names(lists, items)
    places = {name: k for k, name in enumerate(names)}
    if len(places) < len(names):
        again = next(name for k, name in enumerate(names) if places[name] != k)
        found = f"two items with the id {again!r}"
        raise DataError(
            f"{lists.source}: {found}: {path} needs ids that are unique in a list; use .npy files"
        )
    return places


def _array(path: str) -> Floats:
    try:
        found = np.load(io.BytesIO(bytes(read_bytes(path))), allow_pickle=False)
    except (ValueError, EOFError):
        raise FormatError(
            path, None, "something else, or a damaged file", "an array of numbers (.npy)"
        ) from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiub":
        raise FormatError(path, None, "an array of something else", "an array of numbers")
    return found.astype(np.float64)


def _lines(path: str) -> Iterator[tuple[int, Sequence[str]]]:
    text = bytes(read_bytes(path)).decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.rstrip("\r").split("\t")


def _number(cell: str, path: str, line: int) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FormatError(path, line, repr(cell), "a finite number")
    return value


def _named_table(path: str, pairing: Pairing, i: int) -> Floats:
    """A table with ids in its first line and column."""
    rows = _places(pairing.lists, pairing.rows(i), path)
    columns = _places(pairing.others, pairing.columns(i), path)
    name = pairing.lists.list_id(i)
    table = np.full((len(rows), len(columns)), np.nan)
    head: list[str] | None = None
    for number, cells in _lines(path):
        if head is None:
            head = list(cells[1:])
            if sorted(head) != sorted(columns):
                wrong = next((one for one in head if one not in columns), None)
                found = f"item {wrong!r}" if wrong is not None else f"{len(head)} ids"
                raise FormatError(path, number, found, f"the {len(columns)} items of list {name!r}")
            continue
        row = rows.get(cells[0], -1)
        if row < 0:
            raise FormatError(path, number, f"item {cells[0]!r}", f"an item of list {name!r}")
        if len(cells) != len(head) + 1:
            raise FormatError(path, number, f"{len(cells) - 1} values", f"{len(head)}")
        if not np.isnan(table[row]).all():
            raise FormatError(path, number, f"item {cells[0]!r} again", "each candidate once")
        table[row, [columns[one] for one in head]] = [_number(cell, path, number) for cell in cells[1:]]
    if np.isnan(table).any():
        lost = list(rows)[int(np.argmax(np.isnan(table).any(axis=1)))]
        raise FormatError(path, None, f"no line for candidate {lost!r}", f"one for each of {len(rows)}")
    return table
