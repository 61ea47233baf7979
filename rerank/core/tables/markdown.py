"""Sheets as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rerank.core.errors import printable
from rerank.core.tables.paper import paper_cells, paper_heads, paper_notes
from rerank.core.tables.sheet import Sheet

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, also in a cell of a table."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def markdown_text(sheets: Sequence[Sheet], notes: Sequence[str] = ()) -> str:
    """Return a table for each sheet below its title, with the explanations below it."""
    out: list[str] = []
    for sheet in (part for whole in sheets for part in whole.split()):
        alone = [group.title for group in sheet.groups()] if len(sheet.groups()) == 1 else []
        title = ": ".join(filter(None, [sheet.title, *alone]))
        out += [f"**{escaped(title)}**", ""] if title else []
        out += [*_table(sheet), ""]
        lines = [*paper_notes(sheet), *sheet.signatures]
        out += [*(f"- {escaped(line)}" for line in lines), ""] if lines else []
    out += [f"- {escaped(text)}" for text in notes]
    return "\n".join(out).rstrip("\n") + "\n"


def _table(sheet: Sheet) -> list[str]:
    heads = paper_heads(sheet)
    several = len(sheet.groups()) > 1
    titles = [" ".join(filter(None, (head.group * several, head.text))) for head in heads]
    rows = [[escaped(title) for title in titles], [":--" if head.left else "--:" for head in heads]]
    for row in sheet.rows:
        cells = []
        for cell in paper_cells(sheet, row):
            text = escaped(cell.text)
            text = f"**{text}**" if cell.best else text
            text = f"*{text}*" if cell.italic and text else text
            cells.append(
                text + r"\*" * cell.star + (escaped(f" [{cell.bracketed}]") if cell.bracketed else "")
            )
        rows.append(cells)
    return [f"| {' | '.join(cells)} |" for cells in rows]
