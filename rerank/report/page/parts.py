"""What the page's template is given: sections of figures, tables and lists, all of them plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

MINUS = "−"


@dataclass(frozen=True)
class Key:
    """An entry of a legend; ``look`` and ``dashed`` as in ``drawing.Series``."""

    name: str
    look: int
    dashed: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure with the caption and the legend below it."""

    svg: Markup
    title: str
    caption: str
    keys: Sequence[Key] = ()


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, and the number by which it is sorted; ``word`` if it is none."""

    text: str
    key: float | None = None
    strong: bool = False
    word: bool = False

    @property
    def sorted_by(self) -> str:
        """The number for the script: empty if there is none."""
        return "" if self.key is None or not math.isfinite(self.key) else repr(float(self.key))


@dataclass(frozen=True)
class Row:
    """A row of a table; ``note`` marks the baseline."""

    name: str
    cells: Sequence[Cell]
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The head of a column; ``help`` explains it, ``word`` if its cells are words."""

    text: str
    help: str = ""
    word: bool = False


@dataclass(frozen=True)
class Table:
    """A table that can be sorted; ``references`` are rows above it that stay in place."""

    caption: str
    first: str
    heads: Sequence[Head]
    rows: Sequence[Row]
    references: Sequence[Row] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Piece:
    """A run of words; ``changed`` if the other choice does not have it."""

    text: str
    changed: bool


@dataclass(frozen=True)
class Candidate:
    """A candidate that a system chose or ranked: its text or id, and its label."""

    pieces: Sequence[Piece]
    label: str
    rank: int


@dataclass(frozen=True)
class Choice:
    """What a system made of a list: its value, its first candidates, and the place of the best one."""

    system: str
    value: str
    candidates: Sequence[Candidate]
    best: str


@dataclass(frozen=True)
class ListCard:
    """A list with the choices of two systems."""

    name: str
    gain: str
    prompt: str
    references: Sequence[str]
    choices: Sequence[Choice]


@dataclass(frozen=True)
class Cards:
    """Lists that a system gained or lost most on."""

    title: str
    cards: Sequence[ListCard]
    opened: bool = False


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    lead: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    cards: Sequence[Cards] = ()


@dataclass
class Set:
    """The sections of one set of results."""

    name: str
    facts: Sequence[str]
    sections: list[Section] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()


def number(value: float | None, digits: int, *, signed: bool = False) -> str:
    """Return a value with so many decimals and a typographic minus, a dash if there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:+z.{digits}f}" if signed else f"{value:z.{digits}f}"
    return text.replace("-", MINUS)


def ends(ci: tuple[float, float] | None, digits: int, *, signed: bool = False) -> str:
    """Return an interval in words, a dash if there is none."""
    if ci is None:
        return "–"
    low, high = (number(end, digits, signed=signed) for end in ci)
    return f"{low} to {high}"
