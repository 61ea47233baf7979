"""The first sections: tables of results with figures of the values, over one data set or several."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from rerank.core.tables.table import Column, Row, Table, p_text
from rerank.evaluation.bootstrap import Test
from rerank.evaluation.ranks import LEAST_SETS, LEAST_SYSTEMS, Ranks, ranks_of
from rerank.evaluation.results import MetricResults
from rerank.evaluation.tables import SIGNIFICANT
from rerank.report.page.drawing import Interval
from rerank.report.page.parts import Figure, Section, View, described, ends, figure, label, number, typed

_ROWS = 30  # of the figure of values
_MOST = 20  # systems of a diagram


def results_section(view: View) -> Section:
    """Return a table for each metric, with a figure of the values."""
    metrics = list(view.results.metrics.values())
    tables = [_table(view, metric) for metric in metrics]
    if view.results.all_pairs:
        tables += [_pairs(view, metric) for metric in metrics]
    figures = [_values(view, metric) for metric in metrics] if len(view.results.runs) > 1 else []
    lead = "Click a column's head to sort the table by it."
    return Section("results", "Results", lead, tables, figures)


def _table(view: View, metric: MetricResults) -> Table:
    """References and all systems by one metric."""
    digits, results = metric.digits, view.results
    rows = [shares[results.fraction] for shares in metric.rows.values()]
    tested = results.against is not None and bool(metric.pairs)
    known = {"first-best": metric.first_best, "random": metric.random, "oracle": metric.oracle}
    references = {name: value for name, value in known.items() if value is not None}
    value, blank = partial(number, digits=digits), [""] * len(references)
    columns = {
        Column("System", ("system",), left=True): [*references, *metric.rows],
        Column("Value", ("value",), value, better=metric.better): [
            *references.values(),
            *(row.value for row in rows),
        ],
        Column(
            "Interval",
            ("low", "high"),
            partial(ends, digits=digits),
            help=f"{view.percent()} percentile interval over resampled lists",
        ): [*blank, *(row.ci for row in rows)],
    }
    if any(row.sd_seeds is not None for row in rows):
        seeds = Column("± seeds", ("sd",), value, help="standard deviation of the values of single seeds")
        columns[seeds] = [*blank, *(row.sd_seeds for row in rows)]
    if any(row.gap is not None for row in rows):
        gap = Column("Gap", ("gap",), _percent, help="share of the way from first-best to the oracle")
        columns[gap] = [*blank, *(None if row.gap is None else 100 * row.gap for row in rows)]
    against = label(str(results.against))
    pairs = [metric.against(name, results.against) if tested else None for name in metric.rows]
    if tested:
        holm = f"corrected for all systems of the table; bold below {SIGNIFICANT}"
        tests = _tests(metric, pairs, against, holm)
        columns |= {column: [*blank, *cells] for column, cells in tests.items()}
    drawn = f"{results.judging.samples} resamples of the lists, seed {results.judging.seed}"
    notes = [f"{metric.lists} lists judged; intervals: {view.percent()}, {drawn}."]
    if len(results.parts) > 1:
        notes[0] += f" Values are means over {len(results.parts)} folds."
    if tested:
        notes.append(f"Tests are against {against}, two-sided; bold: p below {SIGNIFICANT} after Holm.")
    marks = [*(name == against for name in references), *(name == results.against for name in metric.rows)]
    found = zip(zip(*columns.values(), strict=True), marks, [*blank, *map(_starred, pairs)], strict=True)
    return Table(
        tuple(columns),
        tuple(
            Row(cells, i < len(references), frozenset([""] * bool(star)), mark="baseline" * mark)
            for i, (cells, mark, star) in enumerate(found)
        ),
        typed(metric),
        tuple(notes),
        (metric.signature,),
    )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{number(value, 0)} %"


def _starred(test: Test | None) -> bool:
    return test is not None and test.holm is not None and test.holm < SIGNIFICANT


def _tests(
    metric: MetricResults, tests: Sequence[Test | None], against: str, holm: str
) -> dict[Column, list[Any]]:
    """The columns of comparisons; dashes for the baseline."""
    better = f"lists on which it is better than, equal to and worse than {against}"
    difference = partial(number, digits=metric.digits, signed=True)
    interval = partial(ends, digits=metric.digits, signed=True)
    mcnemar = any(test.p_mcnemar is not None for test in metric.pairs)
    columns = [
        Column("Difference", ("difference",), difference, help=f"from {against}"),
        Column("Its interval", ("ci",), interval, help="percentile interval of the difference"),
        Column("p", ("p_bootstrap",), _p, help="paired bootstrap, two-sided"),
        Column("p, Holm", ("holm",), _p, star="both", help=holm),
        Column("p, Wilcoxon", ("p_wilcoxon",), _p, help="signed ranks of the lists' differences"),
        Column("Won / tied / lost", ("wins",), _won, order=lambda won: won[0] - won[2], help=better),
        *([Column("p, McNemar", ("p_mcnemar",), _p, help="exact test of lists won and lost")] * mcnemar),
    ]
    return {
        column: [
            None
            if test is None
            else (test.wins, test.ties, test.losses)
            if column.keys == ("wins",)
            else getattr(test, column.keys[0])
            for test in tests
        ]
        for column in columns
    }


def _p(value: float | None) -> str:
    return "–" if value is None else p_text(value)


def _won(counts: tuple[int, int, int] | None) -> str:
    return "–" if counts is None else " / ".join(map(str, counts))


def _pairs(view: View, metric: MetricResults) -> Table:
    """Every two systems by one metric."""
    tests = metric.pairs
    columns: dict[Column, Sequence[Any]] = {
        Column("A", ("a",), left=True): [test.a for test in tests],
        Column("B", ("b",), left=True): [test.b for test in tests],
        **_tests(metric, tests, "B", f"corrected for all {len(tests)} pairs; bold below {SIGNIFICANT}"),
    }
    rows = zip(zip(*columns.values(), strict=True), map(_starred, tests), strict=True)
    return Table(
        tuple(columns),
        tuple(Row(cells, stars=frozenset([""] * star)) for cells, star in rows),
        f"Every two systems by {typed(metric)}",
    )


def _values(view: View, metric: MetricResults) -> Figure:
    """The values of all systems, the best on top."""
    digits, share = metric.digits, view.results.fraction
    of_share = [(name, shares[share]) for name, shares in metric.rows.items()]
    known = [(name, row) for name, row in of_share if np.isfinite(row.value)]
    known.sort(key=lambda pair: -metric.better * pair[1].value)
    shown = known[:_ROWS]
    rows = []
    for name, row in shown:
        low, high = row.ci or (row.value, row.value)
        look = 1 if name == view.baseline else 0
        rows.append(Interval(name, row.value, low, high, look, described(name, row.value, row.ci, digits)))
    line = None if view.baseline is None else view.value(metric, view.baseline)
    line = line if line is not None and np.isfinite(line) else None
    against = "" if view.baseline is None else f" The dashed line is {label(view.baseline)}."
    more = f" The {_ROWS} best of {len(known)} systems." if len(known) > _ROWS else ""
    caption = f"Values with {view.percent()} intervals, the best on top.{against}{more}"
    numbers = [described(name, row.value, row.ci, digits) for name, row in (shown[:3] + shown[3:][-1:])]
    alt = f"{typed(metric)} of {len(shown)} systems with intervals, among them {'; '.join(numbers)}."
    svg = view.pen.intervals(alt, rows, x_label=typed(metric), line=line)
    return figure(svg, f"{metric.typed}: values", caption)


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
        values = _values_by_set(views, systems, name)
        complete = [system for system in systems if np.isfinite([of[system] for of in values.values()]).all()]
        ranks = None
        if len(complete) >= LEAST_SYSTEMS:
            kept = {of: {system: found[system] for system in complete} for of, found in values.items()}
            ranks = ranks_of(kept, views[0].results.metrics[name].better)
            if len(complete) <= _MOST:
                figures.append(_diagram(views[0], views[0].results.metrics[name].typed, ranks))
        tables.append(_table_by_set(views, systems, name, values, ranks))
    lead = "The systems that every set has."
    if not figures:
        lead += (
            f" A diagram of critical differences needs {LEAST_SYSTEMS} to {_MOST} systems with all values."
        )
    return Section("sets", "All data sets", lead, tables, figures)


def _values_by_set(views: Sequence[View], systems: Sequence[str], name: str) -> dict[str, dict[str, float]]:
    """The value of each system, by set and system; sets of one name are numbered."""
    out = {}
    for i, view in enumerate(views, 1):
        of_set = {system: view.value(view.results.metrics[name], system) for system in systems}
        own = view.results.name
        out[own if own not in out else f"{own} ({i})"] = of_set
    return out


def _table_by_set(
    views: Sequence[View],
    systems: Sequence[str],
    name: str,
    values: dict[str, dict[str, float]],
    ranks: Ranks | None,
) -> Table:
    shown = partial(number, digits=views[0].results.metrics[name].digits)
    columns = [Column("System", ("system",), left=True)]
    columns += [Column(of, (of,), shown) for of in values]
    cells: list[Sequence[Any]] = [systems]
    cells += [[of[system] for system in systems] for of in values.values()]
    notes = []
    if ranks is not None:
        ties = "1 is best; ties share the mean of their ranks"
        columns.append(Column("Mean rank", ("rank",), partial(number, digits=2), help=ties))
        cells.append([ranks.average.get(system) for system in systems])
        if ranks.p is not None:
            notes.append(
                f"Friedman's test: p {p_text(ranks.p)}; Nemenyi's critical difference at {ranks.alpha:g}: "
                f"{ranks.critical_difference:.2f}."
            )
    rows = tuple(map(Row, zip(*cells, strict=True)))
    return Table(tuple(columns), rows, f"{name} by data set", tuple(notes))


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
