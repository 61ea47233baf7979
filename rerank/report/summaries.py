"""The numbers of experiments as tables for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rerank.core.tables.sheet import Column, Group, Row, Sheet
from rerank.core.tables.text import WIDTH, Drawing, Part, beside, block, sheet_tables
from rerank.core.text import count
from rerank.evaluation.evaluate import FIRST_BEST
from rerank.evaluation.pairs import Pair
from rerank.evaluation.summary import REFERENCES, MetricSummary, RowSummary, Summary
from rerank.report.comparisons import detectable_note, pair_sheet
from rerank.report.tables import (
    SIGNIFICANT,
    gap_text,
    interval_text,
    lists_of,
    lists_text,
    p_text,
    signed_interval,
    signed_text,
    value_text,
)

SPELLED = {FIRST_BEST: "first-best"}


def summary_parts(summary: Summary) -> list[Part]:
    """Return tables, paragraphs and notes of one experiment, with empty lines between them.

    If there are several metrics, a table of all values comes first.
    """
    out: list[Part] = [heading(summary), ""]
    metrics = list(summary.metrics.values())
    if len(metrics) > 1:
        out += [_overview(summary, metrics), ""]
    for found in metrics:
        out += [_details(summary, found), ""]
        if summary.all_pairs and found.pairs:
            pairs = pair_sheet({_group(found): (found.pairs, found.info.digits)}, summary.level)
            out += [*sheet_tables(pairs, WIDTH)[0], ""]
        if len(summary.shares) > 1:
            out += [f"{found.info.typed} by share of the training lists", _by_share(summary, found), ""]
    return [
        *out,
        *_explanations(summary),
        *signatures(summary),
        *(f"note: {text}" for text in summary.notes),
    ]


def heading(summary: Summary) -> str:
    """Return the name of an experiment and the size of its test lists."""
    lists = sum(fold.lists for fold in summary.folds)
    items = sum(fold.items for fold in summary.folds)
    unjudged = sum(fold.unjudged for fold in summary.folds)
    parts = [count(lists, "test list"), count(items, "item")]
    if len(summary.folds) > 1:
        parts.insert(0, count(len(summary.folds), "fold"))
    text = f"{summary.name}: {', '.join(parts)}"
    return f"{text}; {count(unjudged, 'list')} without a judged item left out" if unjudged else text


def spelled(name: str) -> str:
    """Return the name of a row or a reference as tables have it."""
    return SPELLED.get(name, name)


def references_of(metrics: Sequence[MetricSummary]) -> list[str]:
    """Return the references that the metrics have, in the order of tables."""
    return [name for name in REFERENCES if name in metrics[0].references]


def row_names(summary: Summary) -> list[str]:
    """Return the rows, with a remark at the baseline."""
    return [f"{name} (baseline)" if name == summary.baseline else name for name in summary.rows]


def title(found: MetricSummary) -> str:
    """Return the metric as typed, with a remark if lower values are better."""
    return found.info.typed if found.info.better > 0 else f"{found.info.typed} (lower is better)"


def star(pair: Pair | None) -> str:
    """Return a star if a difference is significant after Holm's correction, else a blank."""
    return "*" if pair is not None and pair.holm is not None and pair.holm < SIGNIFICANT else " "


def _group(found: MetricSummary) -> Group:
    return Group(found.info.name, title(found))


def summary_sheets(summary: Summary, *, tests: bool) -> list[Sheet]:
    """Return values by row and metric at each share, and ``tests`` of two rows in further tables."""
    metrics = list(summary.metrics.values())
    sheets = [_value_sheet(summary, metrics, summary.share)]
    sheets += [_value_sheet(summary, metrics, share) for share in summary.shares if share != summary.share]
    if tests and any(found.pairs for found in metrics):
        groups = {_group(found): (found.pairs, found.info.digits) for found in metrics}
        sheets.append(pair_sheet(groups, summary.level))
    return sheets


