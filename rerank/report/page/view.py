"""The results as all sections of a page see them: names, numbers, and the systems that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from rerank.core.types import Floats
from rerank.evaluation.by_list import gains
from rerank.evaluation.judged import Judged
from rerank.evaluation.results import FIRST_BEST, MetricResults
from rerank.report.page.drawing import Pen
from rerank.report.page.parts import Figure, Key, ends, number

DRAWN = 8  # systems of a figure
COMPARED = 3  # systems whose differences from the baseline are drawn list by list: a row of a wide page


@dataclass(frozen=True, eq=False)
class View:
    """Results and the pen of the page."""

    results: Judged
    pen: Pen

    @property
    def baseline(self) -> str | None:
        """What systems are drawn against: a row or "first_best"."""
        return self.results.baseline

    @cached_property
    def drawn(self) -> list[str]:
        """The systems of figures, in the order of the results: the baseline and the best of the others."""
        kept = self.ordered[:DRAWN]
        return [name for name in self.results.runs if name in kept]

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
        """Return the colour and marker of a drawn system."""
        return self.drawn.index(system)

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
    return Figure(Markup(svg), title, caption, keys)


def beside(n: int, i: int, of: int, step: float) -> Floats:
    """Return the places of line ``i`` of several that share n points and would hide each other: (n)."""
    places: Floats = np.arange(n, dtype=np.float64) + step * (i - (of - 1) / 2)
    return places


def typed(metric: MetricResults) -> str:
    """Return a metric's name, with its direction if a smaller value is better."""
    return metric.typed + ("" if metric.better > 0 else " (lower is better)")


def described(name: str, value: float | None, ci: tuple[float, float] | None, digits: int) -> str:
    """Return a system's value and interval in words."""
    interval = "" if ci is None else f" ({ends(ci, digits)})"
    return f"{label(name)} {number(value, digits)}{interval}"
