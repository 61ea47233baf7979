"""An evaluation as a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, TextIO

from rerank.core.tables.sheet import DETAIL, USUAL, Column, Group, Row, Sheet, plain
from rerank.core.tables.text import WIDTH, Part, drawn, room, sheet_tables, show
from rerank.core.text import count
from rerank.evaluation.evaluate import FIRST_BEST, Evaluation, MetricInfo, MetricResult
from rerank.evaluation.pairs import Pair
from rerank.evaluation.significance import holm
from rerank.report.runs import variance_lines

SIGNIFICANT = 0.05
REFERENCES = ("first-best", "random", "oracle")
GAP = "gap: share of the way from first-best to oracle that is closed"
WILCOXON = (
    "p Wilcoxon: signed-rank test of the lists' values against the same system, two-sided, not corrected"
)
WON = "won/tied/lost: lists on which the system is better than it, equal, worse"
SWITCHED = "switched: lists whose choice differs from first-best (by text if items have texts)"


def table_text(evaluation: Evaluation, width: int = WIDTH) -> str:
    """Return the report as plain text: one table if it fits in ``width`` columns, else one per metric."""
    return "".join(f"{line}\n" for part in _parts(evaluation, width) for line in drawn(part))


def print_table(evaluation: Evaluation, stream: TextIO | None = None) -> None:
    """Write the report to ``stream`` (standard output): in styles on a terminal, else plain.

    Tables fit a terminal: if need be, the names of systems are shortened.
    """
    stream = sys.stdout if stream is None else stream
    show(_parts(evaluation, room(stream), fitting=stream.isatty()), stream)


def _parts(evaluation: Evaluation, width: int, *, fitting: bool = False) -> list[Part]:
    """Tables, paragraphs on runs and notes, with empty lines between them."""
    sheet = evaluation_sheet(evaluation)
    tables, notes = sheet_tables(sheet, width, fitting=fitting)
    out: list[Part] = []
    for table in tables:
        out += [table, ""]
    of_replicas = replica_lines(evaluation)
    out += [*of_replicas, ""] if of_replicas else []
    return [*out, *notes, *sheet.signatures]


def replica_lines(evaluation: Evaluation) -> list[str]:
    """Return what is known of the variance of replicas, by metric."""
    found = [
        variance_lines(variance, "", evaluation.metrics[name].digits)
        for name, variance in (evaluation.replicas or {}).items()
    ]
    return [line for lines in found for line in ("", *lines)][1:]


def evaluation_sheet(evaluation: Evaluation) -> Sheet:
    """Return references and systems by row, the columns of each metric in a group."""
    names = [*REFERENCES, *evaluation.systems]
    columns = [Column("", ("system",), partial(_name, baseline=evaluation.baseline), left=True)]
    cells: list[Sequence[Any]] = [names]
    stars: list[set[str]] = [set() for _ in names]
    for info in evaluation.metrics.values():
        of_metric = _columns(evaluation, info)
        columns += of_metric
        cells += of_metric.values()
        results = [results[info.name] for results in evaluation.systems.values()]
        for found, p in zip(stars[len(REFERENCES) :], holm([r.p_bootstrap for r in results]), strict=True):
            found |= {info.name} if p is not None and p < SIGNIFICANT else set()
    rows = [
        Row(values, i < len(REFERENCES), frozenset(stars[i]))
        for i, values in enumerate(zip(*cells, strict=True))
    ]
    signatures = tuple(info.signature for info in evaluation.metrics.values())
    return Sheet(tuple(columns), tuple(rows), notes=tuple(_notes(evaluation)), signatures=signatures)


def _name(name: str, baseline: str | None) -> str:
    return f"{name} (baseline)" if name == baseline else name


def _columns(evaluation: Evaluation, info: MetricInfo) -> dict[Column, list[Any]]:
    """The columns of one metric with their cells: the references, then the systems."""
    results = [results[info.name] for results in evaluation.systems.values()]
    group = Group(info.name, info.typed if info.better > 0 else f"{info.typed} (lower is better)")
    columns: dict[Column, list[Any]] = {}

    def add(head: str, keys: str, shown: Any, cells: Sequence[Any], **settings: Any) -> None:
        blank = [""] * (len(REFERENCES) + len(results) - len(cells))
        columns[Column(head, tuple(keys.split()), shown, group, **settings)] = [*blank, *cells]

    values = [info.first_best, info.random, info.oracle, *(result.value for result in results)]
    tested = results and evaluation.baseline is not None
    value = partial(value_text, digits=info.digits)
    add("value", "value", value, values, star="paper", better=info.better)
    if results:
        percent = f"{100 * evaluation.level:.6g}%"
        how = f"{evaluation.samples} resamples of the lists, seed {evaluation.seed}"
        settings = {"narrow": f"{percent}\ninterval", "bracketed": True}
        settings["note"] = f"{percent} interval: percentile interval of {how}"
        interval = partial(interval_text, digits=info.digits)
        add(f"{percent} interval", "low high", interval, [r.ci for r in results], **settings)
    if results and info.first_best is not None:
        add("gap closed", "gap", gap_text, [r.gap for r in results], narrow="gap", level=USUAL, note=GAP)
    if tested:
        p = {"narrow": "p\nboot.", "star": "text", "level": USUAL}
        add("p bootstrap", "p_bootstrap", p_text, [r.p_bootstrap for r in results], **p)
        wilcoxon = {"narrow": "p\nWilcoxon", "level": DETAIL, "note": WILCOXON}
        add("p Wilcoxon", "p_wilcoxon", p_text, [r.p_wilcoxon for r in results], **wilcoxon)
        won = [lists_of(result) for result in results]
        add("won/tied/lost", "wins ties losses", lists_text, won, level=DETAIL, note=WON)
    if results and None not in [result.switched for result in results]:
        switched = [result.switched for result in results]
        add("switched", "switched", plain, switched, level=DETAIL, note=SWITCHED)
    return columns


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


def signed_text(value: float | None, digits: int) -> str:
    """Return a difference with its sign, "-" if there is none."""
    return "-" if value is None or value != value else f"{value:+.{digits}f}"


def signed_interval(ci: tuple[float, float] | None, digits: int) -> str:
    """Return the interval of a difference, "-" if there is none."""
    return "-" if ci is None else f"{ci[0]:+.{digits}f} to {ci[1]:+.{digits}f}"


def lists_text(counts: tuple[int, int, int] | None) -> str:
    """Return the lists won, tied and lost, "-" without a test."""
    return "-" if counts is None else "/".join(map(str, counts))


def gap_text(gap: float | None) -> str:
    """Return a share in percent, "-" if there is none."""
    return "-" if gap is None else f"{100 * gap:z.0f}%"


def lists_of(result: MetricResult | Pair | None) -> tuple[int, int, int] | None:
    """Return the lists won, tied and lost, None without a test."""
    if result is None or result.wins is None or result.ties is None or result.losses is None:
        return None
    return result.wins, result.ties, result.losses


def _notes(evaluation: Evaluation) -> list[str]:
    """On the size of the set and on the test."""
    size = f"{count(evaluation.n_lists, 'list')}, {count(evaluation.n_items, 'item')}"
    if evaluation.unjudged:
        size += f"; {count(evaluation.unjudged, 'list')} without a judged item left out"
    tested = len(evaluation.systems) - (evaluation.baseline in evaluation.systems)
    if evaluation.baseline is None or not tested:
        return [size]
    against = "first-best" if evaluation.baseline == FIRST_BEST else evaluation.baseline
    many = f" after Holm's correction for {tested} systems" if tested > 1 else ""
    return [size, f"p: paired bootstrap against {against}, two-sided; * p < {SIGNIFICANT}{many}"]
