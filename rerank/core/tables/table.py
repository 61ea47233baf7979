"""Tables as aligned text: the same bytes in every pipe and file, styled by rich on a terminal.

Cells are never cut or wrapped, except in the last column of ``facts``. rich takes longer to import than small
files to evaluate: plain text is aligned here, with the same bytes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from io import StringIO
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

from rerank.core.errors import LONGEST_TEXT, cell_text, cut, printable
from rerank.core.tables.terminal import unescaped

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

WIDTH = 100
_ROOM = 100_000  # columns that no table needs: rich then cuts nothing
_RULE = "    \n    \n----\n    \n----\n    \n    \n    \n"  # a box of rules below heads and sections alone


class Grid:
    """A table of cells, the first ``left`` columns to the left and the others to the right; see ``table``.

    Attributes
    ----------
    columns : list of tuples of str
        Cells, the head first; heads have as many lines each.
    gap : int
        Blanks between columns.
    ruled : bool
        Whether there are rules, below the heads and below the first ``dim`` rows.
    """

    def __init__(
        self, heads: Sequence[str], rows: Sequence[Sequence[str]], left: int, gap: int, dim: int | None = None
    ) -> None:
        rows = [[printable(cell) for cell in row] for row in rows]
        lines = [head.split("\n") for head in heads]
        most = max(map(len, lines), default=1)
        heads = ["\n".join([""] * (most - len(own)) + [cell_text(line) for line in own]) for own in lines]
        columns = zip(heads, *rows, strict=True)
        self.columns = [tuple(c if j < left else _padded(c)) for j, c in enumerate(columns)]
        self.headed = any(heads)
        self.gap, self.ruled, self.dim = gap, dim is not None, dim or 0

    def __rich__(self) -> Table:
        """Return the table as rich has it."""
        from rich.box import Box
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, padding=(0, self.gap, 0, 0), pad_edge=False, show_header=self.headed)
        head, *body = zip(*self.columns, strict=True)
        for cell in head:
            made.add_column(Text(cell), no_wrap=True, overflow="crop")
        for row in body:
            made.add_row(*map(Text, row))
        if self.ruled:
            made.box, made.show_edge, made.border_style = Box(_RULE, ascii=True), False, "dim"
            made.padding = (0, 0, 0, 0)
            for styled_row in made.rows[: self.dim]:
                styled_row.style = "dim"
            if 0 < self.dim < len(made.rows):
                made.rows[self.dim - 1].end_section = True
        return made

    def lines(self) -> list[str] | None:
        """Return plain lines of one width; None if a column is empty, for which rich has its own rules."""
        split = [[cell.split("\n") for cell in column] for column in self.columns]
        widths = [max(cells_of(line) for cell in column for line in cell) for column in split]
        if not min(widths, default=0):
            return None
        between = " " * (1 if self.ruled else self.gap)
        rule = "-" * (sum(widths) + len(widths) - 1)
        rows = list(zip(*split, strict=True))
        out: list[str] = []
        for i, row in enumerate(rows if self.headed else rows[1:], start=0 if self.headed else 1):
            for parts in zip(*row, strict=True):
                out.append(between.join(map(_to_width, parts, widths)))
            below_head = i == 0 and self.headed
            if self.ruled and (below_head or (i == self.dim and 0 < i < len(rows) - 1)):
                out.append(rule)
        return out


class Beside:
    """Tables side by side, each below its title; see ``beside``."""

    def __init__(self, titles: Sequence[str], blocks: Sequence[Grid]) -> None:
        self.titles = [cell_text(title) for title in titles]
        self.blocks = blocks

    def __rich__(self) -> Table:
        """Return the tables as rich has them."""
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        for title in self.titles:
            made.add_column(Text(title), no_wrap=True, overflow="crop")
        made.add_row(*self.blocks)
        return made

    def lines(self) -> list[str] | None:
        """Return plain lines; None as for ``Grid``."""
        columns: list[list[str]] = []
        for title, part in zip(self.titles, self.blocks, strict=True):
            lines = part.lines()
            if not lines:
                return None
            columns.append([title, *lines])
        widths = [max(map(cells_of, column)) for column in columns]
        padded = ([_to_width(line, n) for line in column] for column, n in zip(columns, widths, strict=True))
        blank = [" " * n for n in widths]
        rows = zip_longest(*padded, fillvalue="")
        return ["  ".join(x or y for x, y in zip(row, blank, strict=True)) for row in rows]


PLAIN = (Grid, Beside)


def _to_width(text: str, width: int) -> str:
    return text + " " * (width - cells_of(text))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, gap: int = 2) -> Grid:
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
    return Grid(heads, [[cell_text(cell) for cell in row] for row in rows], left, gap)


def _padded(cells: Sequence[str]) -> Sequence[str]:
    """Cells moved to the right; rich would drop the trailing blank of a cell without a star."""
    width = max(cells_of(line) for cell in cells for line in cell.split("\n"))
    return ["\n".join(" " * (width - cells_of(line)) + line for line in cell.split("\n")) for cell in cells]


def block(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0, dim: int = 0) -> Grid:
    """Return a table with a rule below its heads and below its first ``dim`` rows, which are dim."""
    return Grid(heads, [[cell_text(cell) for cell in row] for row in rows], left, 2, dim)


def beside(titles: Sequence[str], blocks: Sequence[Grid]) -> Beside:
    """Return tables of the same rows side by side, each below its title."""
    return Beside(titles, blocks)


def facts(rows: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Return rows of cells as lines, columns to the left, the last one wrapped at ``width``."""
    if not rows:
        return []
    rows = [[*map(cell_text, row[:-1]), printable(cut(row[-1], LONGEST_TEXT))] for row in rows]
    made = Grid([""] * len(rows[0]), rows, len(rows[0]), 2).__rich__()
    last = made.columns[-1]
    last.no_wrap, last.overflow = False, "fold"
    begin = sum(max(cells_of(cell) for cell in column) + 2 for column in list(zip(*rows, strict=True))[:-1])
    return drawn(made, max(width, begin + 20))


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return rows of two cells as aligned lines: as ``table`` does, but quick for a million of them."""
    names = [cell_text(name) for name, _ in rows]
    widths = [cells_of(name) for name in names]
    most = max(widths, default=0)
    return [
        f"{name}{' ' * (most - width)}  {value}".rstrip()
        for name, width, (_, value) in zip(names, widths, rows, strict=True)
    ]


def drawn(part: RenderableType, width: int = _ROOM) -> list[str]:
    """Return a part as plain lines without blanks at their ends; a string is a line."""
    plain = [printable(part)] if isinstance(part, str) else part.lines() if isinstance(part, PLAIN) else None
    if plain and width == _ROOM and max(map(len, plain)) < _ROOM // 2:
        return [line.rstrip() for line in plain]
    out = StringIO()
    _console(out, width, styled=False).print(_text(part))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def show(parts: Sequence[RenderableType], stream: TextIO) -> None:
    """Write parts one below the other: in styles on a terminal unless NO_COLOR is set, else plain.

    A string is a dim line.
    """
    if not styled(stream):
        stream.writelines(f"{line}\n" for part in parts for line in drawn(part))
        return
    console = _console(unescaped(stream), _ROOM, styled=True)
    for part in parts:
        console.print(_text(part), soft_wrap=True)


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


def _console(stream: TextIO, width: int, *, styled: bool) -> Console:
    """A console of fixed size that asks neither the terminal nor the environment for more."""
    from rich.console import Console

    return Console(
        file=stream,
        width=width,
        height=100,
        force_terminal=styled,
        color_system="standard" if styled else None,
        no_color=not styled,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _text(part: RenderableType) -> RenderableType:
    """The part, with a string as dim text without markup."""
    from rich.text import Text

    return Text(printable(part), style="dim") if isinstance(part, str) else part


def cells_of(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
