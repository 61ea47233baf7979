"""Shared input of the sections of a page: results with names and numbers, and the template's values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rerank.core.tables.table import Row, Table
from rerank.core.types import Floats
from rerank.evaluation.by_list import gains
from rerank.evaluation.judged import Judged
from rerank.evaluation.results import FIRST_BEST, MetricResults
from rerank.report.page.drawing import Pen

MINUS = "−"
DRAWN = 8  # systems of a figure
COMPARED = 3  # systems whose differences from the baseline are drawn list by list: a row of a wide page


@dataclass(frozen=True)
class Key:
    """An entry of a legend; ``look`` and ``dashed`` as in ``drawing.Series``."""

    name: str
    look: int
    dashed: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure with the caption and the legend below it."""

    svg: str  # marked as safe for the template
    title: str
    caption: str
    keys: Sequence[Key] = ()


class Cell(NamedTuple):
    """A cell of a table: its text, the number by which it is sorted, and its class of styles."""

    text: str
    key: str
    style: str


def cells_of(table: Table, row: Row) -> list[Cell]:
    """Return the cells of a row but its name; the best and the significant ones are bold."""
    cells = []
    for j, column in enumerate(table.columns[1:], 1):
        text, value = table.text(row, j), row.cells[j]
        if column.order is not None and value is not None and value != "":
            value = column.order(value)
        first = value[0] if isinstance(value, tuple) else value
        known = isinstance(first, int | float | np.integer) and math.isfinite(first)
        strong = not row.reference and (text in table.best(j) or table.starred(row, j, "paper"))
        style = "strong" if strong else "word" if column.left else ""
        cells.append(Cell(text, repr(float(first)) if known else "", style))
    return cells


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
    """Choice of a system in a list: its value, its first candidates, and the place of the best one."""

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
    return (f"{value:+z.{digits}f}" if signed else f"{value:z.{digits}f}").replace("-", MINUS)


def ends(ci: tuple[float, float] | None, digits: int, *, signed: bool = False) -> str:
    """Return an interval in words, a dash if there is none."""
    if ci is None:
        return "–"
    low, high = (number(end, digits, signed=signed) for end in ci)
    return f"{low} to {high}"


@dataclass(frozen=True, eq=False)
class View:
    """Results and the pen of the page."""

    results: Judged
    pen: Pen

    @property
    def baseline(self) -> str | None:
        """Return the system that others are drawn against: a row or "first_best"."""
        return self.results.baseline

    @cached_property
    def drawn(self) -> list[str]:
        """The systems of figures, in the order of the results: the baseline and the best of the others."""
        return [name for name in self.results.runs if name in self.ordered[:DRAWN]]

    @cached_property
    def ordered(self) -> list[str]:
        """All systems: the baseline, then the others by the first metric, the best first."""
        return [*([str(self.baseline)] if self.baseline in self.results.runs else []), *self._best_first()]

    @cached_property
    def compared(self) -> list[str]:
        """The best systems but the baseline; none without a baseline."""
        return [] if self.baseline is None else self._best_first()[:COMPARED]

    def _best_first(self) -> list[str]:
        """Systems but the baseline by the first metric, those without a value last."""
        first = next(iter(self.results.metrics.values()))
        values = {name: self.value(first, name) for name in self.results.runs if name != self.baseline}
        return sorted(values, key=lambda name: np.nan_to_num(-first.better * values[name], nan=np.inf))

    def value(self, metric: MetricResults, system: str) -> float:
        """Return the value of a row, or of first-best, at the share that rows are compared at."""
        if system == FIRST_BEST:
            return float("nan") if metric.first_best is None else metric.first_best
        return metric.rows[system][self.results.fraction].value

    def gains(self, metric: str, system: str) -> Floats:
        """Return the gain over the baseline on each list, float64 (n_lists of all parts)."""
        assert self.baseline is not None
        return gains(self.results, metric, system, self.baseline)

    def look(self, system: str) -> int:
        """Return the colour and marker of a drawn system; 1 is the baseline's in all figures."""
        if system == self.baseline:
            return 1
        place = [name for name in self.drawn if name != self.baseline].index(system)
        return place + (place > 0 and self.baseline in self.drawn)

    def key(self, system: str) -> Key:
        """Return the legend's entry of a drawn system."""
        more = ", baseline" if system == self.baseline else ""
        return Key(f"{label(system)}{more}", self.look(system))

    def some_drawn(self) -> str:
        """Return a sentence if not all systems are drawn."""
        return only(len(self.drawn), len(self.results.runs))

    def some_compared(self, verb: str = "shown") -> str:
        """Return a sentence if not all systems are compared list by list."""
        return only(len(self.compared), len(self._best_first()), verb)

    def percent(self) -> str:
        """Return the level of the intervals."""
        return f"{100 * self.results.judging.level:.6g} %"


def only(kept: int, n: int, verb: str = "shown") -> str:
    """Return a sentence if not all of n systems are shown."""
    return f" The {kept} best of {n} systems are {verb}." if kept < n else ""


def label(system: str) -> str:
    """Return a system's name as readers see it."""
    return "first-best" if system == FIRST_BEST else system


def figure(svg: str, title: str, caption: str, keys: Sequence[Key] = ()) -> Figure:
    """Return a figure of an SVG element that this package has drawn."""
    from markupsafe import Markup  # of the extra 'report': this module is imported without it

    return Figure(Markup(svg), title, caption, keys)  # noqa: S704


def beside(n: int, i: int, of: int, step: float) -> Floats:
    """Return the places of line ``i`` of several that share n points and would hide each other: (n)."""
    places: Floats = np.arange(n, dtype=np.float64) + step * (i - (of - 1) / 2)
    return places


def typed(metric: MetricResults) -> str:
    """Return a metric's name, with its direction if a smaller value is better."""
    return metric.typed + ("" if metric.better > 0 else " (lower is better)")


def described(name: str, value: float | None, ci: tuple[float, float] | None, digits: int) -> str:
    """Return a system's value and interval in words."""
    return f"{label(name)} {number(value, digits)}" + ("" if ci is None else f" ({ends(ci, digits)})")
