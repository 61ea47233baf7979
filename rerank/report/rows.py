"""What the rows of experiments chose and cost, and their ranks over several sets, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rerank.core.settings import value_text as value_of
from rerank.core.tables.sheet import Column, Row, Sheet
from rerank.core.tables.text import WIDTH, Part, sheet_tables, table
from rerank.core.text import some
from rerank.evaluation.ranks import Ranks
from rerank.evaluation.rows import Choice, Cost
from rerank.evaluation.summary import Summary
from rerank.report.summaries import spelled
from rerank.report.tables import p_text, value_text
from rerank.report.training import number


def choice_parts(choices: Sequence[Choice]) -> list[Part]:
    """Return what each cell chose from its grid."""
    if not choices:
        return ["nothing was chosen"]
    rows = []
    for choice in choices:
        settings = " ".join(f"{key}={value_of(value)}" for key, value in choice.settings.items())
        facts = [f"{choice.share} %", choice.fold, "" if choice.seed is None else str(choice.seed)]
        rounds = "" if choice.rounds is None else str(choice.rounds)
        value = "" if choice.value is None else number(choice.value, choice.value)
        rows.append((choice.row, *facts, value, rounds, settings))
    heads = ("chosen", "share", "fold", "seed", "value", "rounds", "settings")
    columns = list(zip(heads, *rows, strict=True))
    same = {1: len({row[1] for row in rows}) == 1, 3: not any(row[3] for row in rows)}
    kept = [column for j, column in enumerate(columns) if not same.get(j)]
    heads, *rows = zip(*kept, strict=True)
    return [table(heads, rows, left=len(kept))]


def cost_parts(costs: Sequence[Cost], summary: Summary) -> list[Part]:
    """Return what the rows cost, beside the baseline; the numbers differ from run to run."""
    base = next((cost.cpu for cost in costs if cost.row == summary.baseline), 0.0)
    rows = []
    for cost in costs:
        ratio = f"{cost.cpu / base:.2f}" if base else "-"
        times = (f"{cost.cpu:.2f}", ratio, f"{cost.fit:.2f}", f"{cost.seconds:.2f}")
        rows.append((cost.row, str(cost.cells), *times, f"{cost.peak_mb:.0f}"))
    against = spelled(summary.baseline) if base and summary.baseline is not None else "baseline"
    heads = ("cost", "cells", "CPU s", f"x {against}", "training s", "s", "MB")
    lacking = [row for row in summary.rows if row not in {cost.row for cost in costs}]
    return [table(heads, rows), *([f"no times of {some(lacking)}"] if lacking else [])]


def rank_title(metric: str, ranks: Ranks) -> str:
    """Return what ranks are of."""
    return f"{metric}: average ranks over {some(ranks.sets, 6)}"


def rank_sheet(metric: str, ranks: Ranks) -> Sheet:
    """Return the average ranks of systems over several sets, with tests."""
    columns = (Column("", ("row",), left=True), Column("rank", ("rank",), partial(value_text, digits=3)))
    rows = tuple(Row((name, rank)) for name, rank in ranks.average.items())
    return Sheet(columns, rows, title=rank_title(metric, ranks), notes=tuple(rank_tests(ranks)))


def rank_parts(metric: str, ranks: Ranks) -> list[Part]:
    """Return the average ranks of systems over several sets, with tests."""
    sheet = rank_sheet(metric, ranks)
    return [sheet.title, *sheet_tables(sheet, WIDTH)[0], *sheet.notes]


def rank_tests(ranks: Ranks) -> list[str]:
    """Return the tests of average ranks."""
    if ranks.friedman is None:
        return ["all rows are tied on every set"]
    critical = f"critical difference {ranks.critical_difference:.3f} (Nemenyi, {ranks.alpha:g})"
    groups = "; ".join(", ".join(group) for group in ranks.groups)
    return [
        f"Friedman's chi-square {ranks.friedman:.2f}, p {p_text(ranks.p)}; F of Iman and Davenport "
        f"{ranks.iman_davenport:.2f}, p {p_text(ranks.p_f)}",
        f"{critical}: ranks that differ by this or more differ significantly",
        f"groups that do not differ: {groups}" if groups else "all ranks differ significantly",
    ]
