"""Reading CSV and TSV in blocks of rows, column by column into growing arrays."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.types import Bytes, Index
from rerank.errors import DataError, DataNote, FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.common import check_float32, quoted
from rerank.formats.growing import Grouping, Strings
from rerank.formats.table.columns import Numbers, Roles, roles_of
from rerank.formats.table.source import Source, long_cells
from rerank.native.formats._table import KINDS, gather, parse_rows
from rerank.text import count

_PADDING = bytes(64)  # the kernel looks beyond the last number
_TAB = ord("\t")


def read_table(path: str, options: ReadOptions) -> CandidateLists:
    """The lists of a table. Raises FormatError at the first fault, ConfigError for a column not there."""
    with long_cells():
        source = Source(path)
        reader = _Reader(source, roles_of(source.header, options, source.name), options)
        for block, line in source.plain_blocks():
            if not reader.add_plain(block, line):
                for rows, lines in source.rows_of(block, line):
                    reader.add(rows, lines)
        for rows, lines in source.quoted_rows():
            reader.add(rows, lines)
    return reader.finish()


class _Reader:
    """The columns of a table."""

    def __init__(self, table: Source, roles: Roles, options: ReadOptions) -> None:
        self.source = table.name
        self.delimiter = ord(table.delimiter)
        self.width = len(table.header)
        self.roles = roles
        self.options = options
        self.grouping = Grouping(self.source, options.strict)
        self.label = None if roles.label is None else Numbers(self.source, table.header[roles.label])
        self.ids = Strings()
        self.texts = Strings()
        self.features = {j: Numbers(self.source, table.header[j]) for j in roles.features}

    def add_plain(self, block: bytes, line: int) -> bool:
        """Add a block of lines without quotes, the first of them ``line``; False where it is not plain.

        Nothing is added then. Columns that were empty so far must stay so.
        """
        open_ones = [j for j, c in self._numbers() if not (c.is_numeric or c.is_other)]
        numbers = sorted(j for j, c in self._numbers() if c.is_numeric)
        if not block.isascii():
            try:
                block.decode()
            except UnicodeDecodeError:
                return False
        mark = self.delimiter
        if b"\t" not in block:  # numbers that end at a blank are read faster
            block, mark = block.replace(bytes([mark]), b"\t"), _TAB
        text = np.frombuffer(block + _PADDING, dtype=np.uint8)
        strings = sorted(self._strings())
        kinds = np.full(self.width, KINDS["skipped"], dtype=np.uint8)
        kinds[numbers] = KINDS["number"]
        kinds[open_ones] = KINDS["empty"]
        kinds[strings] = KINDS["string"]
        kinds[self.roles.lists] = KINDS["list"]
        n = block.count(b"\n")
        values = np.empty((n, len(numbers)))
        spans = np.empty((n, len(strings), 2), dtype=np.int64)
        if not parse_rows(text, mark, kinds, values, spans):
            return False
        columns = dict(self._numbers())
        for k, j in enumerate(numbers):
            columns[j].add_values(values[:, k], line)
        for j in open_ones:
            columns[j].add_values(np.full(n, np.nan), line)
        for k, j in enumerate(strings):
            if j == self.roles.lists:
                self._add_lists(block, spans[:, k], line)
            else:
                self._strings()[j].join(*_cells(text, spans[:, k]))
        return True

    def _numbers(self) -> list[tuple[int, Numbers]]:
        """Columns that may be numbers, with their places."""
        label = [] if self.label is None or self.roles.label is None else [(self.roles.label, self.label)]
        return [*self.features.items(), *label]

    def _strings(self) -> dict[int, Strings]:
        """Columns of strings by place; that of the lists' ids goes to the grouping instead."""
        out = {self.roles.lists: Strings()}
        for place, strings in ((self.roles.id, self.ids), (self.roles.text, self.texts)):
            if place is not None:
                out[place] = strings
        return out

    def _add_lists(self, block: bytes, spans: Index, line: int) -> None:
        starts = np.flatnonzero(spans[:, 0] >= 0)
        lengths = np.diff(starts, append=len(spans))
        for row, n in zip(starts.tolist(), lengths.tolist(), strict=True):
            at, length = spans[row].tolist()
            self.grouping.add(block[at : at + length].decode(), line + row, n)

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


def _cells(text: Bytes, spans: Index) -> tuple[memoryview, Index]:
    """Cells side by side, and their lengths."""
    lengths = np.ascontiguousarray(spans[:, 1])
    out = np.empty(int(lengths.sum()), dtype=np.uint8)
    gather(text, spans, out)
    return out.data, lengths
