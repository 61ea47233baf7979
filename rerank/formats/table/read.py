"""Reading of CSV and TSV: roles of columns, text block by block, rows straight into growing arrays."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import plain_suffix, shown
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Bytes, Floats, Index
from rerank.data.categories import wanted
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.names import (
    KNOWN,
    KNOWN_OF_CLASSES,
    LISTS,
    note_resembling,
    resembled,
    spells_number,
)
from rerank.data.text_reading import with_text_columns
from rerank.formats.base import ReadOptions
from rerank.formats.builders import Grouper, Rows, StringBuilder, whole_lines
from rerank.formats.common import (
    NULLS,
    check_float32,
    first_repeated,
    in_list_order,
    not_a_number,
    note,
    quoted,
)
from rerank.native.data._number import parse
from rerank.native.formats._table import KINDS, read_rows

Fault = tuple[int, str, str]  # line, found, expected


@dataclass
class Roles:
    """The positions of columns in a row."""

    lists: int | None
    label: int | None
    id: int | None
    text: int | None
    answer: int | None
    features: list[int]
    categories: dict[str, int]
    left: list[str]  # other names of a role, and columns without a name, such as the index that pandas writes


def roles_of(header: Sequence[str], options: ReadOptions, source: str) -> Roles:
    """Return the role of each column and report those found by their names.

    Raises FormatError if the header names a column twice, ConfigError if a column is absent.
    """
    known = KNOWN_OF_CLASSES if options.classes else KNOWN
    place = {name: j for j, name in enumerate(header) if name}
    if len(header) == 1 and re.search(r"[;,|\t]", header[0]):
        raise FormatError(source, 1, f"one column, {quoted(header[0])}", "commas between them, tabs in .tsv")
    if (twice := first_repeated(named := [*filter(None, header)])) is not None:
        raise FormatError(source, 1, f"two columns {quoted(named[twice])}", "each column once")
    given = options.named_columns(KNOWN)
    for option, name in given.items():
        if name not in place:
            flag = option.replace("_", "-")
            raise ConfigError(f"{source}: no column {name!r} (--{flag}); {did_you_mean(name, place)}")
    if len(set(given.values())) < len(given):
        raise ConfigError(f"{source}: one column cannot be two of {', '.join(KNOWN)}")
    asked = wanted(options.categorical, place, source, "--categorical", given.values())
    asked += wanted(options.query_column or (), place, source, "--query-column")
    asked += wanted(options.texts_of()[1:], place, source, "--text", [*given.values(), *asked])
    free = [name for name in place if name not in given.values() and name not in asked]
    found = {option: next((name for name in names if name in free), "") for option, names in known.items()}
    found = {option: name for option, name in found.items() if name and option not in given}
    usual = {} if options.query_column is None else {"list_column": options.query_column}
    chosen = {**usual, **given, **found}
    if "list_column" not in chosen and not options.classes:
        near = next((f" (is it {quoted(name)}?)" for name in free[:1000] if resembled(name, LISTS)), "")
        expected = f"the name of the list's column by --list-column{near}"
        raise FormatError(source, 1, f"no column named {', '.join(LISTS)}, only {some(header)}", expected)
    if found:
        note(f"{source}: by the header, {', '.join(f'{option}={name}' for option, name in found.items())}")
    spare = {name for names in known.values() for name in names}
    rest = [name for name in free if name not in found.values()]
    note_resembling(source, (name for name in rest if name not in spare), known["list_column"])
    left = [quoted(name) for name in rest if name in spare] + ["one without a name"] * list(header).count("")
    features = [place[name] for name in rest if name not in spare]
    own, label, item, text, answer = (place.get(chosen.get(option, "")) for option in KNOWN)
    categories = {name: place[name] for name in asked if place[name] != own}
    return Roles(own, label, item, text, answer, features, categories, left)


def note_left_out(source: str, names: list[str]) -> None:
    """Warn about columns that are no features."""
    if names:
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        note(f"{source}: columns that are no features are left out: {', '.join(names[:20])}{more}")


@dataclass
class Numbers:
    """State of a column of numbers; its first cell that is not blank decides whether it is one."""

    name: str
    place: int  # in a row
    empty_line: int = 0  # the first line whose cell is blank, 0 = none
    is_numeric: bool = False  # whether a cell was a number
    text: Fault | None = None  # the cell that makes it a column of something else

    def examine(self, cell: bytes, line: int) -> Fault | None:
        """Look at a cell of a line; return a fault if it is not a number where others are."""
        token = cell.strip()
        value = parse(token) if token else 0.0
        if self.text is not None or (value is not None and not math.isinf(value)):
            return None
        found, expected = not_a_number(token, f"column {quoted(self.name)} with")
        fault = line, found, "a finite number or an empty cell"
        damaged = not token.strip(b"\0 ")
        if damaged or self.is_numeric or expected == "a finite number" or spells_number(token.decode()):
            return fault
        self.text = fault
        return None


_PADDING = 64  # zeros that kernels need after the text
_QUOTED = re.compile(rb'"([^"]*+(?:""[^"]*+)*+)"')
_PLAIN = {mark: re.compile(rb"[^\n\r" + mark + rb"]*") for mark in (b",", b"\t")}
_LINE_END = re.compile(rb"\r*\n")
OPEN = "a quote that is never closed"
QUOTE = "text after a closing quote"
RETURN = "a carriage return within a line"


def split_row(text: bytes, mark: bytes) -> tuple[list[bytes], int, str]:
    """Return the cells of the first row, where the next one starts, and the fault of the row, "" if none."""
    cells: list[bytes] = []
    at = 0
    while True:
        quoted = text[at : at + 1] == b'"'
        found = (_QUOTED if quoted else _PLAIN[mark]).match(text, at)
        if found is None:
            return cells, at, OPEN
        cells.append(found[1].replace(b'""', b'"') if quoted else found[0])
        at = found.end()
        end = text[at : at + 1]
        if end not in (mark, b"\r", b"\n"):
            return cells, at, QUOTE
        if end != mark:
            break
        at += 1
    line_end = _LINE_END.match(text, at)
    return (cells, at, RETURN) if line_end is None else (cells, line_end.end(), "")


class Source:
    """A table's header and separator, and the text below it; raises FormatError if there is no header.

    ``text``, uint8, are whole lines and 64 zeros; the next row starts at ``at``, which the caller moves on.
    """

    def __init__(self, path: str) -> None:
        self.name = shown(path)
        self.blocks = whole_lines(path)
        self._room = np.empty(0, dtype=np.uint8)
        self._line = 1  # on which ``text`` starts
        self._load(next(self.blocks, b""))
        if not self.size:
            raise FormatError(self.name, None, "an empty file", "a header of column names")
        first, _, _ = self._rest().partition(b"\n")
        if not first.strip():
            raise FormatError(self.name, 1, "an empty line", "a header of column names")
        self.delimiter = self._delimiter(path, first)
        while (row := self.row()) is None:
            pass
        cells, end = row
        self._check_utf8(self._rest()[:end])
        self.header = [cell.decode() for cell in cells]
        self.at = end
        self._unchecked = self._rest()

    @property
    def size(self) -> int:
        """The bytes of ``text`` without the padding."""
        return len(self.text) - _PADDING

    def _delimiter(self, path: str, header: bytes) -> bytes:
        suffix = plain_suffix(path)
        if suffix in (".csv", ".tsv"):
            return b"," if suffix == ".csv" else b"\t"
        found = [mark for mark in (b",", b"\t") if mark in header]
        if len(found) != 1:
            what = "commas and tabs" if found else "neither comma nor tab"
            expected = "one of them (a suffix .csv or .tsv decides)"
            raise FormatError(self.name, 1, f"{what} in the header", expected)
        return found[0]

    def more(self) -> bool:
        """Return whether there is more text; the next block is read once this one is used up.

        Raises FormatError if the text is not UTF-8.
        """
        if self.at == self.size:
            self._line = self.line_of(self.at)
            self._load(next(self.blocks, b""))
        self._check_utf8(self._unchecked)
        self._unchecked = b""
        return self.size > 0

    def row(self) -> tuple[list[bytes], int] | None:
        """Return the cells of the next row and where the row after it starts.

        None if more had to be read because its quotes go beyond ``text``. Raises FormatError if its cells are
        not quoted as in CSV.
        """
        rest = self._rest()
        cells, end, fault = split_row(rest, self.delimiter)
        if not fault:
            return cells, self.at + end
        parts = [rest]
        size = 0
        while fault == OPEN and size < len(rest) and (block := next(self.blocks, b"")):
            parts.append(block)
            size += len(block)
        line = self.line_of(self.at)
        if not size:
            raise FormatError(self.name, line, fault, "cells quoted as in CSV")
        self._line = line
        self._load(b"".join(parts))
        return None

    def line_of(self, offset: int) -> int:
        """Return the line, from 1, that holds byte ``offset`` of ``text``."""
        return self._line + int(np.count_nonzero(self.text[:offset] == 10))

    def lines_of(self, offsets: Index) -> Index:
        """Return the lines that hold these bytes."""
        return self._line + np.searchsorted(np.flatnonzero(self.text[: self.size] == 10), offsets)

    def _load(self, block: bytes) -> None:
        """Make a block the text; its room is used again, so that pages are touched once."""
        size = len(block)
        if size + _PADDING > len(self._room):
            self._room = np.empty(size + _PADDING, dtype=np.uint8)
        self.text: Bytes = self._room[: size + _PADDING]
        self.text[:size] = np.frombuffer(block, dtype=np.uint8)
        self.text[size:] = 0
        self.at = 0
        self._unchecked = block

    def _rest(self) -> bytes:
        """The text from the next row on."""
        return self.text[self.at : self.size].tobytes()

    def _check_utf8(self, text: bytes) -> None:
        try:
            if not text.isascii():
                text.decode()
        except UnicodeDecodeError as error:
            line = self.line_of(self.at) + text.count(b"\n", 0, error.start)
            raise FormatError(self.name, line, "bytes that are not UTF-8", "text") from None


_KIND, _PLACE, _BLANK, _CELLS, _NUMBERS = range(5)  # of a plan, see the kernel
_ENTRIES = 6
_KNOWN_BLANK = -2
_ROWS = 1 << 14  # that are read at once
_SPARE = 64  # bytes of strings that the kernel may write further


def read_table(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a table; raises FormatError at a fault, ConfigError if a column is absent."""
    reader = TableReader(Source(path), options)
    while reader.source.more():
        reader.read_rows()
    return reader.finish()


