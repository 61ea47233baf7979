"""Tables as aligned text: the same bytes in every pipe and file, bold and dim on a terminal.

Each cell is made and measured once. Cells are never cut or wrapped, except in the last column of ``facts``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TextIO

from rerank.core.errors import LONGEST_TEXT, cell_text, cut, printable
from rerank.core.tables.table import DETAIL, USUAL, Table

WIDTH = 100
_LEAST = 12  # columns of a shortened name
_BOLD, _DIM = "1", "2"  # styles of a terminal
_WORD = re.compile(r"\s*\S+\s*")


class Line(NamedTuple):
    """A drawn line and its style on a terminal."""

    text: str
    style: str = ""


Drawing = list[Line]
Part = str | Drawing  # a string is a dim line


def lined_up(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, gap: int = 2) -> Drawing:
    """Return a table of cells, the first ``left`` columns to the left and the others to the right.

    Characters that cannot be printed, such as those of a name in a stranger's model, are escaped.

    Parameters
    ----------
    heads : sequence of str
        A head for each column, which may have line ends; all empty = no line of heads.
    rows : sequence of sequences of str
    left : int
        Columns of words.
    gap : int
        Blanks between columns.
    """
    columns = _columns(heads, rows)
    return _grid(columns, [j < left for j in range(len(columns))], " " * gap)


def block(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0, dim: int = 0) -> Drawing:
    """Return a table with a rule below its heads and below its first ``dim`` rows, which are dim."""
    columns = _columns(heads, rows)
    return _grid(columns, [j < left for j in range(len(columns))], " ", dim)


def beside(titles: Sequence[str], blocks: Sequence[Drawing]) -> Drawing:
    """Return tables of the same rows side by side, each below its title."""
    columns = [[Line(cell_text(title), _BOLD), *lines] for title, lines in zip(titles, blocks, strict=True)]
    widths = [max(cells_of(line.text) for line in column) for column in columns]
    out = []
    for row in zip_longest(*columns, fillvalue=Line("")):
        parts = (_to_width(line.text, width) for line, width in zip(row, widths, strict=True))
        out.append(Line("  ".join(parts), max(line.style for line in row)))
    return out


class _Column:
    """The head, line by line, and the cells of a column, with the width of the widest."""

    def __init__(self, head: str, cells: Sequence[str]) -> None:
        self.head = [cell_text(line) for line in head.split("\n")]
        self.cells = [cell_text(cell) for cell in cells]
        self.width = max(map(cells_of, (*self.head, *self.cells)))


def _columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[_Column]:
    columns = zip(heads, *rows, strict=True)
    return [_Column(head, cells) for head, *cells in columns]


def _grid(columns: Sequence[_Column], left: Sequence[bool], gap: str, dim: int | None = None) -> Drawing:
    """Columns as lines of one width, with rules unless ``dim`` is None."""
    ruled = dim is not None
    widths = [max(column.width, ruled) for column in columns]
    height = max((len(column.head) for column in columns), default=0)
    heads = [[""] * (height - len(column.head)) + [*column.head] for column in columns]

    def lines(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
        for row in rows:
            cells = zip(row, widths, left, strict=True)
            yield gap.join(_to_width(cell, width, right=not word) for cell, width, word in cells)

    rule = Line("-" * (sum(widths) + len(widths) - 1), _DIM)
    out = []
    if any(map(any, heads)):
        out = [Line(text, _BOLD) for text in lines(zip(*heads, strict=True))]
        out += [rule] * ruled
    rows = [
        Line(text, _DIM * (i < (dim or 0)))
        for i, text in enumerate(lines(zip(*(column.cells for column in columns), strict=True)))
    ]
    return [*out, *rows[:dim], rule, *rows[dim:]] if dim and dim < len(rows) else [*out, *rows]


def _to_width(text: str, width: int, *, right: bool = False) -> str:
    blanks = " " * (width - cells_of(text))
    return blanks + text if right else text + blanks


def cells_of(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def facts(rows: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Return rows of cells as lines, columns to the left, the last one wrapped at ``width``."""
    names = [[cell_text(cell) for cell in row[:-1]] for row in rows]
    widths = [max(map(cells_of, column)) for column in zip(*names, strict=True)]
    begin = sum(widths) + 2 * len(widths)
    out = []
    for row, own in zip(rows, names, strict=True):
        first = "".join(_to_width(cell, n + 2) for cell, n in zip(own, widths, strict=True))
        for i, line in enumerate(_wrapped(printable(cut(row[-1], LONGEST_TEXT)), max(width - begin, 20))):
            out.append(f"{' ' * begin if i else first}{line}".rstrip())
    return out


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text; a word that is longer than a line is broken."""
    line, taken = "", 0
    for word in _WORD.findall(text) or [text]:
        length = cells_of(word.rstrip())
        if taken + length > width:
            if line:
                yield line
            line, taken = "", 0
            while length > width:
                n = next(i for i in range(len(word), 0, -1) if cells_of(word[:i]) <= width)
                yield word[:n]
                word = word[n:]
                length = cells_of(word.rstrip())
        line += word
        taken += cells_of(word)
    yield line


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return rows of two cells as aligned lines: as ``lined_up`` does, but quick for a million of them."""
    names = [cell_text(name) for name, _ in rows]
    most = max(map(cells_of, names), default=0)
    return [f"{_to_width(name, most)}  {row[1]}".rstrip() for name, row in zip(names, rows, strict=True)]


