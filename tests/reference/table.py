"""A slow reader of tables, cell by cell, written to be obviously right."""

import csv
import io
import math
import re
from dataclasses import dataclass

from reference.bad_lines import BadLineError

LISTS = ("qid", "list", "list_id", "query", "query_id", "target")
OTHERS = {
    "label": ("label", "is_correct", "correct", "passed", "relevance", "GDT_TS"),
    "id": ("id", "item_id", "docid", "doc_id", "docno"),
    "text": ("text", "generated_text", "completion", "response"),
}


BLANKS = " \t\r\n\v\f"


@dataclass
class Twin:
    groups: dict[str, list[int]]
    cells: dict[str, list[str]]
    features: dict[str, list[float]]
    label: str | None
    id: str | None
    text: str | None


def number(cell: str) -> float | None:
    """A finite decimal number, None if the cell is anything else; NaN if it is empty."""
    if not cell.strip(BLANKS):
        return math.nan
    try:
        value = float(cell)
    except ValueError:
        return None
    plain = cell.strip(BLANKS).isascii() and "_" not in cell
    return value if plain and math.isfinite(value) else None


class Column:
    """A column that may be one of numbers, cell by cell."""

    def __init__(self) -> None:
        self.numeric = False
        self.text = 0  # the line of the cell that makes it one of text
        self.empty = 0  # the first line that lacks a value
        self.looked: list[bool] = []  # whether cells from ``text`` on are numbers

    def add(self, cell: str, line: int) -> bool:
        """Whether the cell may be there."""
        token = cell.strip(BLANKS)
        if not token:
            self.empty = self.empty or line
        elif self.text:
            self.looked.append(number(cell) is not None or too_large(token))
        elif number(cell) is not None:
            self.numeric = True
        elif self.numeric or not_finite(token) or re.fullmatch(r"\d+[_,]\d+", token):
            return False
        else:
            self.text = line
            self.looked = [False]
        return True

    def is_meant(self) -> bool:
        return self.text > 0 and 2 * sum(self.looked[:1000]) > len(self.looked[:1000])


def not_finite(token: str) -> bool:
    try:
        value = float(token)
    except ValueError:
        return False
    return token.isascii() and "_" not in token and not math.isfinite(value)


def too_large(token: str) -> bool:
    return not_finite(token) and token[-1].isdigit()


def read(data: bytes, delimiter: str, nan: bool) -> Twin:
    """The columns of a table; BadLineError at the first fault in the order of lines."""
    rows, lines, broken = split(data.removeprefix(b"\xef\xbb\xbf"), delimiter)
    if not rows:
        raise BadLineError(broken)
    header = rows.pop(0)
    lines.pop(0)
    named = [name for name in header if name]
    if len(set(named)) < len(named):
        raise BadLineError(1)
    roles = {}
    for role, names in {"list": LISTS, **OTHERS}.items():
        roles[role] = next((name for name in names if name in named), None)
    if roles["list"] is None:
        raise BadLineError(1)
    groups: dict[str, list[int]] = {}
    columns = {name: Column() for name in named if name not in roles.values() or name == roles["label"]}
    for i, (row, line) in enumerate(zip(rows, lines, strict=True)):
        cells = dict(zip(header, row, strict=False))
        good = len(row) == len(header) and cells[roles["list"]] != ""
        if not good or not all(column.add(cells[name], line) for name, column in columns.items()):
            raise BadLineError(line)
        if roles["label"] and columns[roles["label"]].text:
            raise BadLineError(line)
        groups.setdefault(cells[roles["list"]], []).append(i)
    if broken or not rows:
        raise BadLineError(broken)
    return finish(header, rows, columns, groups, roles, nan)


def finish(header, rows, columns, groups, roles, nan: bool) -> Twin:
    """The columns of a table whose rows are sound."""
    label = roles["label"]
    meant = [column.text for column in columns.values() if column.is_meant()]
    if meant:
        raise BadLineError(min(meant))
    empty = [c.empty for name, c in columns.items() if c.numeric and c.empty and name != label]
    if empty and not nan:
        raise BadLineError(min(empty))
    cells = {name: [row[header.index(name)] for row in rows] for name in header if name}
    features = {
        name: [number(cell) for cell in cells[name]]
        for name, column in columns.items()
        if column.numeric or name == label
    }
    return Twin(groups, cells, features, label, roles["id"], roles["text"])


def split(data: bytes, delimiter: str) -> tuple[list[list[str]], list[int], int | None]:
    """Rows, their lines, and the line of the first row that is not quoted as in CSV."""
    rows: list[list[str]] = []
    lines: list[int] = []
    if not data.split(b"\n")[0].strip():
        raise BadLineError(1 if data else None)
    data.decode()
    reader = csv.reader(io.StringIO(data.decode(), newline="\n"), delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        return rows, lines, line
    return rows, lines, None
