"""Reading CSV and TSV in blocks of rows, column by column into growing arrays."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.errors import DataError, DataNote, FormatError
from rerank.files import plain_suffix, shown
from rerank.formats.base import ReadOptions
from rerank.formats.cells import check_float32
from rerank.formats.growing import Grouping, Strings, each_line, quoted
from rerank.formats.table_columns import Numbers, Roles, roles_of
from rerank.wording import count

_ROWS = 4096
_LONGEST_CELL = 1 << 30


def read_table(path: str, options: ReadOptions) -> CandidateLists:
    """The lists of a table. Raises FormatError at the first fault, ConfigError for a column not there."""
    source = shown(path)
    with _long_cells():
        rows = _Rows(path, source)
        roles = roles_of(rows.header, options, source)
        reader = _Reader(rows, roles, options)
        for block, lines in rows.blocks():
            reader.add(block, lines)
    return reader.finish()


@contextmanager
def _long_cells() -> Iterator[None]:
    """The csv module refuses cells of more than 128 kB unless told otherwise, for the whole process."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


class _Rows:
    """The rows of a file behind its header, in blocks, each with the line on which it starts."""

    def __init__(self, path: str, source: str) -> None:
        self.source = source
        lines = self._decoded(path)
        first = next(lines, None)
        if first is None or not first.strip():
            found = "an empty file" if first is None else "an empty line"
            raise FormatError(source, None if first is None else 1, found, "a header of column names")
        self.delimiter = self._delimiter(path, first)
        self._reader = csv.reader(_again(first, lines), delimiter=self.delimiter, strict=True)
        self.header = self._next()[0]

    def _decoded(self, path: str) -> Iterator[str]:
        for number, line in enumerate(each_line(path), start=1):
            try:
                yield line.decode() + "\n"
            except UnicodeDecodeError:
                raise FormatError(self.source, number, "bytes that are not UTF-8", "text") from None

    def _delimiter(self, path: str, header: str) -> str:
        suffix = plain_suffix(path)
        if suffix in (".csv", ".tsv"):
            return "," if suffix == ".csv" else "\t"
        found = [mark for mark in (",", "\t") if mark in header]
        if len(found) != 1:
            what = "commas and tabs" if found else "neither comma nor tab"
            raise FormatError(
                self.source, 1, f"{what} in the header", "one of them (a file named .csv or .tsv says which)"
            )
        return found[0]

    def _next(self) -> tuple[list[str], int]:
        """The next row that is no blank line, and its first line; no cells at the end."""
        while True:
            line = self._reader.line_num + 1
            try:
                row = next(self._reader)
            except StopIteration:
                return [], line
            except csv.Error as error:
                raise FormatError(
                    self.source, line, f"no row ({error})", "cells as CSV quotes them"
                ) from None
            if row:
                return row, line

    def blocks(self) -> Iterator[tuple[list[list[str]], list[int]]]:
        """Rows of as many cells as the header has, and the line of each."""
        width = len(self.header)
        while True:
            rows: list[list[str]] = []
            lines: list[int] = []
            while len(rows) < _ROWS:
                row, line = self._next()
                if not row:
                    break
                if len(row) != width:
                    found = count(len(row), "cell")
                    raise FormatError(self.source, line, found, f"{width}, as the header has")
                rows.append(row)
                lines.append(line)
            if not rows:
                return
            yield rows, lines


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


class _Reader:
    """The columns of a table."""

    def __init__(self, rows: _Rows, roles: Roles, options: ReadOptions) -> None:
        self.source = rows.source
        self.roles = roles
        self.options = options
        self.grouping = Grouping(self.source, options.strict)
        self.label = None if roles.label is None else Numbers(self.source, rows.header[roles.label])
        self.ids = Strings()
        self.texts = Strings()
        self.features = {j: Numbers(self.source, rows.header[j]) for j in roles.features}

    def add(self, rows: Sequence[Sequence[str]], lines: list[int]) -> None:
        columns = list(zip(*rows, strict=True))
        for j, numbers in self.features.items():
            numbers.add(columns[j], lines)
        if self.label is not None and self.roles.label is not None:
            self.label.add(columns[self.roles.label], lines)
            if self.label.is_other:
                self.label.refuse_other()
        for name, line in zip(columns[self.roles.lists], lines, strict=True):
            if not name:
                raise FormatError(self.source, line, "an empty cell for the list", "the list's id")
            self.grouping.add(name, line)
        for place, strings in ((self.roles.id, self.ids), (self.roles.text, self.texts)):
            if place is not None:
                for cell in columns[place]:
                    strings.add(cell.encode())

    def finish(self) -> CandidateLists:
        if not len(self.grouping):
            raise FormatError(self.source, None, "a header alone", "a row at least")
        self._check_missing()
        self._note_left_out()
        features, names = self._features()
        labels = None if self.label is None else self.label.values()
        ids = None if self.roles.id is None else self.ids.column()
        texts = None if self.roles.text is None else self.texts.column()
        offsets, list_ids, rows = self.grouping.finish()
        if rows is not None:
            features = features.take(rows)
            labels = None if labels is None else labels[rows]
            ids = None if ids is None else ids.take(rows)
            texts = None if texts is None else texts.take(rows)
        return CandidateLists(
            offsets,
            features,
            labels=labels,
            list_ids=list_ids,
            item_ids=ids,
            rows=rows,
            feature_names=names,
            texts=texts,
            source=self.source,
        )

    def _check_missing(self) -> None:
        if self.options.missing == "nan":
            return
        empty = [c for c in self.features.values() if c.is_numeric and c.empty_line]
        if empty:
            first = min(empty, key=lambda column: column.empty_line)
            others = f" (and in {count(len(empty) - 1, 'more column')})" if len(empty) > 1 else ""
            raise FormatError(
                self.source,
                first.empty_line,
                f"an empty cell in column {quoted(first.name)}{others}",
                "a number (--missing nan takes empty cells as missing values)",
            )

    def _note_left_out(self) -> None:
        left = [quoted(c.name) for c in self.features.values() if not c.is_numeric]
        left += ["one without a name"] * self.roles.nameless
        if left:
            note = f"{self.source}: columns that are no numbers are left out: {', '.join(left[:20])}"
            more = f" and {len(left) - 20} more" if len(left) > 20 else ""
            warnings.warn(note + more, DataNote, stacklevel=3)

    def _features(self) -> tuple[Features, list[str]]:
        columns = [column for column in self.features.values() if column.is_numeric]
        n_items = len(self.grouping)
        try:
            out = np.empty((n_items, len(columns)), dtype=self.options.dtype)
        except MemoryError:
            raise DataError(
                f"{self.source}: {n_items} items x {len(columns)} features are too many"
            ) from None
        for j, column in enumerate(columns):
            values = column.values()
            if self.options.dtype == "float32":
                check_float32(values, self.source)
            out[:, j] = values
        features: Features = Dense(out)
        if self.options.layout == "sparse":
            from scipy.sparse import csr_array

            from rerank.data.matrix import as_features

            features = as_features(csr_array(out))
        return features, [column.name for column in columns]
