"""Pairwise comparisons as tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Literal, TextIO

from rerank.core.tables.sheet import RECORD, Column, Group, Row, Sheet
from rerank.core.tables.text import WIDTH, Part, drawn, room, sheet_tables, show
from rerank.core.text import count
from rerank.evaluation.compare import Comparisons
from rerank.evaluation.pairs import Pair
from rerank.evaluation.power import POWER
from rerank.report.tables import (
    SIGNIFICANT,
    lists_of,
    lists_text,
    p_text,
    signed_interval,
    signed_text,
    value_text,
)

P_VALUES = {  # by key: head and explanation
    "p_bootstrap": ("p bootstrap", "p bootstrap: paired bootstrap, which draws lists with replacement"),
    "holm": ("p Holm", ""),
    "p_randomisation": (
        "p random.",
        "p random.: approximate randomisation, which swaps the systems list by list",
    ),
    "p_wilcoxon": ("p Wilcoxon", "p Wilcoxon: signed-rank test of the lists' values"),
    "p_t": ("p t-test", "p t-test: paired t-test of the lists' values"),
    "p_mcnemar": ("p McNemar", "p McNemar: exact test of the lists won and lost, as each value is 0 or 1"),
}


def comparison_text(found: Comparisons, width: int = WIDTH) -> str:
    """Return the whole report: a table for each metric, then how it was made."""
    return "".join(f"{line}\n" for part in _parts(found, width) for line in drawn(part))


def print_comparisons(found: Comparisons, stream: TextIO | None = None) -> None:
    """Write the report to ``stream`` (standard output); tables fit a terminal."""
    stream = sys.stdout if stream is None else stream
    show(_parts(found, room(stream), fitting=stream.isatty()), stream)


def _parts(found: Comparisons, width: int, *, fitting: bool = False) -> list[Part]:
    sheet = comparison_sheet(found)
    tables, notes = sheet_tables(sheet, width, fitting=fitting)
    out: list[Part] = []
    for table in tables:
        out += [table, ""]
    return [*out, *notes, *sheet.signatures]


def comparison_sheet(found: Comparisons) -> Sheet:
    """Return pairs by row, the values and tests of each metric in a group."""
    groups = {
        Group(name, found.typed[name]): (pairs, found.digits[name]) for name, pairs in found.pairs.items()
    }
    size = f"{count(found.n_lists, 'list')}, {count(found.n_items, 'item')}"
    if found.unjudged:
        size += f"; {count(found.unjudged, 'list')} without a judged item left out"
    how = f"{found.samples} resamples of the lists, seed {found.seed}"
    of_interval = f"interval of A - B: {100 * found.level:.6g}% percentile interval of {how}"
    return pair_sheet(groups, found.level, (size, of_interval), tuple(found.signatures.values()))


def detectable_note(level: float) -> str:
    """Return what the column of detectable differences is."""
    tests = f"tests of these lists at {1 - level:.6g}"
    return f"detectable: smallest difference that {tests} find in {POWER:.0%} of samples"


def pair_sheet(
    groups: Mapping[Group, tuple[Sequence[Pair], int]],
    level: float,
    notes: tuple[str, ...] = (),
    signatures: tuple[str, ...] = (),
) -> Sheet:
    """Return a sheet of pairs, the same ones in each group, which come with the decimals of its metric."""
    columns = [Column("A", ("a",), left=True), Column("B", ("b",), left=True)]
    first, _ = next(iter(groups.values()))
    cells: list[Sequence[Any]] = [[pair.a for pair in first], [pair.b for pair in first]]
    stars: list[set[str]] = [set() for _ in first]
    for group, (pairs, digits) in groups.items():
        of_metric = _columns(group, pairs, digits, level)
        columns += of_metric
        cells += of_metric.values()
        for found, pair in zip(stars, pairs, strict=True):
            found |= {group.name} if pair.holm is not None and pair.holm < SIGNIFICANT else set()
    rows = [Row(row, stars=frozenset(own)) for row, own in zip(zip(*cells, strict=True), stars, strict=True)]
    of_holm = f"p Holm: p bootstrap corrected for {count(len(first), 'pair')}; * p < {SIGNIFICANT}"
    notes = (*notes, "p: two-sided", of_holm)
    return Sheet(tuple(columns), tuple(rows), notes=notes, signatures=signatures, together=False)


def _columns(group: Group, pairs: Sequence[Pair], digits: int, level: float) -> dict[Column, Sequence[Any]]:
    """The columns of one metric with their cells."""
    value = partial(value_text, digits=digits)
    interval = partial(signed_interval, digits=digits)
    outcomes = any(pair.p_mcnemar is not None for pair in pairs)
    columns = [
        Column("value A", ("value_a",), value, group),
        Column("value B", ("value_b",), value, group),
        Column("A - B", ("difference",), partial(signed_text, digits=digits), group),
        Column("interval", ("low", "high"), interval, group, bracketed=True),
        *(_p_column(key, group) for key in P_VALUES if key != "p_mcnemar" or outcomes),
        Column("p sacrebleu", ("p_sacrebleu",), p_text, group, level=RECORD),
        Column("won/tied/lost", ("wins", "ties", "losses"), lists_text, group),
        Column("detectable", ("detectable",), value, group, note=detectable_note(level)),
        *([Column("by McNemar", ("detectable_mcnemar",), value, group)] if outcomes else []),
    ]
    special = {"low": lambda pair: pair.ci, "wins": lists_of}
    return {
        column: [special.get(column.keys[0], attrgetter(column.keys[0]))(pair) for pair in pairs]
        for column in columns
    }


def _p_column(key: str, group: Group) -> Column:
    """The column of a test."""
    head, note = P_VALUES[key]
    star: Literal["both", ""] = "both" if key == "holm" else ""
    return Column(head, (key,), p_text, group, narrow=head.replace(" ", "\n"), star=star, note=note)
