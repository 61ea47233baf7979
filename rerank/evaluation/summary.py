"""The numbers of a report: values, intervals, references and paired tests over folds, seeds and shares.

``resampling`` defines them; with one fold and one seed they are those of ``evaluate`` and ``compare_all``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rerank.core.text import count, some
from rerank.data.overlap import shared_ids
from rerank.evaluation.bootstrap import BootstrapTable, judged_by_any
from rerank.evaluation.evaluate import FIRST_BEST, MetricInfo, gap_of
from rerank.evaluation.pairs import Pair, pairs_of, plain
from rerank.evaluation.results import Results

REFERENCES = (FIRST_BEST, "random", "oracle")


@dataclass(frozen=True)
class FoldSize:
    """The test lists of a fold; ``unjudged`` ones have no item that a metric can judge."""

    name: str
    lists: int
    items: int
    unjudged: int


@dataclass(frozen=True)
class RowSummary:
    """A row by one metric, trained on one share of the training lists.

    Attributes
    ----------
    value : float
        The mean over folds of the mean over seeds; NaN if a fold that counts has none.
    ci : (float, float), optional
        Percentile interval: lists are resampled within each fold.
    gap : float, optional
        Share of the way from first-best to oracle.
    values : tuple of tuples of float
        For each fold, the value of each seed; NaN without a value.
    by_fold : tuple of float
        The mean over seeds in each fold.
    by_seed : tuple of float
        The mean over folds of each seed.
    seeds : tuple of int, optional
        In the order of ``by_seed``; a learner that draws nothing has one, None.
    sd_seeds : float, optional
        Standard deviation of ``by_seed``, divided by n - 1; None for one seed.
    """

    value: float
    ci: tuple[float, float] | None
    gap: float | None
    values: tuple[tuple[float, ...], ...]
    by_fold: tuple[float, ...]
    by_seed: tuple[float, ...]
    seeds: tuple[int | None, ...]
    sd_seeds: float | None


@dataclass(frozen=True, eq=False)
class MetricSummary:
    """All rows by one metric.

    Attributes
    ----------
    info : MetricInfo
        Names, signature and references; these are means over the folds that count.
    lists : int
        Lists that the metric can judge.
    folds_left_out : tuple of str
        Folds in which no row has a value: means are over the others.
    references : mapping of str to tuple of float
        first_best (if the lists have an order), random and oracle in each fold.
    rows : mapping of str to mapping of int to RowSummary
        By row and share.
    pairs : tuple of Pair
        Paired tests at the share that rows are compared at: every row against the baseline, or all pairs.
    """

    info: MetricInfo
    lists: int
    folds_left_out: tuple[str, ...]
    references: Mapping[str, tuple[float, ...]]
    rows: Mapping[str, Mapping[int, RowSummary]]
    pairs: tuple[Pair, ...]

    def against(self, row: str, baseline: str | None) -> Pair | None:
        """Return the test of a row against the baseline, None if there is none."""
        return next((pair for pair in self.pairs if (pair.a, pair.b) == (row, baseline)), None)


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of one experiment.

    Attributes
    ----------
    name : str
    folds : tuple of FoldSize
    share : int
        Percent of the training lists that rows are compared at.
    shares : tuple of int
    baseline : str, optional
        The row or "first_best" that rows are tested against; None if there is none or all pairs are tested.
    all_pairs : bool
        Whether every two rows are tested.
    samples, level, seed
        Of the bootstrap.
    metrics : mapping of str to MetricSummary
        By metric as typed.
    notes : tuple of str
        What a reader must know.
    """

    name: str
    folds: tuple[FoldSize, ...]
    share: int
    shares: tuple[int, ...]
    baseline: str | None
    all_pairs: bool
    samples: int
    level: float
    seed: int
    metrics: Mapping[str, MetricSummary]
    notes: tuple[str, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows, in the order of the results."""
        return tuple(next(iter(self.metrics.values())).rows)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; None replaces absent values and NaN."""
        return {
            "name": self.name,
            "folds": [asdict(fold) for fold in self.folds],
            "baseline": self.baseline,
            "all_pairs": self.all_pairs,
            "share": self.share,
            "bootstrap": {"samples": self.samples, "level": self.level, "seed": self.seed},
            "metrics": {
                found.info.name: _metric_json(found, self.baseline) for found in self.metrics.values()
            },
            "notes": list(self.notes),
        }


def _metric_json(found: MetricSummary, baseline: str | None) -> dict[str, Any]:
    info = found.info
    rows = []
    for name, shares in found.rows.items():
        for share, row in shares.items():
            rows.append({"name": name, "share": share, **asdict(row)})
    references = {
        name: {"value": getattr(info, name), "by_fold": of} for name, of in found.references.items()
    }
    return plain(
        {
            "typed": info.typed,
            "signature": info.signature,
            "better": info.better,
            "lists": found.lists,
            "folds_left_out": found.folds_left_out,
            "references": references,
            "rows": rows,
            "pairs": [asdict(pair) for pair in found.pairs],
        }
    )


def summarise(results: Results, *, all_pairs: bool = False) -> Summary:
    """Return the numbers of a report.

    Parameters
    ----------
    results : Results
    all_pairs : bool
        Test every two rows, with Holm's correction for all pairs, in place of every row against the baseline.
    """
    share = results.share
    judges = [[part.judges[metric] for part in results.parts] for metric in results.metrics]
    judged = [judged_by_any(part.judges.values()) for part in results.parts]

    def table_of(share: int) -> BootstrapTable:
        names = [name for name, shares in results.systems.items() if share in shares]
        if results.has_first_best:
            names.append(FIRST_BEST)
        rows = {
            name: [results.statistics(name, metric, share) for metric in results.metrics] for name in names
        }
        return BootstrapTable(judges, rows, judged, results.samples, results.seed)

    tables = {share: table_of(share) for share in sorted({*results.shares, share})}
    baseline = None if all_pairs else results.baseline
    if all_pairs:
        names = list(combinations(results.systems, 2))
    else:
        names = [(name, baseline) for name in results.systems if baseline not in (None, name)]
    metrics = {
        metric: _metric_summary(results, tables, m, tuple(pairs_of(tables[share], names, m, results.level)))
        for m, metric in enumerate(results.metrics)
    }
    folds = tuple(
        FoldSize(part.name, part.lists.n_lists, part.lists.n_items, int(np.count_nonzero(~mask)))
        for part, mask in zip(results.parts, judged, strict=True)
    )
    return Summary(
        results.name,
        folds,
        share,
        results.shares or (share,),
        baseline,
        all_pairs,
        results.samples,
        results.level,
        results.seed,
        metrics,
        (*results.notes, *_notes(metrics, folds), *_id_note(results)),
    )


def _metric_summary(
    results: Results, tables: Mapping[int, BootstrapTable], m: int, pairs: tuple[Pair, ...]
) -> MetricSummary:
    """All rows by metric m."""
    table = tables[results.share]
    judges = table.judges[m]
    counted = table.folds(m)
    references = {
        "random": tuple(judge.random() for judge in judges),
        "oracle": tuple(judge.oracle() for judge in judges),
    }
    if results.has_first_best:
        references = {FIRST_BEST: tuple(table.by_fold(FIRST_BEST, m).tolist()), **references}
    means = {name: _mean(values, counted) for name, values in references.items()}
    judge = judges[0]
    info = MetricInfo(
        name=judge.name,
        typed=results.metrics[m],
        signature=judge.signature,
        better=judge.better,
        digits=judge.digits,
        first_best=means.get(FIRST_BEST),
        random=means["random"],
        oracle=means["oracle"],
    )
    rows = {
        name: {
            share: _row_summary(results, tables[share], name, share, m, info)
            for share in sorted(results.systems[name])
        }
        for name in results.systems
    }
    names = [part.name for part in results.parts]
    return MetricSummary(
        info,
        sum(int(np.count_nonzero(judge.judged)) for judge in judges),
        tuple(name for k, name in enumerate(names) if k not in counted),
        references,
        rows,
        pairs,
    )


def _row_summary(
    results: Results, table: BootstrapTable, name: str, share: int, m: int, info: MetricInfo
) -> RowSummary:
    by_seed = table.by_seed(name, m)
    value = table.value(name, m)
    return RowSummary(
        value,
        table.interval(name, m, results.level),
        gap_of(value, info),
        tuple(map(tuple, table.values(name, m).tolist())),
        tuple(table.by_fold(name, m).tolist()),
        tuple(by_seed.tolist()),
        tuple(outcome.seed for outcome in results.outcomes(name, share)[0]),
        float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else None,
    )


def _mean(values: Sequence[float], counted: Sequence[int]) -> float:
    """The mean over the folds that count."""
    return float(np.mean([values[k] for k in counted])) if counted else float("nan")


def _notes(metrics: Mapping[str, MetricSummary], folds: Sequence[FoldSize]) -> list[str]:
    """What the values are not: means over all folds, over all lists."""
    notes = []
    sizes = [fold.lists - fold.unjudged for fold in folds]
    judged = sum(sizes)
    if max(sizes) == 1 < judged:
        notes.append("no fold has two judged lists: intervals and the bootstrap's p show nothing")
    for typed, found in metrics.items():
        left_out = found.folds_left_out
        if len(left_out) == len(folds):
            notes.append(f"{typed}: no list counts, so that there is no value")
        elif left_out:
            rest = count(len(folds) - len(left_out), "fold")
            notes.append(f"{typed}: no list of fold {some(left_out)} counts; means are over the other {rest}")
        if found.lists < judged:
            notes.append(f"{typed}: judges {found.lists} of the {judged} judged lists")
        for name, shares in found.rows.items():
            lacking = [share for share, row in shares.items() if row.value != row.value]
            if lacking and len(left_out) < len(folds):
                notes.append(f"{typed}: {name} has no value in a fold, so that there is no mean")
    return notes


def _id_note(results: Results) -> list[str]:
    """A note if folds have equal ids: these lists were found to differ, or the results had been refused."""
    n = sum(1 for _ in shared_ids([part.lists for part in results.parts]))
    what = "list id is", "list ids are"
    return [f"{count(n, *what)} in several folds, with other contents: taken as different lists"] if n else []
