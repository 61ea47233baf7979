"""The first section: tables of results, and figures of the values."""

from __future__ import annotations

import numpy as np

from rerank.core.tables.numbers import p_text
from rerank.evaluation.bootstrap import Test
from rerank.evaluation.results import MetricResults
from rerank.evaluation.sheets import SIGNIFICANT
from rerank.report.page.drawing import Interval
from rerank.report.page.parts import Cell, Figure, Head, Row, Section, Table, ends, number
from rerank.report.page.view import View, described, figure, label, typed

_ROWS = 30  # of the figure of values


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
    """All systems by one metric."""
    digits, results = metric.digits, view.results
    of_share = {name: shares[results.fraction] for name, shares in metric.rows.items()}
    tested = results.against is not None and bool(metric.pairs)
    seeds = any(row.sd_seeds is not None for row in of_share.values())
    gap = any(row.gap is not None for row in of_share.values())
    mcnemar = tested and any(pair.p_mcnemar is not None for pair in metric.pairs)
    heads = [Head("Value"), Head("Interval", f"{view.percent()} percentile interval over resampled lists")]
    if seeds:
        heads.append(Head("± seeds", "standard deviation of the values of single seeds"))
    if gap:
        heads.append(Head("Gap", "share of the way from first-best to the oracle"))
    if tested:
        heads += _test_heads(label(str(results.against)), mcnemar)
    rows = []
    for name, row in of_share.items():
        best = row.value == _best(view, metric)
        cells = [Cell(number(row.value, digits), row.value, best), _interval(row.ci, digits)]
        if seeds:
            cells.append(Cell(number(row.sd_seeds, digits), row.sd_seeds))
        if gap:
            percent = None if row.gap is None else 100 * row.gap
            cells.append(Cell("–" if percent is None else f"{number(percent, 0)} %", percent))
        if tested:
            cells += _test_cells(metric.against(name, results.against), digits, metric.better, mcnemar)
        rows.append(Row(name, cells, "baseline" if name == results.against else ""))
    references = []
    known = {"first-best": metric.first_best, "random": metric.random, "oracle": metric.oracle}
    for name, value in known.items():
        if value is not None:
            blank = [Cell("")] * (len(heads) - 1)
            note = "baseline" if name == label(str(results.against)) else ""
            references.append(Row(name, [Cell(number(value, digits), value), *blank], note))
    return Table(typed(metric), "System", heads, rows, references, _notes(view, metric, tested))


def _best(view: View, metric: MetricResults) -> float:
    better = metric.better
    values = np.array([better * view.value(metric, name) for name in metric.rows])
    return better * float(np.max(values, where=np.isfinite(values), initial=-np.inf))


def _interval(ci: tuple[float, float] | None, digits: int, *, signed: bool = False) -> Cell:
    return Cell(ends(ci, digits, signed=signed), None if ci is None else ci[0])


def _test_heads(against: str, mcnemar: bool) -> list[Head]:
    heads = [
        Head("Difference", f"from {against}"),
        Head("Its interval", "percentile interval of the difference"),
        Head("p", "paired bootstrap, two-sided"),
        Head("p, Holm", f"corrected for all systems of the table; bold below {SIGNIFICANT}"),
        Head("p, Wilcoxon", "signed ranks of the lists' differences"),
        Head("Won / tied / lost", f"lists on which it is better than, equal to and worse than {against}"),
    ]
    return [*heads, Head("p, McNemar", "exact test of lists won and lost")] if mcnemar else heads


def _test_cells(pair: Test | None, digits: int, better: int, mcnemar: bool) -> list[Cell]:
    """The cells of a comparison; dashes for the baseline."""
    if pair is None:
        return [Cell("–")] * (7 if mcnemar else 6)
    cells = [
        Cell(number(pair.difference, digits, signed=True), pair.difference),
        _interval(pair.ci, digits, signed=True),
        _p(pair.p_bootstrap),
        _p(pair.holm, strong=True),
        _p(pair.p_wilcoxon),
        Cell(f"{pair.wins} / {pair.ties} / {pair.losses}", pair.wins - pair.losses),
    ]
    return [*cells, _p(pair.p_mcnemar)] if mcnemar else cells


def _p(p: float | None, *, strong: bool = False) -> Cell:
    return Cell("–" if p is None else p_text(p), p, strong and p is not None and p < SIGNIFICANT)


def _notes(view: View, metric: MetricResults, tested: bool) -> list[str]:
    drawn = f"{view.results.judging.samples} resamples of the lists, seed {view.results.judging.seed}"
    notes = [f"{metric.lists} lists judged; intervals: {view.percent()}, {drawn}."]
    if len(view.results.parts) > 1:
        notes[0] += f" Values are means over {len(view.results.parts)} folds."
    if tested:
        against = label(str(view.results.against))
        notes.append(f"Tests are against {against}, two-sided; bold: p below {SIGNIFICANT} after Holm.")
    return [*notes, metric.signature]


def _pairs(view: View, metric: MetricResults) -> Table:
    """Every two systems by one metric."""
    digits = metric.digits
    mcnemar = any(pair.p_mcnemar is not None for pair in metric.pairs)
    heads = [Head("B", word=True), *_test_heads("B", mcnemar)]
    heads[4] = Head("p, Holm", f"corrected for all {len(metric.pairs)} pairs; bold below {SIGNIFICANT}")
    rows = [
        Row(pair.a, [Cell(pair.b, word=True), *_test_cells(pair, digits, metric.better, mcnemar)])
        for pair in metric.pairs
    ]
    return Table(f"Every two systems by {typed(metric)}", "A", heads, rows)


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
