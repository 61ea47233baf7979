"""Tables of raw values with their formats: every output form is made from one ``Table``.

``text`` draws tables for terminals and pipes; ``markdown``, ``latex``, ``delimited`` and ``html`` write them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

Scalar = str | int | float | bool | None
Level = Literal[0, 1, 2, 3]
CORE: Level = 0  # also if several metrics are side by side on paper
USUAL: Level = 1
DETAIL: Level = 2  # only if there is one metric in the table
RECORD: Level = 3  # only in records


def plain(value: Any) -> str:
    """Return a value as it is, "-" if there is none."""
    return "-" if value is None or value != value else str(value)


class Group(Struct, frozen=True):
    """Columns that belong together, such as those of one metric.

    Attributes
    ----------
    name : str
        In records.
    title : str
        Above the columns.
    """

    name: str
    title: str


class Column(Struct, frozen=True):
    """A column of a table.

    Attributes
    ----------
    head : str
        What the values are, for people.
    keys : tuple of str
        Names in records: one, or one for each part of the cells, which then are tuples or None.
    shown : callable
        Returns the text of a cell's value.
    group : Group, optional
        None for columns that name the rows.
    left : bool
        Whether cells begin, rather than end, below each other.
    level : {0, 1, 2, 3}
        In which tables the column is shown: ``CORE``, ``USUAL``, ``DETAIL`` or ``RECORD``.
    narrow : str
        A shorter head for text tables of several groups; its lines are separated by line ends.
    star : {"", "text", "paper", "both"}
        In which forms the cell of a significant row has a star.
    better : {-1, 0, 1}
        Whether the largest or the smallest value is the best, which is bold on paper; 0 = neither.
    bracketed : bool
        Whether cells on paper follow those of the column before, in brackets.
    note : str
        An explanation, given if the column is shown.
    help : str
        The same for one who points at the head, on the page of results.
    order : callable, optional
        Returns the number by which the page sorts a cell; by default the cell's number or its first part.
    """

    head: str
    keys: tuple[str, ...]
    shown: Callable[[Any], str] = plain
    group: Group | None = None
    left: bool = False
    level: Level = CORE
    narrow: str = ""
    star: Literal["", "text", "paper", "both"] = ""
    better: int = 0
    bracketed: bool = False
    note: str = ""
    help: str = ""
    order: Callable[[Any], float] | None = None


class Row(Struct, frozen=True):
    """A row of a table.

    Attributes
    ----------
    cells : tuple
        A value for each column; None = there is none, "" = the row has no such cell.
    reference : bool
        Whether the row is a reference for the others, such as the oracle; references come first.
    stars : frozenset of str
        Names of the groups in which the row is significant; "" for columns without a group.
    mark : str
        Text beside its name on the page of results.
    """

    cells: tuple[Any, ...]
    reference: bool = False
    stars: frozenset[str] = frozenset()
    mark: str = ""


class Table(Struct, frozen=True):
    """A table of raw values.

    Attributes
    ----------
    columns : tuple of Column
        Those that name the rows first, then those of each group.
    rows : tuple of Row
    title : str
    notes : tuple of str
        On the whole table; those of columns are added.
    signatures : tuple of str
        Of the metrics, by which numbers can be compared.
    group_key : str
        What groups are, in records.
    together : bool
        Whether several groups are shown side by side, rather than in a table for each.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    title: str = ""
    notes: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    group_key: str = "metric"
    together: bool = True

    def groups(self) -> list[Group]:
        """Return the groups in their order."""
        return list(dict.fromkeys(column.group for column in self.columns if column.group is not None))

    def split(self) -> list[Table]:
        """Return the tables that people see: the table, or one for each group, below the group's title."""
        groups = self.groups()
        if self.together or len(groups) < 2:
            return [self]
        parts = []
        for group in groups:
            places = self.places(RECORD, group)
            columns = tuple(self.columns[j] for j in places)
            rows = tuple(replace(row, cells=tuple(row.cells[j] for j in places)) for row in self.rows)
            last = group == groups[-1]
            parts.append(
                replace(
                    self,
                    columns=columns,
                    rows=rows,
                    notes=self.notes * last,
                    signatures=self.signatures * last,
                )
            )
        return parts

    def places(self, level: Level, group: Group | None = None) -> list[int]:
        """Return the numbers of the columns up to a level, of all groups or of one."""
        return [
            j
            for j, column in enumerate(self.columns)
            if column.level <= level and (column.group is None or group in (None, column.group))
        ]

    def on_paper(self) -> list[int]:
        """Return the numbers of the columns that a paper shows."""
        return self.places(CORE if len(self.groups()) > 1 else USUAL)

    def on_page(self) -> list[int]:
        """Return the numbers of the columns that fit without a limit of width."""
        return self.places(USUAL if len(self.groups()) > 1 else DETAIL)

    def text(self, row: Row, j: int) -> str:
        """Return the text of a cell, without its star."""
        value = row.cells[j]
        return "" if isinstance(value, str) and not value else self.columns[j].shown(value)

    def starred(self, row: Row, j: int, form: Literal["text", "paper"]) -> bool:
        """Return whether a cell has a star."""
        column = self.columns[j]
        name = "" if column.group is None else column.group.name
        return column.star in (form, "both") and name in row.stars

    def best(self, j: int) -> set[str]:
        """Return the text of a column's best value: cells that look the same are as good."""
        better = self.columns[j].better
        values = [row.cells[j] for row in self.rows if better and not row.reference]
        known = [value for value in values if isinstance(value, int | float) and value == value]
        return {self.columns[j].shown(better * max(better * x for x in known))} if len(known) > 1 else set()

    def notes_of(self, places: Sequence[int]) -> list[str]:
        """Return the notes on the table and on the columns that are shown, each once."""
        return list(dict.fromkeys([*self.notes, *filter(None, (self.columns[j].note for j in places))]))

    def keys(self) -> list[str]:
        """Return the keys of the records."""
        names = [key for column in self.columns if column.group is None for key in column.keys]
        values = [key for column in self.columns if column.group is not None for key in column.keys]
        return list(dict.fromkeys([*names, *([self.group_key] if values else []), *values]))

    def records(self) -> Iterator[dict[str, Scalar]]:
        """Yield a record for each row and group, with raw values; None = there is none."""
        keys = self.keys()
        for row in self.rows:
            for group in self.groups() or (None,):
                record: dict[str, Scalar] = dict.fromkeys(keys)
                if group is not None:
                    record[self.group_key] = group.name
                for j in self.places(RECORD, group):
                    record |= _parts(self.columns[j].keys, row.cells[j])
                yield record


