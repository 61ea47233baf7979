"""A row for each list of an evaluation, the columns of each system in a group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rerank.core.tables.sheet import Column, Group, Row, Sheet
from rerank.evaluation.evaluate import FIRST_BEST
from rerank.evaluation.list_table import ListTable
from rerank.report.tables import value_text

CHOSEN = "chosen: the item with the largest score, the first on ties"
BEST = "best: the largest label among the items"
TOTALS = "all: the values over all lists; sum: over the lists, of metrics whose value is a mean over lists"


def list_sheet(table: ListTable, *, totals: bool = True) -> Sheet:
    """Return the lists by row, after the values over all lists and their sums if ``totals``."""
    head = ["all", "sum"] if totals else []
    sizes, best = table.choices.sizes, table.choices.best
    columns = [Column("list", ("list",), left=True), Column("items", ("items",))]
    cells: list[Sequence[Any]] = [
        [*head, *table.list_ids],
        [*([int(sizes.sum()), ""] if totals else []), *sizes.tolist()],
    ]
    blank = [""] * len(head)
    if best is not None:
        shown = partial(value_text, digits=max(table.digits.values()))
        columns.append(Column("best", ("best",), shown, note=BEST))
        cells.append([*blank, *best.tolist()])
    for system in table.systems:
        group = Group(system, "first-best" if system == FIRST_BEST else system)
        columns.append(Column("chosen", ("chosen",), group=group, note=CHOSEN))
        cells.append([*blank, *(name or None for name in table.choices.chosen[system])])
        for metric, digits in table.digits.items():
            shown = partial(value_text, digits=digits)
            columns.append(Column(metric, (metric,), shown, group, narrow=metric.replace(".", ".\n", 1)))
            ends = [table.corpus[system, metric], table.sum_of(system, metric)] if totals else []
            cells.append([*ends, *table.values[system, metric].tolist()])
    rows = tuple(Row(values, i < len(head)) for i, values in enumerate(zip(*cells, strict=True)))
    return Sheet(
        tuple(columns),
        rows,
        notes=(TOTALS,) if totals else (),
        signatures=tuple(table.signatures),
        group_key="system",
        together=False,
    )
