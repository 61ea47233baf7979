"""An evaluation as a table for people: aligned text, and the same in rich's styles on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from rerank.evaluation.evaluate import FIRST_BEST, Evaluation, MetricInfo, MetricResult
from rerank.evaluation.significance import holm
from rerank.report.variance import variance_lines

WIDTH = 100
SIGNIFICANT = 0.05
REFERENCES = ("first-best", "random", "oracle")


@dataclass(frozen=True)
class Grid:
    """A table before it is drawn.

    heads : a metric's name (over its first column only) and the column's name, for each column; the
        first column holds the names of the rows.
    rows : cells, ``n_references`` rows of references before those of the systems.
    """

    heads: list[tuple[str, str]]
    rows: list[list[str]]
    n_references: int

    def columns(self) -> list[tuple[int, int]]:
        """Where each column begins and ends, in characters; metrics stand two spaces apart."""
        widths = [max(map(len, column)) for column in zip(*self._body(), strict=True)]
        starts = [j for j, (metric, _) in enumerate(self.heads) if metric]
        for start, stop in zip(starts, [*starts[1:], len(widths)], strict=True):
            room = sum(widths[start:stop]) + stop - start - 1
            widths[start] += max(0, len(self.heads[start][0]) - room)  # a long metric name
        out = [(0, widths[0])]
        for width, (metric, _) in zip(widths[1:], self.heads[1:], strict=True):
            begin = out[-1][1] + (2 if metric else 1)
            out.append((begin, begin + width))
        return out

    def _body(self) -> list[list[str]]:
        return [[column for _, column in self.heads], *self.rows]

    def lines(self) -> list[tuple[str, str]]:
        """The grid as aligned lines with a style for each: names to the left, numbers to the right."""
        columns = self.columns()
        top = ""
        for (metric, _), (begin, _) in zip(self.heads, columns, strict=True):
            top = top.ljust(begin) + metric if metric else top
        head, *rows = (_line(row, columns) for row in self._body())
        rule = ("-" * columns[-1][1], "dim")
        references = [(row, "dim") for row in rows[: self.n_references]]
        systems = [(row, "") for row in rows[self.n_references :]]
        return [(top, "bold"), (head, "bold"), rule, *references, *([rule] if systems else []), *systems]


def table_text(evaluation: Evaluation, width: int = WIDTH) -> str:
    """The whole report as plain text: one grid if it fits in ``width`` columns, else one per metric."""
    return "".join(f"{line}\n" for line, _ in _lines(evaluation, width))


def print_table(evaluation: Evaluation, stream: TextIO | None = None) -> None:
    """Write the report to ``stream`` (standard output): with rich's styles on a terminal, else plain.

    With NO_COLOR set it is plain everywhere.
    """
    stream = sys.stdout if stream is None else stream
    if not stream.isatty() or os.environ.get("NO_COLOR"):
        stream.write(table_text(evaluation))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False)
    for line, style in _lines(evaluation, min(WIDTH, console.width)):
        console.print(Text(line, style=style), soft_wrap=True)


def _lines(evaluation: Evaluation, width: int) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    grids = _grids(evaluation, width)
    for grid in grids:
        out += [*grid.lines(), ("", "")]
    for name, variance in (evaluation.replicas or {}).items():
        info = evaluation.metrics[name]
        out += [(line, "") for line in variance_lines(variance, "", info.digits)] + [("", "")]
    switches = any(column == "switched" for grid in grids for _, column in grid.heads)
    return out + [(note, "dim") for note in _notes(evaluation, switches)]


def _line(cells: Sequence[str], columns: Sequence[tuple[int, int]]) -> str:
    line = cells[0]
    for cell, (_, end) in zip(cells[1:], columns[1:], strict=True):
        line = line.ljust(end - len(cell)) + cell
    return line.rstrip()


def _grids(evaluation: Evaluation, width: int) -> list[Grid]:
    together = _grid(evaluation, list(evaluation.metrics.values()), detailed=False)
    if len(evaluation.metrics) > 1 and together.columns()[-1][1] <= width:
        return [together]
    return [_grid(evaluation, [info], detailed=True) for info in evaluation.metrics.values()]


def _grid(evaluation: Evaluation, infos: Sequence[MetricInfo], detailed: bool) -> Grid:
    heads = [("", "")]
    rows = [[name] for name in REFERENCES]
    rows += [[f"{name} (baseline)" if name == evaluation.baseline else name] for name in evaluation.systems]
    for info in infos:
        columns = _columns(evaluation, info, detailed)
        typed = info.typed if info.better > 0 else f"{info.typed} (lower is better)"
        heads += [(typed if j == 0 else "", column) for j, column in enumerate(columns)]
        for row, cells in zip(rows, zip(*columns.values(), strict=True), strict=True):
            row += cells
    return Grid(heads, rows, len(REFERENCES))


def _columns(evaluation: Evaluation, info: MetricInfo, detailed: bool) -> dict[str, list[str]]:
    """Cells of one metric by column: three references, then the systems."""
    results = [results[info.name] for results in evaluation.systems.values()]
    digits = info.digits
    values = [info.first_best, info.random, info.oracle, *(result.value for result in results)]
    columns = {"value": [_value(value, digits) for value in values]}
    blank = [""] * len(REFERENCES)
    if results:
        columns[f"{100 * evaluation.level:.4g}% int."] = [
            *blank,
            *(_interval(result.ci, digits) for result in results),
        ]
    if results and info.first_best is not None:
        columns["gap"] = [*blank, *("-" if r.gap is None else f"{100 * r.gap:z.0f}%" for r in results)]
    if results and evaluation.baseline is not None:
        columns["p"] = [*blank, *_p_cells([result.p_bootstrap for result in results])]
        if detailed:
            columns["p Wilcoxon"] = [*blank, *(p_text(result.p_wilcoxon) for result in results)]
            columns["won/tied/lost"] = [*blank, *map(_lists, results)]
    if results and detailed and all(result.switched is not None for result in results):
        columns["switched"] = [*blank, *(str(result.switched) for result in results)]
    return columns


def _value(value: float | None, digits: int) -> str:
    return "-" if value is None or value != value else f"{value:z.{digits}f}"


def _interval(ci: tuple[float, float] | None, digits: int) -> str:
    if ci is None:
        return "-"
    low, high = (f"{end:z.{max(1, digits - 1)}f}" for end in ci)
    if low.startswith("-"):
        return f"{low} to {high}"
    if digits < 3:  # a scale of 0 to 100
        return f"{low}-{high}"
    return f"{low.removeprefix('0')}-{high.removeprefix('0')}"


def p_text(p: float | None) -> str:
    """A p-value in three decimals, "-" where there is none."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _p_cells(p_values: Sequence[float | None]) -> list[str]:
    """p-values, those with a star that stay significant under Holm's correction."""
    corrected = holm(p_values)
    star = ["*" if c is not None and c < SIGNIFICANT else " " for c in corrected]
    return [p_text(p) + mark for p, mark in zip(p_values, star, strict=True)]


