"""Sheets as fragments of HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rerank.core.errors import LONGEST_CELL, cut, printable
from rerank.core.tables.sheet import Row, Sheet

_STYLE = "text-align: left", "text-align: right"


def html_text(sheets: Sequence[Sheet]) -> str:
    """Return a table for each sheet, below its title and above its notes.

    All texts are escaped; there is neither a script nor a style sheet.
    """
    return "".join(f"<div>\n{_table(part)}</div>\n" for sheet in sheets for part in sheet.split())


def _table(sheet: Sheet) -> str:
    places = sheet.on_page()
    lines = ["<table>"]
    if sheet.title:
        lines.append(f"<caption>{_escaped(sheet.title)}</caption>")
    heads = [_cell("th", sheet.columns[j].head, sheet.columns[j].left) for j in places]
    lines += ["<thead>", *_groups(sheet, places), f"<tr>{''.join(heads)}</tr>", "</thead>", "<tbody>"]
    lines += [f"<tr>{''.join(_cells(sheet, row, places))}</tr>" for row in sheet.rows]
    lines += ["</tbody>", "</table>"]
    notes = [*sheet.notes_of(places), *sheet.signatures]
    lines += [f"<p>{'<br>'.join(map(_escaped, notes))}</p>"] if notes else []
    return "".join(f"{line}\n" for line in lines)


def _groups(sheet: Sheet, places: Sequence[int]) -> list[str]:
    """A row of the groups' titles."""
    groups = [sheet.columns[j].group for j in places]
    if not any(groups):
        return []
    cells = [f'<th colspan="{groups.count(None)}"></th>'] if None in groups else []
    for group in sheet.groups():
        cells.append(f'<th colspan="{groups.count(group)}">{_escaped(group.title)}</th>')
    return [f"<tr>{''.join(cells)}</tr>"]


def _cells(sheet: Sheet, row: Row, places: Sequence[int]) -> list[str]:
    cells = []
    for j in places:
        star = "*" if sheet.starred(row, j, "text") else ""
        cells.append(_cell("td", sheet.text(row, j) + star, sheet.columns[j].left, row.reference))
    return cells


def _cell(tag: str, text: str, left: bool, italic: bool = False) -> str:
    shown = _escaped(cut(text, LONGEST_CELL))
    shown = f"<i>{shown}</i>" if italic and text else shown
    return f'<{tag} style="{_STYLE[not left]}">{shown}</{tag}>'


def _escaped(text: str) -> str:
    return escape(printable(text))
