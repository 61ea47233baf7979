"""Rows of tables: intervals of resampled lists, paired tests, TSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rerank.data.types import Floats
from rerank.evaluation.pairs import Pair
from rerank.evaluation.significance import SEED, bootstrap_sums, interval
from rerank.files import write_lines
from rerank.metrics.judges import ReportJudge


def interval_of(judge: ReportJudge, statistics: Floats, samples: int) -> tuple[float, float]:
    """Return the 95 % interval of a metric over resampled lists, NaN if it has no value.

    Parameters
    ----------
    judge : the metric.
    statistics : float64 (n_lists, k), what the metric sums.
    samples : resamples.
    """
    sampled = np.asarray(judge.score_from_sums(bootstrap_sums(statistics, samples, SEED)))
    return interval(sampled, 0.95) or (np.nan, np.nan)


def pair_row(pair: Pair) -> dict[str, Any]:
    """Return the columns of a paired test."""
    low, high = pair.ci or (np.nan, np.nan)
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": f"{pair.difference:.4f}",
        "low": f"{low:.4f}",
        "high": f"{high:.4f}",
        "p": pair.p_bootstrap,
        "holm": pair.holm,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
    }


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as TSV; a column that a row lacks is empty."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["\t".join(str(row.get(key, "")) for key in columns) for row in rows]
    write_lines(str(path), ["\t".join(columns), *lines])
