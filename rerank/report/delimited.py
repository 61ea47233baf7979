"""The numbers of experiments as CSV, one line for each value."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

from rerank.evaluation.pairs import Pair
from rerank.evaluation.summary import MetricSummary, RowSummary, Summary

VALUE = ("set", "metric", "row", "share", "fold", "seed", "value", "low", "high", "sd_seeds")
TEST = ("against", "difference", "difference_low", "difference_high", "p", "holm", "wilcoxon", "mcnemar")
HEADS = (*VALUE, *TEST, "wins", "ties", "losses")

Cell = str | int | float | None


def csv_text(summaries: Sequence[Summary]) -> str:
    """Return a table with a line for each value; what a line does not have is empty.

    Lines without a fold and a seed have the value over all of them, its interval, and the test against the
    baseline; with ``--all-pairs`` each test has a line without a value. References are rows without a share.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADS)
    for summary in summaries:
        for found in summary.metrics.values():
            for line in _lines(summary, found):
                writer.writerow([_text(line.get(head)) for head in HEADS])
    return out.getvalue()


def _text(cell: Cell) -> str:
    """A cell; numbers have their shortest form, NaN is empty."""
    if cell is None or cell != cell:
        return ""
    return cell if isinstance(cell, str) else repr(cell)


def _lines(summary: Summary, found: MetricSummary) -> Iterator[dict[str, Cell]]:
    """The lines of one metric."""
    folds = [fold.name for fold in summary.folds]
    metric: dict[str, Cell] = {"set": summary.name, "metric": found.info.name}
    for name, by_fold in found.references.items():
        yield metric | {"row": name, "value": getattr(found.info, name)}
        for fold, value in zip(folds, by_fold, strict=True):
            yield metric | {"row": name, "fold": fold, "value": value}
    for name, shares in found.rows.items():
        for share, row in shares.items():
            own = metric | {"row": name, "share": share}
            pair = found.against(name, summary.baseline) if share == summary.share else None
            yield own | _whole(row) | ({} if pair is None else _test(pair))
            for fold, values in zip(folds, row.values, strict=True):
                for seed, value in zip(row.seeds, values, strict=True):
                    yield own | {"fold": fold, "seed": seed, "value": value}
    if summary.all_pairs:
        for pair in found.pairs:
            yield metric | {"row": pair.a, "share": summary.share} | _test(pair)


def _whole(row: RowSummary) -> dict[str, Cell]:
    low, high = row.ci or (None, None)
    return {"value": row.value, "low": low, "high": high, "sd_seeds": row.sd_seeds}


def _test(pair: Pair) -> dict[str, Cell]:
    low, high = pair.ci or (None, None)
    return {
        "against": pair.b,
        "difference": pair.difference,
        "difference_low": low,
        "difference_high": high,
        "p": pair.p_bootstrap,
        "holm": pair.holm,
        "wilcoxon": pair.p_wilcoxon,
        "mcnemar": pair.p_mcnemar,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
    }
