"""The numbers of experiments as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rerank.errors import printable
from rerank.evaluation.ranks import Ranks
from rerank.evaluation.summary import MetricSummary, Summary
from rerank.report.comparisons import pair_cells
from rerank.report.rows import rank_tests, rank_title
from rerank.report.summaries import (
    best_texts,
    caption_lines,
    heading,
    reference_cells,
    references_of,
    row_names,
    signatures,
    spelled,
    star,
    title,
)
from rerank.report.tables import interval_text, value_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is, also in a cell of a table."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def markdown_text(summaries: Sequence[Summary], ranks: Mapping[str, Ranks], notes: Sequence[str]) -> str:
    """Return tables of values, tests and ranks with their explanations."""
    out: list[str] = []
    for summary in summaries:
        metrics = list(summary.metrics.values())
        out += [f"**{escaped(heading(summary))}**", "", *_values(summary, metrics), ""]
        for share in summary.shares if len(summary.shares) > 1 else ():
            if share != summary.share:
                out += [f"{share} % of the training lists:", "", *_values(summary, metrics, share), ""]
        for found in metrics:
            if found.pairs:
                heads, rows = pair_cells(found.pairs, found.info.digits)
                out += [f"{escaped(found.info.typed)}:", "", *_table(heads, rows, left=2), ""]
        lines = ["bold: the best value", *caption_lines(summary), *signatures(summary)]
        out += [
            *(f"- {escaped(line)}" for line in (*lines, *(f"note: {text}" for text in summary.notes))),
            "",
        ]
    for metric, found_ranks in ranks.items():
        rows = [(name, f"{rank:.3f}") for name, rank in found_ranks.average.items()]
        out += [f"{escaped(rank_title(metric, found_ranks))}:", "", *_table(("", "rank"), rows), ""]
        out += [*(f"- {escaped(line)}" for line in rank_tests(found_ranks)), ""]
    out += [f"- note: {escaped(text)}" for text in notes]
    return "\n".join(out).rstrip("\n") + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """A table whose cells are escaped."""
    lines = [[escaped(cell) for cell in row] for row in (heads, *rows)]
    return _lines(lines[0], lines[1:], left)


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    rule = [":--" if j < left else "--:" for j in range(len(heads))]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def _values(summary: Summary, metrics: Sequence[MetricSummary], share: int | None = None) -> list[str]:
    """Rows by metric: value, star and interval; the best value of a metric is bold."""
    rows = [[f"*{spelled(name)}*", *reference_cells(metrics, name)] for name in references_of(metrics)]
    columns = [_column(summary, found, summary.share if share is None else share) for found in metrics]
    names = [escaped(name) for name in row_names(summary)]
    rows += [list(row) for row in zip(names, *columns, strict=True)]
    return _lines(["", *(escaped(title(found)) for found in metrics)], rows)


def _column(summary: Summary, found: MetricSummary, share: int) -> list[str]:
    best = best_texts(found, share)
    cells = []
    for name, shares in found.rows.items():
        row, digits = shares.get(share), found.info.digits
        if row is None:
            cells.append("-")
            continue
        text = value_text(row.value, digits)
        shown = f"**{text}**" if text in best else text
        mark = star(found.against(name, summary.baseline)).strip() if share == summary.share else ""
        cells.append(f"{shown}{escaped(mark)} \\[{interval_text(row.ci, digits)}\\]")
    return cells
