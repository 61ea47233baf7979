"""Reading CSV and TSV: rows straight into growing arrays, and a closer look at those that do not fit."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.formats.base import ReadOptions
from rerank.formats.common import NULLS, check_float32, in_list_order, note, quoted
from rerank.formats.growing import Grouping, Rows, Strings
from rerank.formats.table.columns import Fault, Numbers, roles_of
from rerank.formats.table.source import Source
from rerank.native.formats._table import KINDS, read_rows

_KIND, _PLACE, _BLANK, _CELLS, _NUMBERS = range(5)  # of a plan, see the kernel
_ENTRIES = 6
_KNOWN_BLANK = -2
_ROWS = 1 << 14  # that are read at once
_SPARE = 64  # bytes of strings that the kernel may write further


def read_table(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a table; raises FormatError at a fault, ConfigError if a column is absent."""
    reader = _Reader(Source(path), options)
    while reader.source.more():
        reader.read_rows()
    return reader.finish()


class _Reader:
    """The columns of a table, which grow."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        header = source.header
        self.source = source
        self.options = options
        self.roles = roles = roles_of(header, options, source.name)
        self.grouping = Grouping(source.name, options.strict)
        self.features = [Numbers(header[j], j) for j in roles.features]
        as_text = [roles.id, roles.text, roles.answer, roles.label if options.classes else None]
        label = None if roles.label in as_text else roles.label
        self.label = None if label is None else Numbers(header[label], label)
        self.labels = Rows(f"the labels of {source.name}", np.float64)
        self.strings = {j: Strings() for j in as_text if j is not None}
        self.bytes = np.empty((len(self.strings) + 1, 0), dtype=np.uint8)  # of strings of a block
        self.lines: list[Index] = []  # of rows with classes, for messages
        self.n_rows = 0
        self.too_large: DataError | None = None
        self.plan = self._plan()
        self._give_places()

    def _plan(self) -> Index:
        plan = np.zeros((len(self.source.header), _ENTRIES), dtype=np.int64)
        plan[:, _BLANK] = -1
        for i, place in enumerate(self.strings):
            plan[place, [_KIND, _PLACE]] = KINDS["string"], i
        if self.roles.lists is not None:
            plan[self.roles.lists, [_KIND, _PLACE]] = KINDS["list"], len(self.strings)
        if self.label is not None:
            plan[self.label.place, _KIND] = KINDS["label"]
        return plan

    def _give_places(self) -> None:
        """Prepare the matrix of the features that may be numbers."""
        self.columns = [column for column in self.features if column.text is None]
        places = [column.place for column in self.columns]
        self.plan[places, _KIND] = KINDS["feature"]
        self.plan[places, _PLACE] = np.arange(len(places))
        self.values = Rows(f"the features of {self.source.name}", self.options.dtype, len(places))

    def read_rows(self) -> None:
        """Read further rows; raises FormatError at the first with a cell that does not fit its column."""
        source = self.source
        size = source.size - source.at
        room = min(_ROWS, size // max(len(self.plan), 2) + 1)
        if size + _SPARE > self.bytes.shape[1]:
            self.bytes = np.empty((len(self.bytes), size + _SPARE), dtype=np.uint8)
        narrow = self.options.dtype == "float32"
        values = np.zeros((room, len(self.columns))) if narrow else self.values.more(room)
        labels = self.labels.more(room)
        lengths = np.empty((len(self.bytes), room), dtype=np.int64)
        starts, runs = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        n, n_runs, at = read_rows(
            *(source.text, source.at, ord(source.delimiter), self.plan),
            *(values, labels, self.bytes, lengths, starts, runs),
        )
        self.labels.drop(room - n)
        if not narrow:
            self.values.drop(room - n)
        self._keep_numbers(values[:n])
        self._keep_strings(lengths[:, :n], starts[:n], runs[:n_runs])
        self.n_rows += n
        source.at = at
        if n < room and at < source.size:
            del values  # the matrix may be made anew
            self._examine()

    def _keep_numbers(self, values: Floats) -> None:
        undecided = [
            i for i, column in enumerate(self.columns) if not column.is_numeric and column.text is None
        ]
        if undecided:
            for i in np.flatnonzero(~np.isnan(values[:, undecided]).all(axis=0)).tolist():
                self.columns[undecided[i]].is_numeric = True
        if self.options.dtype == "float32":
            self._narrow(values)
        new = np.flatnonzero(self.plan[:, _BLANK] >= 0)
        if len(new):
            lines = self.source.lines_of(self.plan[new, _BLANK]).tolist()
            first = dict(zip(new.tolist(), lines, strict=True))
            for column in self.columns:
                column.empty_line = first.get(column.place, column.empty_line)
            self.plan[new, _BLANK] = _KNOWN_BLANK

    def _narrow(self, values: Floats) -> None:
        """Put values into the matrix as float32, and keep the error of the first that is too large."""
        try:
            check_float32(values.reshape(-1), self.source.name)
        except DataError as error:
            self.too_large = self.too_large or error
        with np.errstate(over="ignore"):
            self.values.more(len(values))[:] = values

    def _keep_strings(self, lengths: Index, starts: Index, runs: Index) -> None:
        for i, strings in enumerate(self.strings.values()):
            strings.append(self.bytes[i, : lengths[i].sum()], lengths[i])
        if self.options.classes:
            self.lines.append(self.source.lines_of(starts))
        if self.roles.lists is not None:
            offsets = offsets_of(lengths[-1, : len(runs)])
            names = list(StringColumn(self.bytes[-1, : offsets[-1]], offsets))
            sizes = np.diff(runs, append=len(starts))
            self.grouping.extend(names, sizes, lambda i: self.source.line_of(int(starts[runs[i]])))

    def _examine(self) -> None:
        """Look at a row that the kernel leaves: find its first fault, or which columns are not of numbers."""
        source = self.source
        row = source.row()
        if row is None:
            return
        cells, _ = row
        line = source.line_of(source.at)
        if len(cells) != len(self.plan):
            expected = f"{len(self.plan)}, as the header has"
            raise FormatError(source.name, line, count(len(cells), "cell"), expected)
        faults = [column.examine(cells[column.place], line) for column in self.columns]
        if self.label is not None:
            faults += [self.label.examine(cells[self.label.place], line), self.label.text]
        if self.roles.lists is not None and not cells[self.roles.lists]:
            faults.append((line, "an empty cell for the list", "the list's id"))
        fault = min(filter(None, faults), default=None)
        if fault is not None:
            raise FormatError(source.name, *fault)
        places = [column.place for column in self.columns if column.text is not None]
        if np.all(self.plan[places, _KIND] == KINDS["looked at"]):
            raise AssertionError(f"{source.name}:{line}: the kernel left a row without a fault")
        self.plan[places, _KIND] = KINDS["looked at"]
        if not self.n_rows:
            self._give_places()

    def _doubt(self, column: Numbers) -> Fault | None:
        """Return the cell that makes it another column if most of the next ones are numbers (NA, 1, 2)."""
        cells, numbers = self.plan[column.place, [_CELLS, _NUMBERS]].tolist()
        return column.text if 2 * numbers > cells else None

    def finish(self) -> CandidateLists:
        """Return all lists; raises FormatError if a value is absent, or all are."""
        if not self.n_rows:
            raise FormatError(self.source.name, None, "a header alone", "a row at least")
        fault = min(filter(None, map(self._doubt, self.features)), default=None)
        if fault is not None:
            raise FormatError(self.source.name, *fault)
        self._check_missing()
        self._note_left_out()
        offsets, list_ids, rows = offsets_of(np.ones(self.n_rows)), None, None
        if self.roles.lists is not None:
            offsets, list_ids, rows = self.grouping.finish()
        by_item = {
            "labels": None if self.label is None else self.labels.array(),
            "classes": self._classes() if self.options.classes else None,
            "item_ids": self._strings(self.roles.id),
            "texts": self._strings(self.roles.text),
            "answers": self._strings(self.roles.answer),
        }
        return CandidateLists(
            offsets,
            **in_list_order(rows, features=self._matrix(), **by_item),
            list_ids=list_ids,
            rows=rows,
            feature_names=[column.name for column in self.columns if column.is_numeric],
            source=self.source.name,
        )

    def _strings(self, place: int | None) -> StringColumn | None:
        return None if place is None else self.strings[place].column()

    def _classes(self) -> StringColumn | None:
        """The classes in the label's column; raises FormatError if a cell is not a set of classes."""
        column = self._strings(self.roles.label)

        def fault(row: int, found: str) -> FormatError:
            line = int(np.concatenate(self.lines)[row])
            return FormatError(self.source.name, line, found, EXPECTED.removeprefix("expected "))

        return None if column is None else class_column(column, fault)

    def _check_missing(self) -> None:
        empty = [c for c in self.features if c.is_numeric and c.empty_line]
        if empty and self.options.missing is None:
            first = min(empty, key=lambda column: column.empty_line)
            others = f" (and in {count(len(empty) - 1, 'more column')})" if len(empty) > 1 else ""
            found = f"an empty cell in column {quoted(first.name)}{others}"
            expected = f"a number ({NULLS} accepts empty cells)"
            raise FormatError(self.source.name, first.empty_line, found, expected)

    def _note_left_out(self) -> None:
        left = [quoted(c.name) for c in self.features if not c.is_numeric] + self.roles.left
        if left:
            more = f" and {len(left) - 20} more" if len(left) > 20 else ""
            names = ", ".join(left[:20]) + more
            note(f"{self.source.name}: columns that are no features are left out: {names}")

    def _matrix(self) -> Features:
        if self.too_large is not None:
            raise self.too_large
        numeric = [i for i, column in enumerate(self.columns) if column.is_numeric]
        if len(numeric) < len(self.columns):
            self.values.select(numeric)
        features = Dense(self.values.array())
        return features.compressed() if self.options.layout == "sparse" else features