def _value_sheet(summary: Summary, metrics: Sequence[MetricSummary], share: int) -> Sheet:
    """References and rows with their values and intervals at a share of the training lists."""
    references = references_of(metrics)
    columns = [Column("", ("row",), left=True)]
    cells: list[Sequence[Any]] = [[*map(spelled, references), *row_names(summary)]]
    for found in metrics:
        digits, group = found.info.digits, _group(found)
        rows = [shares.get(share) for shares in found.rows.values()]
        shown = partial(value_text, digits=digits)
        columns.append(Column("value", ("value",), shown, group, star="paper", better=found.info.better))
        values = [None if row is None else row.value for row in rows]
        cells.append([*(getattr(found.info, name) for name in references), *values])
        head, interval = f"{100 * summary.level:.6g}% interval", partial(interval_text, digits=digits)
        columns.append(Column(head, ("low", "high"), interval, group, bracketed=True))
        cells.append([*[""] * len(references), *(None if row is None else row.ci for row in rows)])
    at = f"{share} % of the training lists" if len(summary.shares) > 1 else ""
    return Sheet(
        tuple(columns),
        tuple(_rows(summary, metrics, cells, len(references), tested=share == summary.share)),
        title=". ".join(filter(None, [heading(summary), at])),
        notes=(*caption_lines(summary), *(f"note: {text}" for text in summary.notes)),
        signatures=tuple(signatures(summary)),
    )


def _rows(
    summary: Summary,
    metrics: Sequence[MetricSummary],
    cells: Sequence[Sequence[Any]],
    references: int,
    tested: bool,
) -> Iterator[Row]:
    """The rows of a sheet of values; those that differ from the baseline are marked."""
    names = [None] * references + list(summary.rows)
    for i, (name, values) in enumerate(zip(names, zip(*cells, strict=True), strict=True)):
        differs = (
            found.info.name
            for found in metrics
            if name and star(found.against(name, summary.baseline)) == "*"
        )
        yield Row(values, i < references, frozenset(differs if tested else ()))


def _overview(summary: Summary, metrics: Sequence[MetricSummary]) -> Drawing:
    """Values and intervals of all metrics."""
    references = references_of(metrics)
    titles = [""]
    blocks = [_names(summary, references)]
    for found in metrics:
        rows = [[value_text(getattr(found.info, name), found.info.digits), ""] for name in references]
        for name in summary.rows:
            row = found.rows[name][summary.share]
            mark, digits = star(found.against(name, summary.baseline)), found.info.digits
            rows.append([value_text(row.value, digits) + mark, interval_text(row.ci, digits)])
        titles.append(title(found))
        blocks.append(block(["value ", f"{100 * summary.level:.4g}% int."], rows, dim=len(references)))
    return beside(titles, blocks)


def _names(summary: Summary, references: Sequence[str]) -> Drawing:
    names = [*map(spelled, references), *row_names(summary)]
    return block([" "], [[name] for name in names], left=1, dim=len(references))


def _details(summary: Summary, found: MetricSummary) -> Drawing:
    """One metric: values with their spread, and differences from the baseline."""
    references = references_of([found])
    rows = [found.rows[name][summary.share] for name in summary.rows]
    values = _value_columns(summary, found, rows, references)
    blocks = [_names(summary, references), _columns(values, len(references))]
    titles = ["", title(found)]
    if summary.baseline is not None:
        pairs = [found.against(name, summary.baseline) for name in summary.rows]
        blocks.append(_columns(_difference_columns(found, pairs, len(references)), len(references)))
        titles.append(f"difference from {spelled(summary.baseline)}")
    return beside(titles, blocks)


def _columns(columns: Mapping[str, Sequence[str]], dim: int) -> Drawing:
    return block(list(columns), list(zip(*columns.values(), strict=True)), dim=dim)


def _value_columns(
    summary: Summary, found: MetricSummary, rows: Sequence[RowSummary], references: Sequence[str]
) -> dict[str, list[str]]:
    info, digits = found.info, found.info.digits
    blank = [""] * len(references)
    values = [*(getattr(info, name) for name in references), *(row.value for row in rows)]
    columns = {"value": [value_text(value, digits) for value in values]}
    columns[f"{100 * summary.level:.4g}% int."] = [*blank, *(interval_text(row.ci, digits) for row in rows)]
    if len(summary.folds) > 1:
        spreads = [*(found.references[name] for name in references), *(row.by_fold for row in rows)]
        columns["folds"] = [_spread(values, digits) for values in spreads]
    if any(row.sd_seeds is not None for row in rows):
        columns["seeds"] = [*blank, *(str(len(row.seeds)) for row in rows)]
        columns["sd"] = [*blank, *(value_text(row.sd_seeds, digits) for row in rows)]
    if info.first_best is not None:
        columns["gap"] = [*blank, *(gap_text(row.gap) for row in rows)]
    return columns


