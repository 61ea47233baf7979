"""Tables as aligned text, drawn by rich: the same bytes in every pipe and file, styled on a terminal.

Cells are never cut or wrapped, except in the last column of ``facts``. rich is imported when a table is
drawn, so that commands that draw none start quickly.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, TextIO

from rerank.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

WIDTH = 100
_ROOM = 100_000  # columns that no table needs: rich then cuts nothing
_RULE = "    \n    \n----\n    \n----\n    \n    \n    \n"  # a box of rules below heads and sections alone


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, gap: int = 2) -> Table:
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
    from rich.table import Table
    from rich.text import Text

    rows = [[printable(cell) for cell in row] for row in rows]
    lines = [head.split("\n") for head in heads]
    most = max(map(len, lines), default=1)
    heads = ["\n".join([""] * (most - len(own)) + [printable(line) for line in own]) for own in lines]
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=any(heads))
    columns = [c if j < left else _padded(c) for j, c in enumerate(zip(heads, *rows, strict=True))]
    head, *body = zip(*columns, strict=True)
    for cell in head:
        made.add_column(Text(cell), no_wrap=True, overflow="crop")
    for row in body:
        made.add_row(*map(Text, row))
    return made


def _padded(cells: Sequence[str]) -> Sequence[str]:
    """Cells moved to the right; rich would drop the trailing blank of a cell without a star."""
    width = max(cells_of(line) for cell in cells for line in cell.split("\n"))
    return ["\n".join(" " * (width - cells_of(line)) + line for line in cell.split("\n")) for cell in cells]


def block(heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0, dim: int = 0) -> Table:
    """Return a table with a rule below its heads and below its first ``dim`` rows, which are dim."""
    from rich.box import Box

    made = table(heads, rows, left=left)
    made.box, made.show_edge, made.border_style = Box(_RULE, ascii=True), False, "dim"
    made.padding = (0, 0, 0, 0)
    for row in made.rows[:dim]:
        row.style = "dim"
    if 0 < dim < len(made.rows):
        made.rows[dim - 1].end_section = True
    return made


def beside(titles: Sequence[str], blocks: Sequence[Table]) -> Table:
    """Return tables of the same rows side by side, each below its title."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for title in titles:
        made.add_column(Text(printable(title)), no_wrap=True, overflow="crop")
    made.add_row(*blocks)
    return made


def facts(rows: Sequence[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Return rows of cells as lines, columns to the left, the last one wrapped at ``width``."""
    if not rows:
        return []
    rows = [[printable(cell) for cell in row] for row in rows]
    made = table([""] * len(rows[0]), rows, left=len(rows[0]))
    last = made.columns[-1]
    last.no_wrap, last.overflow = False, "fold"
    begin = sum(max(cells_of(cell) for cell in column) + 2 for column in list(zip(*rows, strict=True))[:-1])
    return drawn(made, max(width, begin + 20))


def pairs(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Return rows of two cells as aligned lines: as ``table`` does, but quick for a million of them."""
    names = [printable(name) for name, _ in rows]
    widths = [cells_of(name) for name in names]
    most = max(widths, default=0)
    return [
        f"{name}{' ' * (most - width)}  {value}".rstrip()
        for name, width, (_, value) in zip(names, widths, rows, strict=True)
    ]


def drawn(part: RenderableType, width: int = _ROOM) -> list[str]:
    """Return a part as plain lines without blanks at their ends; a string is a line."""
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
    console = _console(stream, _ROOM, styled=True)
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
    from rich.cells import cell_len

    return cell_len(text)
