"""Columns of a table: the role of each, and numbers from their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.data.types import Floats
from rerank.errors import ConfigError, FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.common import not_a_number, note, quoted
from rerank.formats.table.source import Rows
from rerank.native.formats._table import parse_cells
from rerank.registry import did_you_mean

# Names by which a column is found if the options name none; the first that the header has.
KNOWN = {
    "list_column": ("qid", "list", "list_id", "query", "query_id", "target"),
    "label_column": ("label",),
    "id_column": ("id", "item_id"),
    "text_column": ("text",),
}

Fault = tuple[int, str, str]  # line, found, expected


@dataclass
class Roles:
    """The positions of columns in a row."""

    lists: int
    label: int | None
    id: int | None
    text: int | None
    features: list[int]
    nameless: int  # columns whose name is empty, such as the index that pandas writes


def roles_of(header: Sequence[str], options: ReadOptions, source: str) -> Roles:
    """Return the role of each column and report those found by their names.

    Raises FormatError if the header names a column twice, ConfigError if a column is absent.
    """
    place: dict[str, int] = {}
    for j, name in enumerate(header):
        if name in place and name:
            raise FormatError(source, 1, f"two columns {quoted(name)}", "each column once")
        place[name] = j
    place.pop("", None)
    given = {option: getattr(options, option) for option in KNOWN}
    for option, name in given.items():
        if name is not None and name not in place:
            flag = option.replace("_", "-")
            raise ConfigError(f"{source}: no column {name!r} (--{flag}); {did_you_mean(name, place)}")
    taken = {name: option for option, name in given.items() if name is not None}
    if len(taken) < sum(name is not None for name in given.values()):
        raise ConfigError(f"{source}: one column cannot be two of {', '.join(KNOWN)}")
    guessed = []
    for option, names in KNOWN.items():
        if given[option] is None:
            found = next((name for name in names if name in place and name not in taken), None)
            given[option] = found
            if found is not None:
                taken[found] = option
                guessed.append(f"{option}={found}")
    if given["list_column"] is None:
        known = ", ".join(KNOWN["list_column"])
        raise FormatError(
            source, 1, f"no column named {known}", "the name of the list's column by --list-column"
        )
    if guessed:
        note(f"{source}: by the header, {', '.join(guessed)}")
    label, item_id, text = (place.get(given[option] or "") for option in list(KNOWN)[1:])
    features = [j for name, j in place.items() if name not in taken]
    nameless = sum(not name for name in header)
    return Roles(place[given["list_column"]], label, item_id, text, features, nameless)


class Numbers:
    """A column of numbers that grows; its first cell that is not blank decides whether it is one."""

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place
        self.empty_line = 0  # the first line whose cell is blank
        self.is_numeric = False
        self.blocks: list[Floats] = []
        self.text: Fault | None = None  # the cell that makes it a column of something else

    def add(self, rows: Rows) -> Fault | None:
        """Add the cells of further rows; return the first that is not a number if others are."""
        if self.text is not None:
            return None
        values = np.empty(len(rows.lines))
        bad = parse_cells(rows.text, rows.spans[:, self.place], values)
        blank = np.isnan(values if bad < 0 else values[:bad])
        self.is_numeric |= not blank.all()
        if bad >= 0:
            token = rows.cell(bad, self.place).strip()
            found, expected = not_a_number(token, f"column {quoted(self.name)} with")
            fault = int(rows.lines[bad]), found, "a finite number or an empty cell"
            if self.is_numeric or expected == "a finite number":
                return fault
            self.text = fault
            self.blocks = []
            return None
        if not self.empty_line and blank.any():
            self.empty_line = int(rows.lines[np.argmax(blank)])
        self.blocks.append(values)
        return None

    def values(self) -> Floats:
        """Return the whole column, NaN for blank cells, and forget it."""
        blocks, self.blocks = self.blocks, []
        return np.concatenate(blocks)
