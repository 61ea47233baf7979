"""Several runs in a few lines: restarts of a tuner, learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rerank.core.tables.text import drawn, table
from rerank.core.text import count

if TYPE_CHECKING:
    from rerank.models.training import RestartsRecord

NEAR = 0.01
BARS = "▁▂▃▄▅▆▇█"


def restart_lines(rounds: RestartsRecord, metric: str | None, *, weighted: bool = False) -> list[str]:
    """Return the value that was kept, and best, median and worst of the restarts.

    ``weighted`` tells that the training lists counted by their weights, in all these values.
    """
    dev = "" if rounds.dev is None else f"; dev {metric} {_value(rounds.dev)}"
    start = f"{metric} {_value(rounds.initial)}, initial weights: {rounds.init}"
    if not rounds.improved:
        lines = [f"no improvement over the initial weights ({start}){dev}"]
    else:
        mean = f", mean of the {rounds.averaged} best restarts" if rounds.averaged > 1 else ""
        of = " of the weighted lists" if weighted else ""
        lines = [f"train {metric}{of} {_value(rounds.train)}{mean} (from {start}){dev}"]
    reached = [restart.train for restart in rounds.restarts if not math.isnan(restart.train)]
    best = rounds.best
    if len(reached) > 1 and not math.isnan(best):
        near = sum(abs(value - best) <= NEAR for value in reached)
        ordered = sorted(reached, key=lambda value: abs(value - best))
        lines.append(
            f"{count(len(rounds.restarts), 'restart')}: best {ordered[0]:.4f}, "
            f"median {ordered[len(ordered) // 2]:.4f}, worst {ordered[-1]:.4f}; "
            f"{near} within {NEAR:g} of the best"
        )
    return lines


def spread_lines(rounds: RestartsRecord, names: list[str]) -> list[str]:
    """Return a table of the better restarts' weights of the features ``names``."""
    rows = {row.feature: row for row in rounds.spread}
    shown = [rows[name] for name in names if name in rows]
    if not shown:
        return []
    title = f"weights of the better half of {count(len(rounds.restarts), 'restart')}"
    cells = [(row.feature, *(f"{value:.6g}" for value in (row.min, row.max, row.sd))) for row in shown]
    return [title, *drawn(table(("", "least", "largest", "deviation"), cells))]


def _value(value: float) -> str:
    return "without a value" if math.isnan(value) else f"{value:.4f}"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return a learning curve in one line: a bar for each value; more than ``width`` values are thinned.

    NaN is a blank. Equal values are all the lowest bar.
    """
    n = len(values)
    kept = [values[i * (n - 1) // (width - 1)] for i in range(width)] if n > width else list(values)
    finite = [value for value in kept if math.isfinite(value)]
    if not finite:
        return " " * len(kept)
    low, high = min(finite), max(finite)
    step = (high - low) / (len(BARS) - 1) or 1.0
    return "".join(BARS[round((value - low) / step)] if math.isfinite(value) else " " for value in kept)
