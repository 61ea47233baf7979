"""What papers show of a sheet: values with their stars and intervals in one cell, the best one marked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rerank.core.errors import LONGEST_CELL, cut
from rerank.core.tables.sheet import Row, Sheet


@dataclass(frozen=True)
class Head:
    """The head of a column: the title of its group, its own text, and whether it has words."""

    group: str
    text: str
    left: bool


@dataclass(frozen=True)
class Cell:
    """A cell: its text, marks, and the text that follows in brackets."""

    text: str
    star: bool = False
    best: bool = False
    italic: bool = False
    bracketed: str = ""


def paper_heads(sheet: Sheet) -> list[Head]:
    """Return the heads; the only column of one group of several has the title of the group alone."""
    columns = [sheet.columns[j] for j in sheet.on_paper() if not sheet.columns[j].bracketed]
    groups = [column.group for column in columns]
    heads = []
    for column in columns:
        title = "" if column.group is None else column.group.title
        alone = groups.count(column.group) == 1 and len(sheet.groups()) > 1
        heads.append(Head(title, "" if alone and title else column.head, column.left))
    return heads


def paper_cells(sheet: Sheet, row: Row) -> list[Cell]:
    """Return the cells of a row."""
    cells: list[Cell] = []
    for j in sheet.on_paper():
        text = sheet.text(row, j)
        if sheet.columns[j].bracketed:
            cells[-1] = replace(cells[-1], bracketed="" if text == "-" else text)
            continue
        star = sheet.starred(row, j, "paper")
        best = not row.reference and text in sheet.best(j)
        cells.append(Cell(cut(text, LONGEST_CELL), star, best, row.reference and j == 0))
    return cells


def paper_notes(sheet: Sheet) -> list[str]:
    """Return the explanations of marks and columns."""
    places = sheet.on_paper()
    marks = ["bold: the best value"] if any(sheet.best(j) for j in places) else []
    heads = dict.fromkeys(sheet.columns[j].head for j in places if sheet.columns[j].bracketed)
    return [*marks, *(f"in brackets: {head}" for head in heads), *sheet.notes_of(places)]
