"""An evaluation as a table for people."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from rerank.evaluation.evaluate import FIRST_BEST, Evaluation, MetricInfo, MetricResult
from rerank.evaluation.pairs import Pair
from rerank.evaluation.significance import holm
from rerank.report.runs import variance_lines
from rerank.report.table import WIDTH, beside, block, drawn, room, show
from rerank.text import count

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

SIGNIFICANT = 0.05
REFERENCES = ("first-best", "random", "oracle")


def table_text(evaluation: Evaluation, width: int = WIDTH) -> str:
    """Return the report as plain text: one table if it fits in ``width`` columns, else one per metric."""
    return "".join(f"{line}\n" for part in _parts(evaluation, width) for line in drawn(part))


def print_table(evaluation: Evaluation, stream: TextIO | None = None) -> None:
    """Write the report to ``stream`` (standard output): in styles on a terminal, else plain."""
    stream = sys.stdout if stream is None else stream
    show(_parts(evaluation, room(stream)), stream)


def _parts(evaluation: Evaluation, width: int) -> list[RenderableType]:
    """Tables, paragraphs on runs and notes, with empty lines between them."""
    infos = list(evaluation.metrics.values())
    out: list[RenderableType] = []
    switched = False
    together = _table(evaluation, infos, detailed=False)
    if len(infos) > 1 and max(map(len, drawn(together))) <= width:
        out += [together, ""]
    else:
        for info in infos:
            out += [_table(evaluation, [info], detailed=True), ""]
            switched = switched or _shows_switched(evaluation, info)
    for name, variance in (evaluation.replicas or {}).items():
        out += [*variance_lines(variance, "", evaluation.metrics[name].digits), ""]
    return [*out, *_notes(evaluation, switched)]


def _table(evaluation: Evaluation, infos: Sequence[MetricInfo], detailed: bool) -> Table:
    """References and systems by row, the columns of each metric under its name."""
    names = [*REFERENCES]
    names += [f"{name} (baseline)" if name == evaluation.baseline else name for name in evaluation.systems]
    titles, blocks = [""], [block([" "], [[name] for name in names], left=1, dim=len(REFERENCES))]
    for info in infos:
        columns = _columns(evaluation, info, detailed)
        titles.append(info.typed if info.better > 0 else f"{info.typed} (lower is better)")
        blocks.append(block([*columns], list(zip(*columns.values(), strict=True)), dim=len(REFERENCES)))
    return beside(titles, blocks)


def _columns(evaluation: Evaluation, info: MetricInfo, detailed: bool) -> dict[str, list[str]]:
    """Cells of one metric by column: the references, then the systems."""
    results = [results[info.name] for results in evaluation.systems.values()]
    digits = info.digits
    values = [info.first_best, info.random, info.oracle, *(result.value for result in results)]
    columns = {"value": [value_text(value, digits) for value in values]}
    blank = [""] * len(REFERENCES)
    if results:
        columns[f"{100 * evaluation.level:.4g}% int."] = [
            *blank,
            *(interval_text(result.ci, digits) for result in results),
        ]
    if results and info.first_best is not None:
        columns["gap"] = [*blank, *("-" if r.gap is None else f"{100 * r.gap:z.0f}%" for r in results)]
    if results and evaluation.baseline is not None:
        columns["p"] = [*blank, *_p_cells([result.p_bootstrap for result in results])]
        if detailed:
            columns["p Wilcoxon"] = [*blank, *(p_text(result.p_wilcoxon) for result in results)]
            columns["won/tied/lost"] = [*blank, *map(lists_text, results)]
    if detailed and _shows_switched(evaluation, info):
        columns["switched"] = [*blank, *(str(result.switched) for result in results)]
    return columns


def _shows_switched(evaluation: Evaluation, info: MetricInfo) -> bool:
    """Whether every system chooses an item of each list by the metric."""
    switched = [results[info.name].switched for results in evaluation.systems.values()]
    return bool(switched) and None not in switched


def value_text(value: float | None, digits: int) -> str:
    """Return a value in so many decimals, "-" if there is none."""
    return "-" if value is None or value != value else f"{value:z.{digits}f}"


def interval_text(ci: tuple[float, float] | None, digits: int) -> str:
    """Return an interval in one decimal less, "-" if there is none."""
    if ci is None:
        return "-"
    low, high = (f"{end:z.{max(1, digits - 1)}f}" for end in ci)
    if low.startswith("-"):
        return f"{low} to {high}"
    if digits < 3:  # a scale of 0 to 100
        return f"{low}-{high}"
    return f"{low.removeprefix('0')}-{high.removeprefix('0')}"


def p_text(p: float | None) -> str:
    """Return a p-value in three decimals, "-" if there is none."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _p_cells(p_values: Sequence[float | None]) -> list[str]:
    """p-values, with a star if they are significant after Holm's correction."""
    corrected = holm(p_values)
    star = ["*" if c is not None and c < SIGNIFICANT else " " for c in corrected]
    return [p_text(p) + mark for p, mark in zip(p_values, star, strict=True)]


def lists_text(result: MetricResult | Pair | None) -> str:
    """Return the lists won, tied and lost, "-" without a test."""
    if result is None or result.wins is None:
        return "-"
    return f"{result.wins}/{result.ties}/{result.losses}"


def _notes(evaluation: Evaluation, switches: bool) -> list[str]:
    size = f"{count(evaluation.n_lists, 'list')}, {count(evaluation.n_items, 'item')}"
    if evaluation.unjudged:
        size += f"; {count(evaluation.unjudged, 'list')} without a judged item left out"
    tested = len(evaluation.systems) - (evaluation.baseline in evaluation.systems)
    notes = [size]
    if any(info.first_best is not None for info in evaluation.metrics.values()) and evaluation.systems:
        notes.append("gap: share of the way from first-best to oracle")
    if switches:
        notes.append("switched: lists whose choice differs from first-best (by text if items have texts)")
    if evaluation.systems:
        percent = f"{100 * evaluation.level:.6g}%"
        how = f"{evaluation.samples} resamples of the lists, seed {evaluation.seed}"
        notes.append(f"int.: {percent} percentile interval of {how}")
    if evaluation.baseline is not None and tested:
        against = "first-best" if evaluation.baseline == FIRST_BEST else evaluation.baseline
        many = f" after Holm's correction for {tested} systems" if tested > 1 else ""
        notes.append(f"p: paired bootstrap against {against}, two-sided; * p < {SIGNIFICANT}{many}")
    return [*notes, *(info.signature for info in evaluation.metrics.values())]
