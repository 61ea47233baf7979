"""What a tuner's restarts reached, and how far their weights lie apart."""

from __future__ import annotations

import math

from rerank.models.training import RestartsRecord
from rerank.text import count

NEAR = 0.01


def restart_lines(rounds: RestartsRecord, metric: str | None) -> list[str]:
    """Lines for a person: the value kept, and best, median and worst of the restarts."""
    dev = "" if rounds.dev is None else f"; dev {metric} {_value(rounds.dev)}"
    start = f"{metric} {_value(rounds.initial)}, initial weights: {rounds.init}"
    if not rounds.improved:
        lines = [f"no improvement over the initial weights ({start}){dev}"]
    else:
        mean = f", mean of the {rounds.averaged} best restarts" if rounds.averaged > 1 else ""
        lines = [f"train {metric} {_value(rounds.train)}{mean} (from {start}){dev}"]
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
    """A table of the better restarts' weights of the features ``names``: least, largest, deviation."""
    rows = {row.feature: row for row in rounds.spread}
    shown = [rows[name] for name in names if name in rows]
    if not shown:
        return []
    widest = max(len(row.feature) for row in shown)
    lines = [f"weights of the better half of {count(len(rounds.restarts), 'restart')}"]
    lines.append(f"{'':<{widest}}  {'least':>12} {'largest':>12} {'deviation':>12}")
    for row in shown:
        numbers = " ".join(f"{value:12.6g}" for value in (row.min, row.max, row.sd))
        lines.append(f"{row.feature:<{widest}}  {numbers}")
    return lines


def _value(value: float) -> str:
    return "without a value" if math.isnan(value) else f"{value:.4f}"