def drawn(part: Part) -> list[str]:
    """Return a part as plain lines without blanks at their ends; a string is a line."""
    return [printable(part).rstrip()] if isinstance(part, str) else [line.text.rstrip() for line in part]


def show(parts: Sequence[Part], stream: TextIO) -> None:
    """Write parts one below the other: in styles on a terminal unless NO_COLOR is set, else plain."""
    if not styled(stream):
        stream.writelines(f"{line}\n" for part in parts for line in drawn(part))
        return
    from rerank.core.files.write import unescaped

    out = unescaped(stream)
    for part in parts:
        for text, style in [Line(printable(part), _DIM)] if isinstance(part, str) else part:
            out.write(f"\x1b[{style}m{text}\x1b[0m\n" if style and text else f"{text}\n")


def styled(stream: TextIO) -> bool:
    """Return whether ``stream`` is a terminal that takes styles."""
    return (
        stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") not in ("dumb", "unknown")
    )


def room(stream: TextIO) -> int:
    """Return the columns that a table may take: those of a terminal, WIDTH elsewhere."""
    return shutil.get_terminal_size((WIDTH, 1)).columns if stream.isatty() else WIDTH


def text_lines(table: Table) -> list[str]:
    """Return a table with its notes as lines for standard output."""
    drawings, notes = table_drawings(table, room(sys.stdout), fitting=sys.stdout.isatty())
    parts = [drawn(one) for one in drawings]
    parts += [notes_of] if (notes_of := [*notes, *table.signatures]) else []
    return [line for part in parts for line in ("", *part)][1:]


def table_drawings(table: Table, width: int, *, fitting: bool = False) -> tuple[list[Drawing], list[str]]:
    """Return drawings of a table that follow each other, and the notes on what they show.

    Parameters
    ----------
    table : Table
    width : int
        Columns of the place. A table of several metrics is split into one for each if it is wider.
    fitting : bool
        Whether drawings that are still wider have their names shortened, and then their columns split.
    """
    layout, groups = _Layout(table), table.groups()
    if table.together and len(groups) > 1:
        places = table.places(USUAL)
        if layout.width(places, narrow=True) <= width:
            return [layout.draw(places, narrow=True)], table.notes_of(places)
    parts: list[Drawing] = []
    shown: list[int] = []
    for group in groups or (None,):
        places = table.places(DETAIL, group)
        shown += places
        narrow = layout.width(places) > width
        parts += layout.fitted(places, width) if fitting and narrow else [layout.draw(places, narrow=narrow)]
    return parts, table.notes_of(sorted(shown))


