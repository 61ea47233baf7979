"""Sheets as text: metrics side by side if they fit, else below each other; a terminal gets short names."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rerank.core.tables.sheet import DETAIL, USUAL, Group, Sheet
from rerank.core.tables.table import Beside, Grid, beside, block, cells_of, drawn, room, table

Drawing = Grid | Beside

_LEAST = 12  # columns of a shortened name


def sheet_tables(sheet: Sheet, width: int, *, fitting: bool = False) -> tuple[list[Drawing], list[str]]:
    """Return tables of a sheet that follow each other, and the notes on what they show.

    Parameters
    ----------
    sheet : Sheet
    width : int
        Columns of the place. Tables of several metrics are split into one for each if they are wider.
    fitting : bool
        Whether tables that are still wider have their names shortened, and then their columns split.
    """
    groups = sheet.groups()
    if sheet.together and len(groups) > 1:
        places = sheet.places(USUAL)
        together = _table(sheet, places, narrow=True)
        if _width(together) <= width:
            return [together], sheet.notes_of(places)
    tables, shown = [], []
    for group in groups or (None,):
        places = sheet.places(DETAIL, group)
        shown += places
        whole = _table(sheet, places)
        if _width(whole) > width:
            whole = _table(sheet, places, narrow=True)
        tables += _fitted(sheet, places, width) if fitting and _width(whole) > width else [whole]
    return tables, sheet.notes_of(sorted(shown))


def sheet_lines(sheet: Sheet) -> list[str]:
    """Return a sheet with its notes as lines for standard output."""
    tables, notes = sheet_tables(sheet, room(sys.stdout), fitting=sys.stdout.isatty())
    parts: list[list[str]] = [drawn(table) for table in tables]
    parts += [notes_of] if (notes_of := [*notes, *sheet.signatures]) else []
    return [line for part in parts for line in ("", *part)][1:]


def _fitted(sheet: Sheet, places: Sequence[int], width: int) -> list[Drawing]:
    """Tables within a width: with short names, then with columns in further tables. Numbers stay whole."""
    whole = _table(sheet, places, narrow=True)
    excess = _width(whole) - width
    if excess <= 0:
        return [whole]
    names = [j for j in places if sheet.columns[j].group is None and sheet.columns[j].left]
    widths = [max((cells_of(sheet.text(row, j)) for row in sheet.rows), default=0) for j in names]
    most = max([*widths, _LEAST])
    while most > _LEAST and sum(max(0, w - most) for w in widths) < excess:
        most -= 1
    shorter = _table(sheet, places, narrow=True, most=most)
    if _width(shorter) <= width:
        return [shorter]
    values = [j for j in places if j not in names]
    for n in range(len(values) - 1, 0, -1):
        first = _table(sheet, [*names, *values[:n]], narrow=True, most=most)
        if _width(first) <= width or n == 1:
            return [first, *_fitted(sheet, [*names, *values[n:]], width)]
    return [shorter]


def _table(sheet: Sheet, places: Sequence[int], *, narrow: bool = False, most: int | None = None) -> Drawing:
    """References and rows, the columns of each group below its title."""
    dim = sum(row.reference for row in sheet.rows)
    if not sheet.groups():  # plain, without rules
        cells = zip(*(_cells(sheet, j, most) for j in places), strict=True)
        return table([sheet.columns[j].head for j in places], list(cells), left=_left(sheet, places))
    titles, blocks = [], []
    shown = {j: (narrow and sheet.columns[j].narrow) or sheet.columns[j].head or " " for j in places}
    lines = max(head.count("\n") for head in shown.values())
    groups: list[Group | None] = list(dict.fromkeys(sheet.columns[j].group for j in places))
    for group in groups:
        own = [j for j in places if sheet.columns[j].group == group]
        heads = ["\n" * (lines - shown[j].count("\n")) + shown[j] for j in own]
        columns = [_cells(sheet, j, most) for j in own]
        rows = list(zip(*columns, strict=True))
        blocks.append(block(heads, rows, left=_left(sheet, own), dim=dim))
        titles.append("" if group is None else group.title)
    return beside(titles, blocks)


def _left(sheet: Sheet, places: Sequence[int]) -> int:
    return sum(sheet.columns[j].left for j in places)


def _cells(sheet: Sheet, j: int, most: int | None) -> list[str]:
    """The cells of a column; names are shortened, and stars have room in each row but references."""
    column = sheet.columns[j]
    texts = [sheet.text(row, j) for row in sheet.rows]
    if most is not None and column.left and column.group is None:
        return [shortened(text, most) for text in texts]
    if column.star not in ("text", "both"):
        return texts
    stars = ("*" if sheet.starred(row, j, "text") else " " * (not row.reference) for row in sheet.rows)
    return [text + star for text, star in zip(texts, stars, strict=True)]


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters: the middle of a longer one is left out."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


def _width(table: Drawing) -> int:
    return max(map(cells_of, drawn(table)), default=0)
