"""Columns of a table: the role of each, and whether it is one of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rerank.core.errors import ConfigError, FormatError
from rerank.core.registry import did_you_mean
from rerank.data.column_roles import CLASSES, ITEM_NAMES, LISTS, note_resembling, resembled, spells_number
from rerank.formats.base import ReadOptions
from rerank.formats.common import first_repeated, not_a_number, note, quoted
from rerank.native.data._number import parse

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


@dataclass
class Numbers:
    """What is known of a column of numbers; its first cell that is not blank decides whether it is one.

    Attributes
    ----------
    name, place : its name, and its position in a row.
    empty_line : the first line whose cell is blank, 0 = none.
    is_numeric : whether a cell was a number.
    text : the cell that makes it a column of something else.
    """

    name: str
    place: int
    empty_line: int = 0
    is_numeric: bool = False
    text: Fault | None = None

    def examine(self, cell: bytes, line: int) -> Fault | None:
        """Look at a cell of a line; return a fault if it is not a number where others are."""
        token = cell.strip()
        value = parse(token) if token else 0.0
        if self.text is not None or (value is not None and not math.isinf(value)):
            return None
        found, expected = not_a_number(token, f"column {quoted(self.name)} with")
        fault = line, found, "a finite number or an empty cell"
        damaged = not token.strip(b"\0 ")
        if damaged or self.is_numeric or expected == "a finite number" or spells_number(token.decode()):
            return fault
        self.text = fault
        return None
