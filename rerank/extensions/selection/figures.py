"""Figures of selection on the page: the metric over coverage, and reliability diagrams."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core.text import count
from rerank.report.page.drawing import Series
from rerank.report.page.parts import Key, Section, View, figure, number

_POINTS = 40  # of a curve


def coverage_section(found: Any, view: View) -> Section:
    """Return the metric by the share of lists on which the system is used, a line for each rule.

    found : Selective
    """
    metric = next(iter(found.judged.metrics.values()))
    lines, keys = [], []
    for look, (rule, curve) in enumerate(found.curves.items()):
        n = len(curve.values) - 1
        at = np.unique(np.linspace(0, n, min(_POINTS, n) + 1).astype(np.int64))
        shade = -3 if rule not in found.rules else look
        lines.append(Series(rule, at / n, curve.values[at], shade))
        keys.append(Key(rule, shade))
    ends = np.array([lines[-1].y[0], lines[-1].y[-1]])
    lines.append(Series("random", np.array([0.0, 1.0]), ends, -2))
    keys.append(Key("random", -2))
    said = "; ".join(f"{name} {number(curve.area, metric.digits)}" for name, curve in found.curves.items())
    svg = view.pen.lines(
        f"{metric.typed} by the share of lists that use the system; areas: {said}.",
        lines,
        x_label="share of the lists, the surest first",
        y_label=metric.typed,
        number=lambda value: number(value, metric.digits),
        ticks=[(share, f"{share:g}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
    )
    lead = (
        "At 0 the baseline decides on all lists, at 1 the system. A rule that orders lists no better than "
        "chance lies near the line of random."
    )
    caption = f"{count(len(found.curves[found.rules[0]].confidence), 'judged list')}."
    drawn = figure(svg, f"{metric.typed} over coverage", caption, keys)
    return Section("coverage", "Where the system is used", lead, (), [drawn])


def reliability_section(found: Any, view: View) -> Section | None:
    """Return a reliability diagram of each probability; None without one.

    found : Selective
    """
    figures = []
    for look, (name, one) in enumerate(found.reliabilities.items()):
        p, share = (np.array([bin_[at] for bin_ in one.bins]) for at in (1, 2))
        lines = [Series("calibrated", np.array([0.0, 1.0]), np.array([0.0, 1.0]), -2)]
        lines.append(Series(f"P({name})", p, share, look))
        svg = view.pen.lines(
            f"Share of lists on which the choice is {name}, by P({name}); calibration error {one.error:.3f}.",
            lines,
            x_label=f"P({name}), mean of a bin",
            y_label="share of the lists",
            number=lambda value: number(value, 2),
            ticks=[(share, f"{share:g}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        )
        caption = f"Bins of equally many lists. Calibration error {one.error:.3f}."
        figures.append(figure(svg, f"P({name})", caption, [Key(f"P({name})", look), Key("calibrated", -2)]))
    if not figures:
        return None
    lead = "A probability is calibrated if of the lists with P = 0.8 the choice is right on 80 %."
    return Section("reliability", "How far probabilities can be trusted", lead, (), figures)