def _parts(keys: tuple[str, ...], value: Any) -> dict[str, Scalar]:
    """The parts of a cell; NaN and the absent are None."""
    parts = value if isinstance(value, tuple) else (value,) * len(keys)
    return {key: None if part == "" or part != part else part for key, part in zip(keys, parts, strict=True)}


def facts_table(rows: Sequence[tuple[str, str]], title: str = "", heads: tuple[str, str] = ("", "")) -> Table:
    """Return names and texts as a table; a row without a name continues the one before."""
    columns = (Column(heads[0], ("name",), left=True), Column(heads[1], ("value",), left=True))
    return Table(columns, tuple(Row(row) for row in rows), title)


def table_of(records: Sequence[Mapping[str, Any]], title: str = "", notes: Sequence[str] = ()) -> Table:
    """Return records of the same keys as a table; columns of texts are to the left."""
    keys = list(records[0]) if records else []
    columns = []
    for key in keys:
        of_words = all(isinstance(record[key], str) for record in records)
        columns.append(Column(key, (key,), plain if of_words else _six_figures, left=of_words))
    rows = tuple(Row(tuple(record[key] for key in keys)) for record in records)
    return Table(tuple(columns), rows, title=title, notes=tuple(notes))


def _six_figures(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) and value == value else plain(value)


# Numbers of evaluations as cells: "-" if there is none.


def value_text(value: float | None, digits: int) -> str:
    """Return a value in so many decimals."""
    return "-" if value is None or value != value else f"{value:z.{digits}f}"


def interval_text(ci: tuple[float, float] | None, digits: int) -> str:
    """Return an interval in one decimal less."""
    if ci is None:
        return "-"
    low, high = (f"{end:z.{max(1, digits - 1)}f}" for end in ci)
    if low.startswith("-"):
        return f"{low} to {high}"
    if digits < 3:  # a scale of 0 to 100
        return f"{low}-{high}"
    return f"{low.removeprefix('0')}-{high.removeprefix('0')}"


def p_text(p: float | None) -> str:
    """Return a p-value in three decimals."""
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def signed_text(value: float | None, digits: int) -> str:
    """Return a difference with its sign."""
    return "-" if value is None or value != value else f"{value:+.{digits}f}"


def signed_interval(ci: tuple[float, float] | None, digits: int) -> str:
    """Return the interval of a difference."""
    return "-" if ci is None else f"{ci[0]:+.{digits}f} to {ci[1]:+.{digits}f}"


def lists_text(counts: tuple[int, int, int] | None) -> str:
    """Return the lists won, tied and lost."""
    return "-" if counts is None else "/".join(map(str, counts))


def gap_text(gap: float | None) -> str:
    """Return a share in percent."""
    return "-" if gap is None else f"{100 * gap:z.0f}%"
