"""The numbers of experiments as records, one for each value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rerank.core.tables.sheet import Scalar
from rerank.evaluation.pairs import Pair
from rerank.evaluation.summary import MetricSummary, RowSummary, Summary

VALUE = ("set", "metric", "row", "share", "fold", "seed", "value", "low", "high", "sd_seeds")
TEST = ("against", "difference", "difference_low", "difference_high", "p", "holm", "wilcoxon", "mcnemar")
KEYS = (*VALUE, *TEST, "wins", "ties", "losses")


def value_records(summaries: Sequence[Summary]) -> Iterator[dict[str, Scalar]]:
    """Yield a record for each value.

    Records without a fold and a seed have the value over all of them, its interval, and the test against
    the baseline; with ``--all-pairs`` each test has a record without a value. References are rows without a
    share.
    """
    for summary in summaries:
        for found in summary.metrics.values():
            yield from _records(summary, found)


def _records(summary: Summary, found: MetricSummary) -> Iterator[dict[str, Scalar]]:
    """The records of one metric."""
    folds = [fold.name for fold in summary.folds]
    metric: dict[str, Scalar] = {"set": summary.name, "metric": found.info.name}
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


def _whole(row: RowSummary) -> dict[str, Scalar]:
    low, high = row.ci or (None, None)
    return {"value": row.value, "low": low, "high": high, "sd_seeds": row.sd_seeds}


def _test(pair: Pair) -> dict[str, Scalar]:
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
