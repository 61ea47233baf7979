"""Columns of a table: which is what, and numbers out of their cells."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rerank.data.types import Floats
from rerank.errors import ConfigError, DataNote, FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.common import quoted
from rerank.native.data._number import parse
from rerank.registry import did_you_mean

# Names that are taken for a column where the options name none, first come first.
KNOWN = {
    "list_column": ("qid", "list", "list_id", "query", "query_id", "target"),
    "label_column": ("label",),
    "id_column": ("id", "item_id"),
    "text_column": ("text",),
}
_BLANKS = " \t\r\n\v\f"  # what float() passes over in ASCII
_NOT_FINITE = ("nan", "inf", "infinity")


@dataclass
class Roles:
    """The places of columns in a row."""

    lists: int
    label: int | None
    id: int | None
    text: int | None
    features: list[int]
    nameless: int  # columns whose name is empty, such as the index that pandas writes


def roles_of(header: Sequence[str], options: ReadOptions, source: str) -> Roles:
    """What each column is; names that were guessed are said in a DataNote.

    Raises FormatError for a header that names a column twice, ConfigError for columns that are not there.
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
        warnings.warn(f"{source}: by the header, {', '.join(guessed)}", DataNote, stacklevel=3)
    label, item_id, text = (place.get(given[option] or "") for option in list(KNOWN)[1:])
    features = [j for name, j in place.items() if name not in taken]
    nameless = sum(not name for name in header)
    return Roles(place[given["list_column"]], label, item_id, text, features, nameless)


class Numbers:
    """A column of numbers that grows; its first cell that is not empty says whether it is one."""

    def __init__(self, source: str, name: str) -> None:
        self.source = source
        self.name = name
        self.empty_line = 0  # the first line whose cell is empty
        self.is_numeric = False
        self.is_other = False
        self._other = (0, "")
        self._blocks: list[Floats] = []

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Cells of further rows. Raises FormatError where a column of numbers has another cell."""
        if self.is_other:
            return
        if self.is_numeric:
            block = _plain(cells)
            if block is not None:
                self._blocks.append(block)
                return
        self._blocks.append(np.empty(len(cells)))
        out = self._blocks[-1]
        for i, (cell, line) in enumerate(zip(cells, lines, strict=True)):
            text = cell.strip(_BLANKS)
            if not text:
                self.empty_line = self.empty_line or line
                out[i] = math.nan
                continue
            value = parse(text.encode())
            if value is None or math.isinf(value):
                if not self.is_numeric and value is None and text.lstrip("+-").lower() not in _NOT_FINITE:
                    self.is_other = True
                    self._other = (line, text)
                    self._blocks = []
                    return
                what = "too large for float64" if value is not None else ""
                found = f"{quoted(text)} in column {quoted(self.name)}"
                found += f", {what}" if what else ""
                raise FormatError(self.source, line, found, "a finite number or an empty cell")
            self.is_numeric = True
            out[i] = value

    def add_values(self, values: Floats, line: int) -> None:
        """Numbers of further rows, a line each from ``line`` on, NaN where cells are empty."""
        self._blocks.append(np.ascontiguousarray(values))
        if not self.empty_line:
            empty = np.isnan(values)
            if empty.any():
                self.empty_line = line + int(np.argmax(empty))

    def refuse_other(self) -> None:
        """Raise FormatError for the cell that is no number."""
        line, text = self._other
        found = f"{quoted(text)} in column {quoted(self.name)}"
        raise FormatError(self.source, line, found, "a finite number or an empty cell")

    def values(self) -> Floats:
        """The whole column, float64 (n_items), NaN where cells are empty; blocks are let go of."""
        blocks, self._blocks = self._blocks, []
        return np.concatenate(blocks)


def _plain(cells: Sequence[str]) -> Floats | None:
    """The numbers of cells that are all plain decimals; None where any may be something else.

    Python's float() takes more than a number of a file may be: nan, inf, 1_000, digits of other scripts.
    """
    try:
        out = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    joined = "".join(cells)
    return out if joined.isascii() and "_" not in joined and np.isfinite(out).all() else None
