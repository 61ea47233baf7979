"""The section on several data sets: values, average ranks and the critical difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.core.tables.numbers import p_text
from rerank.evaluation.ranks import LEAST_SETS, LEAST_SYSTEMS, Ranks, ranks_of
from rerank.report.page.parts import Cell, Figure, Head, Row, Section, Table, number
from rerank.report.page.view import View, figure

_MOST = 20  # systems of a diagram


def sets_section(views: Sequence[View]) -> Section | None:
    """Return the systems that all sets have over these sets; None if there are no two sets or no system."""
    if len(views) < LEAST_SETS:
        return None
    systems = [name for name in views[0].results.runs if all(name in view.results.runs for view in views)]
    metrics = [
        name for name in views[0].results.metrics if all(name in view.results.metrics for view in views)
    ]
    if not systems or not metrics:
        return None
    tables, figures = [], []
    for name in metrics:
        values = _values(views, systems, name)
        complete = [system for system in systems if np.isfinite([of[system] for of in values.values()]).all()]
        ranks = None
        if len(complete) >= LEAST_SYSTEMS:
            kept = {of: {system: found[system] for system in complete} for of, found in values.items()}
            ranks = ranks_of(kept, views[0].results.metrics[name].better)
            if len(complete) <= _MOST:
                figures.append(_diagram(views[0], views[0].results.metrics[name].typed, ranks))
        tables.append(_table(views, systems, name, values, ranks))
    lead = "The systems that every set has."
    if not figures:
        lead += (
            f" A diagram of critical differences needs {LEAST_SYSTEMS} to {_MOST} systems with all values."
        )
    return Section("sets", "All data sets", lead, tables, figures)


def _values(views: Sequence[View], systems: Sequence[str], name: str) -> dict[str, dict[str, float]]:
    """The value of each system, by set and system; sets of one name are numbered."""
    out = {}
    for i, view in enumerate(views, 1):
        of_set = {system: view.value(view.results.metrics[name], system) for system in systems}
        own = view.results.name
        out[own if own not in out else f"{own} ({i})"] = of_set
    return out


def _table(
    views: Sequence[View],
    systems: Sequence[str],
    name: str,
    values: dict[str, dict[str, float]],
    ranks: Ranks | None,
) -> Table:
    digits = views[0].results.metrics[name].digits
    heads = [Head(of) for of in values]
    if ranks is not None:
        heads.append(Head("Mean rank", "1 is best; ties share the mean of their ranks"))
    rows = []
    for system in systems:
        found = [of[system] for of in values.values()]
        cells = [Cell(number(value, digits), value) for value in found]
        if ranks is not None:
            rank = ranks.average.get(system)
            cells.append(Cell(number(rank, 2), rank))
        rows.append(Row(system, cells))
    notes = []
    if ranks is not None and ranks.p is not None:
        notes.append(
            f"Friedman's test: p {p_text(ranks.p)}; Nemenyi's critical difference at {ranks.alpha:g}: "
            f"{ranks.critical_difference:.2f}."
        )
    return Table(f"{name} by data set", "System", heads, rows, (), notes)


def _diagram(view: View, name: str, ranks: Ranks) -> Figure:
    pairs = list(ranks.average.items())
    said = ", ".join(f"{system} {rank:.2f}" for system, rank in pairs)
    groups = "; ".join(" and ".join(group) for group in ranks.groups) or "none"
    alt = (
        f"Mean ranks by {name} over {len(ranks.sets)} data sets: {said}. Critical difference "
        f"{ranks.critical_difference:.2f}. Groups that do not differ: {groups}."
    )
    caption = (
        f"Mean ranks over {len(ranks.sets)} data sets. Thick lines join systems whose ranks differ by less "
        f"than the critical difference (Nemenyi's test at {ranks.alpha:g})."
    )
    svg = view.pen.ranks(alt, pairs, ranks.critical_difference, ranks.groups)
    return figure(svg, f"{name}: mean ranks", caption)