def _lists(result: MetricResult) -> str:
    return "-" if result.wins is None else f"{result.wins}/{result.ties}/{result.losses}"


def _notes(evaluation: Evaluation, switches: bool) -> list[str]:
    size = f"{evaluation.n_lists} lists, {evaluation.n_items} items"
    if evaluation.unjudged:
        size += f"; left out for want of a judged item: {evaluation.unjudged}"
    tested = len(evaluation.systems) - (evaluation.baseline in evaluation.systems)
    notes = [size]
    if any(info.first_best is not None for info in evaluation.metrics.values()) and evaluation.systems:
        notes.append("gap: share of the way from first-best to oracle")
    if switches:
        notes.append("switched: lists whose choice is not first-best (where items have texts: not its text)")
    if evaluation.systems:
        percent = f"{100 * evaluation.level:.6g}%"
        how = f"{evaluation.samples} resamples of the lists, seed {evaluation.seed}"
        notes.append(f"int.: {percent} percentile interval of {how}")
    if evaluation.baseline is not None and tested:
        against = "first-best" if evaluation.baseline == FIRST_BEST else evaluation.baseline
        many = f" after Holm's correction for {tested} systems" if tested > 1 else ""
        notes.append(f"p: paired bootstrap against {against}, two-sided; * p < {SIGNIFICANT}{many}")
    return [*notes, *(info.signature for info in evaluation.metrics.values())]
