"""Reading CSV and TSV in blocks of rows, column by column into growing arrays."""

from __future__ import annotations

import itertools

import numpy as np

from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.types import Index
from rerank.errors import FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.common import NULLS, check_float32, empty_dense, in_list_order, note, quoted
from rerank.formats.growing import Grouping, Strings
from rerank.formats.table.columns import Fault, Numbers, roles_of
from rerank.formats.table.source import Rows, Source
from rerank.native.formats._table import mark_runs
from rerank.text import count


def read_table(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a table; raises FormatError at a fault, ConfigError if a column is absent."""
    source = Source(path)
    reader = _Reader(source, options)
    for rows in source.rows():
        reader.add(rows)
    return reader.finish()


class _Reader:
    """The columns of a table."""

    def __init__(self, table: Source, options: ReadOptions) -> None:
        self.source = table.name
        self.options = options
        self.roles = roles_of(table.header, options, table.name)
        self.grouping = Grouping(self.source, options.strict)
        self.features = [Numbers(table.header[j], j) for j in self.roles.features]
        label = self.roles.label
        as_text = [self.roles.id, self.roles.text, self.roles.answer, label if options.classes else None]
        self.label = None if label is None or label in as_text else Numbers(table.header[label], label)
        self.strings = {j: Strings() for j in as_text if j is not None}
        self.lines: list[Index] = []  # of rows with classes, for messages
        self.n_rows = 0

    def add(self, rows: Rows) -> None:
        """Add rows; raises FormatError at the first cell that does not fit its column."""
        faults = [column.add(rows) for column in self.features]
        if self.label is not None:
            faults += [self.label.add(rows), self.label.text]
        lists = self.roles.lists
        empty = np.empty(0) if lists is None else np.flatnonzero(rows.spans[:, lists, 1] == 0)
        if len(empty):
            faults.append((int(rows.lines[empty[0]]), "an empty cell for the list", "the list's id"))
        fault: Fault | None = min(filter(None, faults), default=None)
        if fault is not None:
            raise FormatError(self.source, *fault)
        for place, strings in self.strings.items():
            strings.join(rows.column(place))
        self.n_rows += len(rows.lines)
        if self.options.classes:
            self.lines.append(rows.lines)
        if lists is not None:
            self._add_lists(rows, lists)

    def _add_lists(self, rows: Rows, lists: int) -> None:
        starts = np.empty(len(rows.lines), dtype=np.uint8)
        mark_runs(rows.text, rows.spans[:, lists], starts)
        for row, end in itertools.pairwise([*np.flatnonzero(starts).tolist(), len(starts)]):
            name = rows.cell(row, lists).decode()
            self.grouping.add(name, int(rows.lines[row]), end - row)

    def finish(self) -> CandidateLists:
        """Return all lists; raises FormatError if a value is absent, or all are."""
        if not self.n_rows:
            raise FormatError(self.source, None, "a header alone", "a row at least")
        fault = min(filter(None, (column.doubt() for column in self.features)), default=None)
        if fault is not None:
            raise FormatError(self.source, *fault)
        self._check_missing()
        self._note_left_out()
        offsets, list_ids, rows = offsets_of(np.ones(self.n_rows)), None, None
        if self.roles.lists is not None:
            offsets, list_ids, rows = self.grouping.finish()
        columns = [column for column in self.features if column.is_numeric]
        by_item = {
            "labels": None if self.label is None else self.label.values(),
            "classes": self._classes() if self.options.classes else None,
            "item_ids": self._strings(self.roles.id),
            "texts": self._strings(self.roles.text),
            "answers": self._strings(self.roles.answer),
        }
        return CandidateLists(
            offsets,
            **in_list_order(rows, features=self._matrix(columns), **by_item),
            list_ids=list_ids,
            rows=rows,
            feature_names=[column.name for column in columns],
            source=self.source,
        )

    def _strings(self, place: int | None) -> StringColumn | None:
        return None if place is None else self.strings[place].column()

    def _classes(self) -> StringColumn | None:
        """The classes in the label's column; raises FormatError if a cell is not a set of classes."""
        column = self._strings(self.roles.label)

        def fault(row: int, found: str) -> FormatError:
            line = int(np.concatenate(self.lines)[row])
            return FormatError(self.source, line, found, EXPECTED.removeprefix("expected "))

        return None if column is None else class_column(column, fault)

    def _check_missing(self) -> None:
        empty = [c for c in self.features if c.is_numeric and c.empty_line]
        if empty and self.options.missing is None:
            first = min(empty, key=lambda column: column.empty_line)
            others = f" (and in {count(len(empty) - 1, 'more column')})" if len(empty) > 1 else ""
            found = f"an empty cell in column {quoted(first.name)}{others}"
            expected = f"a number ({NULLS} accepts empty cells)"
            raise FormatError(self.source, first.empty_line, found, expected)

    def _note_left_out(self) -> None:
        left = [quoted(c.name) for c in self.features if not c.is_numeric] + self.roles.left
        if left:
            more = f" and {len(left) - 20} more" if len(left) > 20 else ""
            note(f"{self.source}: columns that are no features are left out: {', '.join(left[:20])}{more}")

    def _matrix(self, columns: list[Numbers]) -> Features:
        """Return columns as features, block by block of rows, which are forgotten on the way."""
        out = empty_dense(self.n_rows, len(columns), self.options.dtype, self.source)
        start = 0
        for k in range(len(columns[0].blocks) if columns else 0):
            for j, column in enumerate(columns):
                values, column.blocks[k] = column.blocks[k], np.empty(0)
                if self.options.dtype == "float32":
                    check_float32(values, self.source)
                out[start : start + len(values), j] = values
            start += len(values)
        features = Dense(out)
        return features.compressed() if self.options.layout == "sparse" else features
