"""A slow reader of tables, cell by cell, written to be obviously right."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass

LISTS = ("qid", "list", "list_id", "query", "query_id", "target")
OTHERS = {
    "label": ("label", "is_correct", "correct", "passed", "relevance", "GDT_TS"),
    "id": ("id", "item_id", "docid", "doc_id", "docno"),
    "text": ("text", "generated_text", "completion", "response"),
}


BLANKS = " \t\r\n\v\f"


class BadTableError(Exception):
    """A fault; ``line`` counts from 1, None = the whole file."""

    def __init__(self, line: int | None) -> None:
        super().__init__(line)
        self.line = line


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


def is_meant(cells: list[str]) -> bool:
    """Whether a column's first cell that is not empty is no number, but spells one, or most others are."""
    given = [cell.strip(BLANKS) for cell in cells if cell.strip(BLANKS)]
    while given and not any(cell and number(cell) is None for cell in given[:1]):
        given.pop(0)
    numbers = sum(number(cell) is not None for cell in given[:1000])
    return bool(given) and (
        2 * numbers > len(given[:1000]) or re.fullmatch(r"\d+[_,]\d+", given[0]) is not None
    )


def is_feature(cells: list[str]) -> bool:
    """Whether the first cell that is not empty is a number, or would be one were it finite."""
    first = next((cell.strip(BLANKS) for cell in cells if cell.strip(BLANKS)), None)
    if first is None or not first.isascii() or "_" in first:
        return False
    try:
        float(first)
    except ValueError:
        return False
    return True


def read(data: bytes, delimiter: str, nan: bool) -> Twin:
    """The columns of a table; BadTableError at any fault (of several, one of them)."""
    rows, lines = split(data.removeprefix(b"\xef\xbb\xbf"), delimiter)
    if not rows:
        raise BadTableError(None)
    header = rows.pop(0)
    lines.pop(0)
    named = [name for name in header if name]
    if len(set(named)) < len(named):
        raise BadTableError(1)
    roles = {}
    for role, names in {"list": LISTS, **OTHERS}.items():
        roles[role] = next((name for name in names if name in named), None)
    if roles["list"] is None:
        raise BadTableError(1)
    if not rows:
        raise BadTableError(None)
    cells = {name: [row[header.index(name)] for row in rows] for name in named}
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(cells[roles["list"]]):
        if not name:
            raise BadTableError(lines[i])
        groups.setdefault(name, []).append(i)
    features = {}
    for name in named:
        if name not in roles.values() and is_meant(cells[name]):
            raise BadTableError(None)
        if name == roles["label"] or (name not in roles.values() and is_feature(cells[name])):
            values = [number(cell) for cell in cells[name]]
            if None in values:
                raise BadTableError(lines[values.index(None)])
            features[name] = values
            empty = [line for line, value in zip(lines, values, strict=True) if math.isnan(value)]
            if empty and not nan and name != roles["label"]:
                raise BadTableError(empty[0])
    return Twin(groups, cells, features, roles["label"], roles["id"], roles["text"])


def split(data: bytes, delimiter: str) -> tuple[list[list[str]], list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            line.decode()
        except UnicodeDecodeError:
            raise BadTableError(number) from None
    reader = csv.reader(io.StringIO(data.decode(), newline="\n"), delimiter=delimiter, strict=True)
    if not data.split(b"\n")[0].strip():
        raise BadTableError(1 if data else None)
    line = 1
    try:
        for row in reader:
            if row:
                if rows and len(row) != len(rows[0]):
                    raise BadTableError(line)
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error:
        raise BadTableError(line) from None
    return rows, lines
