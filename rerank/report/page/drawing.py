"""The kinds of charts of the page: lines, intervals by row, sorted differences, ranks.

Charts have no legends: the page writes them below, where they cover nothing and are broken into lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rerank.core.errors import printable
from rerank.core.figures import name_axes, svg_of
from rerank.core.text import short_names
from rerank.core.types import Floats
from rerank.report.page.inline import FAINT, GAIN, GRID, INK, LOSS, SERIES, SETTINGS, SOFT, inlined

MARKERS = "os^vDXp*"
_WIDTH, _HEIGHT = 4.6, 3.0  # inches
_ROW = 0.215  # inches of a row of a chart of intervals
_LONGEST = 26  # characters of a name beside a row
_MARKS = 40  # of a line
_BAR = 4.0  # points, the width of a bar
_BARS = 12  # points of a line whose intervals are bars; those of more are a band


@dataclass(frozen=True, eq=False)
class Series:
    """A line of a chart.

    Attributes
    ----------
    name : str
    x, y : float64 (n)
        NaN leaves a gap.
    look : int
        Its colour and marker from 0; -1, -2 and -3 are the references, grey lines without markers.
    low, high : float64 (n), optional
        Ends of the intervals.
    dashed : bool
    bars : bool
        Whether the points stand on bars from 0 instead of being joined; they are whole numbers.
    names : sequence of str
        What the points are called, by default their x.
    """

    name: str
    x: Floats
    y: Floats
    look: int
    low: Floats | None = None
    high: Floats | None = None
    dashed: bool = False
    bars: bool = False
    names: Sequence[str] = ()


@dataclass(frozen=True)
class Interval:
    """A row of a chart of intervals; ``low`` and ``high`` are its ends."""

    name: str
    value: float
    low: float
    high: float
    look: int
    tip: str


@dataclass
class Pen:
    """Draws the figures of one page, numbered from 1."""

    drawn: int = field(default=0)

    def _inlined(
        self,
        alt: str,
        draw: Callable[[Any], Mapping[str, Sequence[str]]],
        size: tuple[float, float] = (_WIDTH, _HEIGHT),
    ) -> str:
        tips: dict[str, Sequence[str]] = {}
        svg = svg_of(lambda axes: tips.update(draw(axes)), size, SETTINGS)
        self.drawn += 1
        return inlined(svg, f"f{self.drawn}", alt, tips)

    def lines(
        self,
        alt: str,
        series: Sequence[Series],
        *,
        x_label: str,
        y_label: str,
        number: Callable[[float], str],
        ticks: Sequence[tuple[float, str]] | None = None,
        log_x: bool = False,
        zero: bool = False,
    ) -> str:
        """Return lines with intervals.

        Parameters
        ----------
        alt : the figure in words.
        series : the lines, drawn in this order.
        x_label, y_label : texts, as they are.
        number : how a value is written.
        ticks : places on the x axis and their texts; otherwise whole numbers.
        log_x : whether the x axis is logarithmic.
        zero : whether y = 0 is drawn.
        """

        def draw(axes: Any) -> dict[str, Sequence[str]]:
            if log_x:
                axes.set_xscale("log")
            if zero:
                axes.axhline(0.0, color=FAINT, linewidth=0.8)
            tips: dict[str, Sequence[str]] = {}
            for i, one in enumerate(series):
                tips |= _draw_line(axes, i, one, number)
            if any(one.bars for one in series):
                axes.yaxis.get_major_locator().set_params(integer=True)
            if ticks is None:
                axes.xaxis.get_major_locator().set_params(integer=True)
            else:
                labels = [text for _, text in ticks]
                axes.set_xticks([place for place, _ in ticks], labels, parse_math=False)
                axes.minorticks_off()
            name_axes(axes, "", x_label, y_label)
            return tips

        return self._inlined(alt, draw)

    def intervals(
        self, alt: str, rows: Sequence[Interval], *, x_label: str, line: float | None = None
    ) -> str:
        """Return points with intervals, a row for each, the first on top; ``line`` is a vertical one."""

        def draw(axes: Any) -> dict[str, Sequence[str]]:
            if line is not None:
                axes.axvline(line, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)))
            tips: dict[str, Sequence[str]] = {}
            low, high = [row.low for row in rows], [row.high for row in rows]
            axes.hlines(
                range(len(rows)), low, high, colors=[_colour(row.look) for row in rows], linewidth=1.4
            )
            for i, row in enumerate(rows):
                colour = _colour(row.look)
                axes.plot(
                    [row.value], [i], marker=_marker(row.look), markersize=5, color=colour, gid=f"tip{i}"
                )
                tips[f"tip{i}"] = [row.tip]
            names = [_short(name) for name in short_names([row.name for row in rows])]
            axes.set_yticks(range(len(rows)), names, parse_math=False)
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(visible=False, axis="y")
            name_axes(axes, "", x_label, "")
            return tips

        return self._inlined(alt, draw, (_WIDTH, max(1.2, 0.65 + _ROW * len(rows))))

    def differences(
        self, alt: str, places: Floats, values: Floats, tips: Sequence[str], *, y_label: str
    ) -> str:
        """Return the differences of lists as areas: gains point up, losses down.

        Parameters
        ----------
        alt : the figure in words.
        places : float64 (n), from 1, rising.
        values : float64 (n), the largest first.
        tips : the text of each list.
        y_label : text, as it is.
        """

        def draw(axes: Any) -> dict[str, Sequence[str]]:
            found: dict[str, Sequence[str]] = {}
            axes.axhline(0.0, color=FAINT, linewidth=0.8)
            for name, which, colour, marker in (
                ("up", values > 0, GAIN, "^"),
                ("same", values == 0, FAINT, "."),
                ("down", values < 0, LOSS, "v"),
            ):
                if not which.any():
                    continue
                x, y = places[which], values[which]
                # Half a list more at both ends: a single list would have no width.
                wide = np.concatenate((x[:1] - 0.5, x, x[-1:] + 0.5))
                high = np.concatenate((y[:1], y, y[-1:]))
                axes.fill_between(wide, high, step="mid", color=colour, alpha=0.25, linewidth=0)
                look = {"marker": marker, "markersize": 3.2, "linestyle": "none", "color": colour}
                axes.plot(x, y, gid=name, **look)
                found[name] = [text for text, shown in zip(tips, which, strict=True) if shown]
            axes.set_xlim(0.0, places[-1] + 1.0)
            name_axes(axes, "", "lists, sorted by their difference", y_label)
            return found

        return self._inlined(alt, draw)

    def ranks(
        self, alt: str, ranks: Sequence[tuple[str, float]], critical: float, groups: Sequence[Sequence[str]]
    ) -> str:
        """Return mean ranks as a critical-difference diagram, the best system first.

        Parameters
        ----------
        alt : the figure in words.
        ranks : systems with their mean ranks, rising.
        critical : the critical difference.
        groups : systems that do not differ significantly, two or more in each.
        """
        n, bars = len(ranks), len(groups)

        def draw(axes: Any) -> dict[str, Sequence[str]]:
            tips: dict[str, Sequence[str]] = {}
            at = dict(ranks)
            top = max(n, int(np.ceil(ranks[-1][1])))
            axes.hlines(-1.1, 1, min(1 + critical, top), color=INK, linewidth=1.4)
            axes.text(
                1, -1.35, f"critical difference {critical:.2f}", fontsize=8, va="bottom", parse_math=False
            )
            for i, (name, rank) in enumerate(ranks):
                colour = _colour(i % len(SERIES))
                axes.vlines(rank, 0, i + 1, color=GRID, linewidth=0.8)
                look = {"marker": _marker(i % len(SERIES)), "markersize": 5, "color": colour}
                axes.plot([rank], [i + 1], gid=f"tip{i}", **look)
                tips[f"tip{i}"] = [f"{name}: mean rank {rank:.2f}"]
                left = rank > (1 + top) / 2
                axes.annotate(
                    _short(name),
                    (rank, i + 1),
                    xytext=(-7 if left else 7, 0),
                    textcoords="offset points",
                    ha="right" if left else "left",
                    va="center",
                    parse_math=False,
                )
            for i, group in enumerate(groups):
                places = [at[name] for name in group]
                axes.hlines(n + 1.3 + 0.6 * i, min(places) - 0.03, max(places) + 0.03, color=INK, linewidth=3)
            axes.set_xlim(0.8, top + 0.2)
            axes.set_xticks(range(1, top + 1))
            axes.set_ylim(n + 1.6 + 0.6 * bars, -2.6)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            name_axes(axes, "", "mean rank (1 is best)", "")
            return tips

        return self._inlined(alt, draw, (_WIDTH, 1.3 + 0.24 * n + 0.15 * bars))


def _draw_line(axes: Any, i: int, one: Series, number: Callable[[float], str]) -> dict[str, Sequence[str]]:
    """Draw a line, its intervals as a band and its marks; return the texts of the marks."""
    colour, known = _colour(one.look), np.flatnonzero(np.isfinite(one.y))
    if one.low is not None and one.high is not None:
        if len(known) > _BARS:
            axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.13, linewidth=0)
        else:
            axes.vlines(one.x[known], one.low[known], one.high[known], color=colour, linewidth=1.1)
    if one.bars:
        axes.vlines(one.x, 0.0, one.y, color=colour, linewidth=_BAR)
    else:
        dashes = _REFERENCES[one.look] if one.look < 0 else (0, (5, 2)) if one.dashed else "-"
        axes.plot(one.x, one.y, color=colour, linewidth=1.5 if one.look >= 0 else 1.2, linestyle=dashes)
    if len(known) == 0:
        return {}
    shown = known[np.unique(np.linspace(0, len(known) - 1, min(_MARKS, len(known))).astype(int))]
    size = 4.5 if len(shown) < 20 else 3.0
    look = {"marker": _marker(one.look), "markersize": size if one.look >= 0 else 2.5, "linestyle": "none"}
    axes.plot(one.x[shown], one.y[shown], color=colour, gid=f"line{i}", **look)
    texts = []
    for j in shown:
        ends = ""
        if one.low is not None and one.high is not None and np.isfinite([one.low[j], one.high[j]]).all():
            ends = f" ({number(one.low[j])} to {number(one.high[j])})"
        name = one.names[j] if one.names else f"{one.x[j]:g}"
        texts.append(f"{one.name}, {name}: {number(one.y[j])}{ends}")
    return {f"line{i}": texts}


_REFERENCES = {-1: (0, (6, 2)), -2: (0, (1, 2)), -3: (0, (6, 2, 1, 2))}


def _colour(look: int) -> str:
    return SOFT if look < 0 else SERIES[look % len(SERIES)]


def _marker(look: int) -> str:
    return "." if look < 0 else MARKERS[look % len(MARKERS)]


def _short(name: str) -> str:
    """A name beside a row, cut in the middle if it is long."""
    text = printable(name)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 11]}...{text[-8:]}"