class TableReader:
    """The columns of a table, which grow."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        header = source.header
        self.source = source
        self.options = options
        self.roles = roles = roles_of(header, options, source.name)
        self.features = [Numbers(header[j], j) for j in roles.features]
        as_text = [roles.id, roles.text, roles.answer, roles.label if options.classes else None]
        as_text += roles.categories.values()
        label = None if roles.label in as_text else roles.label
        self.label = None if label is None else Numbers(header[label], label)
        self.as_text = [j for j in dict.fromkeys(as_text) if j is not None]
        self.bytes = np.empty((len(self.as_text) + 1, 0), dtype=np.uint8)  # of strings of a block
        self.too_large: DataError | None = None
        self.plan = self._plan()
        self.begin()

    def begin(self) -> None:
        """Begin with no row."""
        self.grouper = Grouper(self.source.name, self.options.strict)
        self.labels = Rows(f"the labels of {self.source.name}", np.float64)
        self.strings = {j: StringBuilder() for j in self.as_text}
        self.lines: list[Index] = []  # of rows with classes, for messages
        self.n_rows = 0
        self._give_places()

    def _plan(self) -> Index:
        plan = np.zeros((len(self.source.header), _ENTRIES), dtype=np.int64)
        plan[:, _BLANK] = -1
        for i, place in enumerate(self.as_text):
            plan[place, [_KIND, _PLACE]] = KINDS["string"], i
        if self.roles.lists is not None:
            plan[self.roles.lists, [_KIND, _PLACE]] = KINDS["list"], len(self.as_text)
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
            del values  # the matrix may be made again
            self._examine()

    def _keep_numbers(self, values: Floats) -> None:
        undecided = [
            i for i, column in enumerate(self.columns) if not column.is_numeric and column.text is None
        ]
        if undecided:
            for i in np.flatnonzero(~np.isnan(values[:, undecided]).all(axis=0)).tolist():
                self.columns[undecided[i]].is_numeric = True
        if self.options.dtype == "float32":
            try:
                check_float32(values.reshape(-1), self.source.name)
            except DataError as error:  # of the first value that is too large
                self.too_large = self.too_large or error
            with np.errstate(over="ignore"):
                self.values.more(len(values))[:] = values
        new = np.flatnonzero(self.plan[:, _BLANK] >= 0)
        if len(new):
            lines = self.source.lines_of(self.plan[new, _BLANK]).tolist()
            first = dict(zip(new.tolist(), lines, strict=True))
            for column in self.columns:
                column.empty_line = first.get(column.place, column.empty_line)
            self.plan[new, _BLANK] = _KNOWN_BLANK

    def _keep_strings(self, lengths: Index, starts: Index, runs: Index) -> None:
        for i, strings in enumerate(self.strings.values()):
            strings.append(self.bytes[i, : lengths[i].sum()], lengths[i])
        if self.options.classes:
            self.lines.append(self.source.lines_of(starts))
        if self.roles.lists is not None:
            offsets = offsets_of(lengths[-1, : len(runs)])
            names = list(StringColumn(self.bytes[-1, : offsets[-1]], offsets))
            sizes = np.diff(runs, append=len(starts))
            self.grouper.extend(names, sizes, lambda i: self.source.line_of(int(starts[runs[i]])))

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

    def finish(self) -> CandidateLists:
        """Return all lists; raises FormatError if a value is absent, or all are."""
        if not self.n_rows:
            raise FormatError(self.source.name, None, "a header alone", "a row at least")
        # A cell makes a column one of text, but not if most of the next cells are numbers (NA, 1, 2).
        counts = self.plan[[column.place for column in self.features]][:, [_CELLS, _NUMBERS]].tolist()
        doubts = zip(self.features, counts, strict=True)
        fault = min((c.text for c, (cells, n) in doubts if c.text and 2 * n > cells), default=None)
        if fault is not None:
            raise FormatError(self.source.name, *fault)
        self._check_missing()
        left = [quoted(column.name) for column in self.features if not column.is_numeric]
        note_left_out(self.source.name, left + self.roles.left)
        offsets, list_ids, rows = offsets_of(np.ones(self.n_rows)), None, None
        if self.roles.lists is not None:
            offsets, list_ids, rows = self.grouper.finish()
        by_item = {
            "labels": None if self.label is None else self.labels.array(),
            "classes": self._classes() if self.options.classes else None,
            "item_ids": self._strings(self.roles.id),
            "texts": self._strings(self.roles.text),
            "answers": self._strings(self.roles.answer),
        }
        lists = CandidateLists(
            offsets,
            **in_list_order(rows, features=self._matrix(), **by_item),
            list_ids=list_ids,
            rows=rows,
            feature_names=[column.name for column in self.columns if column.is_numeric],
            source=self.source.name,
        )
        categories = {name: self.strings[place].column() for name, place in self.roles.categories.items()}
        return with_text_columns(lists, categories, self.options)

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

    def _matrix(self) -> Features:
        if self.too_large is not None:
            raise self.too_large
        numeric = [i for i, column in enumerate(self.columns) if column.is_numeric]
        if len(numeric) < len(self.columns):
            self.values.select(numeric)
        features = Dense(self.values.array())
        return features.compressed() if self.options.layout == "sparse" else features
