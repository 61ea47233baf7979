"""Columns of a table: the role of each, and numbers from their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.data.roles import CLASSES, ITEM_NAMES, LISTS, note_resembling, resembled, spells_number
from rerank.data.types import Floats
from rerank.errors import ConfigError, FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.common import first_repeated, not_a_number, note, quoted
from rerank.formats.table.source import Rows
from rerank.native.data._number import parse
from rerank.native.formats._table import parse_cells
from rerank.registry import did_you_mean

# Names by which a column is found if the options name none; the first that the header has.
KNOWN = {
    "list_column": LISTS,
    "label_column": ITEM_NAMES["label"],
    "id_column": ITEM_NAMES["id"],
    "text_column": ITEM_NAMES["text"],
    "answer_column": ITEM_NAMES["answer"],
}

# The same for lists of examples: a target is a class there.
KNOWN_OF_CLASSES = KNOWN | {
    "list_column": tuple(name for name in LISTS if name not in CLASSES),
    "label_column": CLASSES,
}

_LOOKED_AT = 1000

Fault = tuple[int, str, str]  # line, found, expected


@dataclass
class Roles:
    """The positions of columns in a row."""

    lists: int | None
    label: int | None
    id: int | None
    text: int | None
    answer: int | None
    features: list[int]
    left: list[str]  # other names of a role, and columns without a name, such as the index that pandas writes


def roles_of(header: Sequence[str], options: ReadOptions, source: str) -> Roles:
    """Return the role of each column and report those found by their names.

    Raises FormatError if the header names a column twice, ConfigError if a column is absent.
    """
    known = KNOWN_OF_CLASSES if options.classes else KNOWN
    place = {name: j for j, name in enumerate(header) if name}
    nameless = sum(not name for name in header)
    twice = first_repeated(filter(None, header))
    if twice is not None:
        name = list(filter(None, header))[twice]
        raise FormatError(source, 1, f"two columns {quoted(name)}", "each column once")
    given = {option: getattr(options, option) for option in KNOWN if getattr(options, option) is not None}
    for option, name in given.items():
        if name not in place:
            flag = option.replace("_", "-")
            raise ConfigError(f"{source}: no column {name!r} (--{flag}); {did_you_mean(name, place)}")
    if len(set(given.values())) < len(given):
        raise ConfigError(f"{source}: one column cannot be two of {', '.join(KNOWN)}")
    free = [name for name in place if name not in given.values()]
    found = {option: next((name for name in names if name in free), "") for option, names in known.items()}
    found = {option: name for option, name in found.items() if name and option not in given}
    chosen = {**given, **found}
    if "list_column" not in chosen and not options.classes:
        near = next((f" (is it {quoted(name)}?)" for name in free[:1000] if resembled(name, LISTS)), "")
        expected = f"the name of the list's column by --list-column{near}"
        raise FormatError(source, 1, f"no column named {', '.join(LISTS)}", expected)
    if found:
        note(f"{source}: by the header, {', '.join(f'{option}={name}' for option, name in found.items())}")
    spare = {name for names in known.values() for name in names}
    rest = [name for name in free if name not in found.values()]
    note_resembling(source, (name for name in rest if name not in spare), known["list_column"])
    left = [quoted(name) for name in rest if name in spare] + ["one without a name"] * nameless
    features = [place[name] for name in rest if name not in spare]
    lists, label, item_id, text, answer = (place.get(chosen.get(option, "")) for option in KNOWN)
    return Roles(lists, label, item_id, text, answer, features, left)


class Numbers:
    """A column of numbers that grows; its first cell that is not blank decides whether it is one."""

    def __init__(self, name: str, place: int) -> None:
        self.name = name
        self.place = place
        self.empty_line = 0  # the first line whose cell is blank
        self.is_numeric = False
        self.blocks: list[Floats] = []
        self.text: Fault | None = None  # the cell that makes it a column of something else
        self.looked_at = self.numbers = 0  # cells from that one on

    def add(self, rows: Rows) -> Fault | None:
        """Add the cells of further rows; return the first that is not a number if others are."""
        if self.text is not None:
            self._look(rows, 0)
            return None
        values = np.empty(len(rows.lines))
        bad = parse_cells(rows.text, rows.spans[:, self.place], values)
        blank = np.isnan(values if bad < 0 else values[:bad])
        self.is_numeric |= not blank.all()
        if bad >= 0:
            token = rows.cell(bad, self.place).strip()
            found, expected = not_a_number(token, f"column {quoted(self.name)} with")
            fault = int(rows.lines[bad]), found, "a finite number or an empty cell"
            if self.is_numeric or expected == "a finite number" or spells_number(token.decode()):
                return fault
            self.text = fault
            self.blocks = []
            self._look(rows, bad)
            return None
        if not self.empty_line and blank.any():
            self.empty_line = int(rows.lines[np.argmax(blank)])
        self.blocks.append(values)
        return None

    def _look(self, rows: Rows, start: int) -> None:
        """Count the numbers among the first cells from the one that makes it another column."""
        for row in range(start, len(rows.lines)):
            if self.looked_at == _LOOKED_AT:
                return
            cell = rows.cell(row, self.place).strip()
            self.looked_at += bool(cell)
            self.numbers += parse(cell) is not None

    def doubt(self) -> Fault | None:
        """Return the cell that makes it another column if most of the next ones are numbers (NA, 1, 2)."""
        return self.text if 2 * self.numbers > self.looked_at else None

    def values(self) -> Floats:
        """Return the whole column, NaN for blank cells, and forget it."""
        blocks, self.blocks = self.blocks, []
        return np.concatenate(blocks)
