"""Tables of the cells that were run: values by fold, intervals, tests, choices and costs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from table_cells.rows import interval_of, pair_row, write_rows
from text_lists.sets import print_rows

import rerank
from rerank import CandidateLists
from rerank.data.joining import joined
from rerank.data.judge import corpus_value
from rerank.data.matrix import Dense
from rerank.data.types import Floats
from rerank.evaluation.compare import compare_all
from rerank.evaluation.pairs import Pair
from rerank.evaluation.significance import holm
from rerank.metrics.base import parse

Record = dict[str, Any]
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Judged:
    """The test lists of each fold and the metrics that judge them.

    Attributes
    ----------
    tests : test lists by fold, without their features; no list is in two folds.
    metrics : names of metrics.
    baseline : the row that the others are tested against.
    samples : resamples of the pooled test lists.
    """

    tests: Sequence[CandidateLists]
    metrics: Sequence[str]
    baseline: str
    samples: int = 2000

    @cached_property
    def whole(self) -> CandidateLists:
        """Return the test lists of all folds."""
        return joined(list(self.tests))

    def by_fold(self, scores: Sequence[Floats], metric: str) -> list[float]:
        """Return the value of a metric on each fold."""
        parts = zip(self.tests, scores, strict=True)
        return [rerank.evaluate(test, of_fold, [metric])[metric] for test, of_fold in parts]


def without_features(lists: CandidateLists) -> CandidateLists:
    """Return the same lists without their features."""
    return lists.with_features(Dense(np.empty((lists.n_items, 0))), None)


def read_records(cells: Mapping[str, Sequence[Path]]) -> dict[str, list[Record]]:
    """Return the records of each row by fold, of the rows whose cells are all there; name the others."""
    found = {}
    for row, paths in cells.items():
        lacking = sum(not path.is_file() for path in paths)
        if lacking:
            print(f"{row}: {lacking} of {len(paths)} cells are missing, left out", file=sys.stderr)
        else:
            found[row] = [json.loads(path.read_text()) for path in paths]
    return found


def tables(
    out: Path,
    judged: Judged,
    records: Mapping[str, Sequence[Record]],
    published: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
) -> None:
    """Write values.tsv, pairs.tsv and choices.tsv to a folder, and print values and costs.

    Parameters
    ----------
    out : the folder.
    judged : what rows are judged on.
    records : the cells of each row, by fold.
    published : values of other rows by metric, by fold.
    """
    scores = {row: [np.array(cell["scores"]) for cell in cells] for row, cells in records.items()}
    pairs = _against_baseline(judged, scores)
    rows = [
        _value_row(judged, row, metric, of_row, pairs.get((row, metric)))
        for row, of_row in scores.items()
        for metric in judged.metrics
    ]
    for row, values in (published or {}).items():
        for metric in judged.metrics:
            if metric in values:
                rows.append(_mean_row(f"published {row}", metric, values[metric]))
    write_rows(out / "values.tsv", rows)
    write_rows(
        out / "pairs.tsv", [{"metric": metric} | pair_row(pair) for (_, metric), pair in pairs.items()]
    )
    write_rows(
        out / "choices.tsv",
        [_choice_row(row, k, cell) for row in records for k, cell in enumerate(records[row], 1)],
    )
    print_rows([("", *judged.metrics), *_printed(judged.metrics, rows)])
    print()
    _print_tests(judged, pairs)
    print()
    print_costs(records, judged.baseline)


def _against_baseline(judged: Judged, scores: Mapping[str, Sequence[Floats]]) -> dict[tuple[str, str], Pair]:
    """Every row against the baseline on the pooled test lists, with Holm's correction within a metric."""
    if judged.baseline not in scores or len(scores) < 2:
        return {}
    # The baseline is the last, so that it is the second of its pairs.
    order = [row for row in scores if row != judged.baseline] + [judged.baseline]
    systems = {row: np.concatenate(scores[row]) for row in order}
    compared = compare_all(judged.whole, systems, judged.metrics, samples=judged.samples)
    found: dict[tuple[str, str], Pair] = {}
    for metric, pairs in compared.pairs.items():
        own = [pair for pair in pairs if pair.b == judged.baseline]
        corrected = holm([pair.p_bootstrap for pair in own])
        for pair, p in zip(own, corrected, strict=True):
            found[pair.a, metric] = replace(pair, holm=p)
    return found


