"""Rows of CSV and TSV, and a guard for people who open them in a spreadsheet program.

Such a program takes a cell that begins with =, +, - or @ for a formula, whoever wrote it. A guarded cell has
an apostrophe before that. It changes ids, so it has to be asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from rerank.core.errors import visible
from rerank.core.text import number

_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the wide forms of East Asian scripts
_guards: ContextVar[bool] = ContextVar("guards", default=False)


@contextmanager
def guarding(value: bool = True) -> Iterator[None]:
    """Guard, or do not guard, the cells of CSV and TSV that are written within the block."""
    before = _guards.set(value)
    try:
        yield
    finally:
        _guards.reset(before)


def guarded(cell: str) -> str:
    """Return the text of a cell, unchanged unless cells are guarded.

    Guarded, its control and bidirectional characters are escaped, and what begins like a formula and is not a
    number has an apostrophe before it.
    """
    if not _guards.get():
        return cell
    begins = cell.lstrip(" ").startswith(_FORMULA) and number(cell) is None
    return "'" * begins + visible(cell)


def csv_row(cells: Sequence[str], delimiter: str = ",") -> str:
    """Return a line without its end, quoted as Python's csv module does.

    A cell is quoted if a separator, quote or line end is in it, or white space at one of its ends.
    """
    marks: tuple[str, ...] = (delimiter, '"', "\n", "\r")
    if _guards.get():
        cells, marks = [guarded(cell) for cell in cells], (*marks, ";", "\t")  # separators elsewhere
    out = []
    for cell in cells:
        if any(mark in cell for mark in marks) or cell != cell.strip():
            cell = '"' + cell.replace('"', '""') + '"'
        out.append(cell)
    return delimiter.join(out)
