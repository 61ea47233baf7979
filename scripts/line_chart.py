"""Curves with error bars for the figures of papers: the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rerank.core.figures import name_axes, svg_of
from rerank.core.files.write import atomic_write
from rerank.core.types import Floats

MARKERS = "os^vDX*p"


class Curve(NamedTuple):
    """A named curve: float64 (n) each, and half the length of the error bars."""

    name: str
    x: Floats
    y: Floats
    error: Floats | None = None


def line_chart(
    path: Path, curves: Sequence[Curve], *, x_label: str, y_label: str, title: str = "", log_y: bool = False
) -> None:
    """Write the curves with a legend as SVG."""

    def draw(axes: Any) -> None:
        if log_y:
            axes.set_yscale("log", nonpositive="clip")
        for i, (name, x, y, error) in enumerate(curves):
            marker = MARKERS[i % len(MARKERS)]
            axes.errorbar(x, y, yerr=error, marker=marker, markersize=4, linewidth=1.2, capsize=2, label=name)
        name_axes(axes, title, x_label, y_label)
        axes.legend(fontsize=8)

    with atomic_write(str(path)) as file:
        file.write(svg_of(draw, (6.4, 4.8)))