def _value_row(judged: Judged, row: str, metric: str, scores: Sequence[Floats], pair: Pair | None) -> Record:
    """A row's value by fold and on the pooled lists, and its difference from the baseline."""
    judge = parse(metric).prepare(judged.whole)
    statistics = judge.per_list(judged.whole.from_input_order(np.concatenate(scores)))
    low, high = interval_of(judge, statistics, judged.samples)
    pooled = {"pooled": _text(corpus_value(judge, statistics)), "low": _text(low), "high": _text(high)}
    found = _mean_row(row, metric, judged.by_fold(scores, metric)) | pooled
    if pair is None:
        return found
    low, high = pair.ci or (np.nan, np.nan)
    gain = {"difference": f"{pair.difference:+.4f}", "difference_low": f"{low:+.4f}"}
    p = "" if pair.holm is None else f"{pair.holm:.4f}"
    return found | gain | {"difference_high": f"{high:+.4f}", "holm": p}


def _mean_row(row: str, metric: str, values: Sequence[float]) -> Record:
    """The mean over folds, as LETOR reports it, and the value of each fold."""
    folds = {f"fold{k}": _text(value) for k, value in enumerate(values, 1)}
    return {"row": row, "metric": metric, "mean": _text(float(np.mean(values)))} | folds


def _choice_row(row: str, fold: int, cell: Record) -> Record:
    """What a cell chose and what it cost."""
    chosen = {"settings": json.dumps(cell.get("settings", {})), "rounds": cell.get("rounds") or ""}
    value = cell.get("chosen_by")
    cost = {key: f"{cell[key]:.3f}" for key in ("seconds", "with_choosing")}
    dev = "" if value is None else _text(value)
    return {"row": row, "fold": fold, **chosen, "dev": dev, **cost, "memory_mb": cell["memory_mb"]}


def _printed(metrics: Sequence[str], rows: Sequence[Record]) -> list[list[str]]:
    """Means over folds with the intervals of the pooled lists, a line for each row."""
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        interval = f" [{row['low'][1:]}, {row['high'][1:]}]" if "low" in row else ""
        lines.setdefault(row["row"], {})[row["metric"]] = f"{row['mean']}{interval}"
    return [[name, *(values.get(metric, "") for metric in metrics)] for name, values in lines.items()]


def _print_tests(judged: Judged, pairs: Mapping[tuple[str, str], Pair]) -> None:
    """The differences from the baseline that are significant, metric by metric."""
    for metric in judged.metrics:
        own = [pair for (_, name), pair in pairs.items() if name == metric]
        if not own:
            continue
        sure = [pair for pair in own if pair.holm is not None and pair.holm < _LEVEL]
        parts = []
        for pair in sure:
            low, high = pair.ci or (np.nan, np.nan)
            parts.append(f"{pair.a} {pair.difference:+.4f} [{low:+.4f}, {high:+.4f}] p {pair.holm:.3f}")
        print(
            f"{metric}: of {len(own)} rows, {len(sure)} differ significantly from {judged.baseline} (p < "
            f"{_LEVEL} after Holm's correction){': ' if parts else ''}{'; '.join(parts)}"
        )


def print_costs(records: Mapping[str, Sequence[Record]], baseline: str) -> None:
    """Print the CPU seconds of training, summed over folds, and their ratio to the baseline's."""
    lines: list[Sequence[str]] = [("", "CPU s", f"x {baseline}", "with choosing", "MB")]
    sums = {row: sum(cell["seconds"] for cell in cells) for row, cells in records.items()}
    for row, cells in records.items():
        ratio = f"{sums[row] / sums[baseline]:.2f}" if sums.get(baseline) else ""
        whole = sum(cell["with_choosing"] for cell in cells)
        peak = max(cell["memory_mb"] for cell in cells)
        lines.append((row, f"{sums[row]:.2f}", ratio, f"{whole:.2f}", str(peak)))
    print_rows(lines)


def print_spread(row: str, judged: Judged, records: Mapping[str, Sequence[Record]]) -> None:
    """Print the range of the mean over folds, over the choices of a row's grid."""
    for metric in judged.metrics:
        means = [
            float(np.mean(judged.by_fold([np.array(cell["scores"]) for cell in cells], metric)))
            for cells in records.values()
        ]
        if means:
            low, high = _text(min(means)), _text(max(means))
            print(f"{row} over {len(means)} choices: {metric} {low} to {high}")


def _text(value: float) -> str:
    return f"{value:.4f}"
