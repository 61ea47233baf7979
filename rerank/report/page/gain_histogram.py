"""The section on how many lists become better and worse than with the baseline, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rerank.core.text import count
from rerank.evaluation.by_list import by_size, limits_of
from rerank.evaluation.results import MetricResults
from rerank.report.page.drawing import Series
from rerank.report.page.parts import MINUS, Cell, Figure, Head, Row, Section, Table
from rerank.report.page.view import View, beside, figure, label


def sizes_section(view: View) -> Section | None:
    """Return the lists by the size of their gain; None without a baseline or another system."""
    if not view.compared:
        return None
    systems = [name for name in view.results.runs if name != view.baseline]
    tables, figures = [], []
    for name, metric in view.results.metrics.items():
        gains = {system: view.gains(name, system) for system in systems}
        limits = limits_of(np.concatenate(list(gains.values())))
        counts = {system: by_size(values, limits) for system, values in gains.items()}
        if not any(map(any, counts.values())):
            continue
        groups, title = _groups(limits), f"Lists by their gain in {metric.typed}"
        rows = [Row(system, [Cell(str(n), n) for n in found]) for system, found in counts.items()]
        tables.append(Table(title, "System", [Head(group) for group in groups], rows))
        figures.append(_figure(view, metric, groups, counts))
    if not figures:
        return None
    lead = (
        f"How many lists are worse (below 0) or better than with {label(str(view.baseline))}, and by how "
        "much. At least a quarter of all differences that are not 0 reach the larger limit."
    )
    return Section(
        "sizes", "Lists by size of the difference", lead + view.some_compared("drawn"), tables, figures
    )


def _groups(limits: tuple[float, float]) -> list[str]:
    """The names of the groups of ``by_size``."""
    small, large = (f"{limit:g}" for limit in limits)
    losses = [f"below {MINUS}{large}", f"{MINUS}{large} to {MINUS}{small}", f"{MINUS}{small} to 0"]
    return [*losses, "0", f"0 to {small}", f"{small} to {large}", f"above {large}"]


def _figure(
    view: View, metric: MetricResults, groups: Sequence[str], counts: Mapping[str, Sequence[int]]
) -> Figure:
    """The numbers of lists of the compared systems as bars."""
    lines, said = [], []
    for i, system in enumerate(view.compared):
        x = beside(len(groups), i, len(view.compared), 0.16)
        y = np.array(counts[system], dtype=np.float64)
        lines.append(Series(system, x, y, view.look(system), bars=True, names=groups))
        of_groups = zip(groups, counts[system], strict=True)
        said.append(f"{system} " + ", ".join(f"{n} with {group}" for group, n in of_groups if n))
    axis = f"gain in {metric.typed}"
    svg = view.pen.lines(
        f"Lists by {axis} over {label(str(view.baseline))}: {'; '.join(said)}.",
        lines,
        x_label=axis,
        y_label="lists",
        number=lambda value: count(int(value), "list"),
        ticks=[(float(i), group.replace(" ", "\n")) for i, group in enumerate(groups)],
        zero=True,
    )
    keys = [view.key(system) for system in view.compared]
    return figure(svg, f"{metric.typed}: lists by gain", f"{count(metric.lists, 'list')}.", keys)