def _spread(values: Sequence[float], digits: int) -> str:
    """The smallest and the largest value over folds."""
    known = [value for value in values if value == value]
    return interval_text((min(known), max(known)), digits) if known else "-"


def _difference_columns(
    found: MetricSummary, pairs: Sequence[Pair | None], references: int
) -> dict[str, list[str]]:
    digits = found.info.digits

    def p_values(key: str) -> list[str]:
        return [p_text(getattr(pair, key, None)) for pair in pairs]

    columns = {
        "value": [signed_text(getattr(pair, "difference", None), digits) for pair in pairs],
        "interval": [signed_interval(getattr(pair, "ci", None), digits) for pair in pairs],
        "p": p_values("p_bootstrap"),
        "Holm": [p + star(pair) for p, pair in zip(p_values("holm"), pairs, strict=True)],
        "Wilcoxon": p_values("p_wilcoxon"),
    }
    if any(pair is not None and pair.p_mcnemar is not None for pair in pairs):
        columns["McNemar"] = p_values("p_mcnemar")
    columns["won/tied/lost"] = [lists_text(lists_of(pair)) for pair in pairs]
    columns["detectable"] = [value_text(getattr(pair, "detectable", None), digits) for pair in pairs]
    return {head: [""] * references + cells for head, cells in columns.items()}


def _by_share(summary: Summary, found: MetricSummary) -> Drawing:
    """Values and intervals of each share."""
    digits = found.info.digits
    blocks = [block([" "], [[name] for name in summary.rows], left=1)]
    for share in summary.shares:
        cells = []
        for of in found.rows.values():
            row = of.get(share)
            value, ci = (None, None) if row is None else (row.value, row.ci)
            cells.append([value_text(value, digits), interval_text(ci, digits)])
        blocks.append(block(["value", "interval"], cells))
    return beside(["", *(f"{share} %" for share in summary.shares)], blocks)


def caption_lines(summary: Summary) -> list[str]:
    """Return what the columns of values and tests mean."""
    several = len(summary.folds) > 1
    rows = [row for found in summary.metrics.values() for of in found.rows.values() for row in of.values()]
    tests = max(len(found.pairs) for found in summary.metrics.values())
    lines = []
    if several:
        lines.append("value: mean over folds")
    if any(row.sd_seeds is not None for row in rows):
        lines.append("rows with several seeds: mean over seeds")
    how = f"{summary.samples} resamples of the lists{' within each fold' * several}, seed {summary.seed}"
    lines.append(f"interval: {100 * summary.level:.6g}% percentile interval of {how}")
    if tests:
        against = "" if summary.baseline is None else f" against {spelled(summary.baseline)}"
        many = f" after Holm's correction for {count(tests, 'test')} of the metric" if tests > 1 else ""
        lines.append(f"p: paired bootstrap{against}, two-sided; * p < {SIGNIFICANT}{many}")
    if len(summary.shares) > 1:
        lines.append(f"rows are tested at {summary.share} % of the training lists")
    return lines


def _explanations(summary: Summary) -> list[str]:
    """What the columns of text mean."""
    lines = caption_lines(summary)
    if len(summary.folds) > 1:
        lines.append("folds: smallest and largest value of a fold")
    rows = [row for found in summary.metrics.values() for of in found.rows.values() for row in of.values()]
    if any(row.sd_seeds is not None for row in rows):
        lines.append("sd: standard deviation over seeds")
    if any(found.info.first_best is not None for found in summary.metrics.values()):
        lines.append("gap: share of the way from first-best to oracle")
    if any(found.pairs for found in summary.metrics.values()):
        if len(summary.folds) > 1:
            lines.append("Wilcoxon, McNemar, won/tied/lost: over the lists of all folds")
        lines.append(detectable_note(summary.level))
    return lines


def signatures(summary: Summary) -> list[str]:
    """Return the signatures of the metrics."""
    return [found.info.signature for found in summary.metrics.values()]