class _Layout:
    """Chooses the heads, the length of names and the columns by measured cells."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.grouped = bool(table.groups())
        self._measured: dict[tuple[int, bool, int | None], _Column] = {}

    def _column(self, j: int, narrow: bool, most: int | None) -> _Column:
        """Column ``j``; stars have room in each row but references, names at most ``most`` characters."""
        column = self.table.columns[j]
        most = most if column.left and column.group is None else None
        if (j, narrow, most) not in self._measured:
            head = column.head
            if self.grouped:
                head = (narrow and column.narrow) or head or " "
            texts = [self.table.text(row, j) for row in self.table.rows]
            if most is not None:
                texts = [shortened(text, most) for text in texts]
            elif column.star in ("text", "both"):
                marks = (
                    "*" if self.table.starred(row, j, "text") else " " * (not row.reference)
                    for row in self.table.rows
                )
                texts = [text + mark for text, mark in zip(texts, marks, strict=True)]
            self._measured[j, narrow, most] = _Column(head, texts)
        return self._measured[j, narrow, most]

    def _groups(self, places: Sequence[int]) -> list[tuple[str, list[int]]]:
        """The titles and columns of groups."""
        columns = self.table.columns
        groups = dict.fromkeys(columns[j].group for j in places)
        return [
            ("" if group is None else group.title, [j for j in places if columns[j].group == group])
            for group in groups
        ]

    def width(self, places: Sequence[int], *, narrow: bool = False, most: int | None = None) -> int:
        """Return the columns that a table takes."""
        if self.grouped:
            widths = []
            for title, own in self._groups(places):
                columns = [self._column(j, narrow, most) for j in own]
                taken = sum(max(column.width, 1) for column in columns) + len(own) - 1
                widths.append(max(cells_of(cell_text(title)), taken))
            return sum(widths) + 2 * (len(widths) - 1)
        return sum(self._column(j, narrow, most).width + 2 for j in places) - 2

    def draw(self, places: Sequence[int], *, narrow: bool = False, most: int | None = None) -> Drawing:
        """Return references and rows, the columns of each group below its title."""

        def columns(own: Sequence[int]) -> tuple[list[_Column], list[bool]]:
            return [self._column(j, narrow, most) for j in own], [self.table.columns[j].left for j in own]

        if not self.grouped:  # plain, without rules
            return _grid(*columns(places), "  ")
        dim = sum(row.reference for row in self.table.rows)
        height = max(len(self._column(j, narrow, most).head) for j in places)
        titles, blocks = [], []
        for title, own in self._groups(places):
            lines = _grid(*columns(own), " ", dim)
            missing = height - max(len(self._column(j, narrow, most).head) for j in own)
            blocks.append([Line("")] * missing + lines)
            titles.append(title)
        return beside(titles, blocks)

    def fitted(self, places: Sequence[int], width: int) -> list[Drawing]:
        """Return tables with short names, then with columns in further tables. Numbers stay whole."""
        excess = self.width(places, narrow=True) - width
        if excess <= 0:
            return [self.draw(places, narrow=True)]
        columns = self.table.columns
        names = [j for j in places if columns[j].group is None and columns[j].left]
        widths = [
            max((cells_of(self.table.text(row, j)) for row in self.table.rows), default=0) for j in names
        ]
        most = max([*widths, _LEAST])
        while most > _LEAST and sum(max(0, w - most) for w in widths) < excess:
            most -= 1
        if self.width(places, narrow=True, most=most) <= width:
            return [self.draw(places, narrow=True, most=most)]
        values = [j for j in places if j not in names]
        for n in range(len(values) - 1, 0, -1):
            first = [*names, *values[:n]]
            if n == 1 or self.width(first, narrow=True, most=most) <= width:
                rest = self.fitted([*names, *values[n:]], width)
                return [self.draw(first, narrow=True, most=most), *rest]
        return [self.draw(places, narrow=True, most=most)]


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters: the middle of a longer one is left out."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
