"""What a tuner's restarts reached, and how far their weights lie apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rerank.text import count

NEAR = 0.01


def restart_lines(rounds: Mapping[str, Any], metric: str | None) -> list[str]:
    """Lines for a person: the value kept, and best, median and worst of the restarts."""
    dev = f"; dev {metric} {_value(rounds['dev'])}" if "dev" in rounds else ""
    start = f"{metric} {_value(rounds['initial'])}, initial weights: {rounds['from']}"
    if not rounds["improved"]:
        lines = [f"no improvement over the initial weights ({start}){dev}"]
    else:
        mean = f", mean of the {rounds['averaged']} best restarts" if rounds["averaged"] > 1 else ""
        lines = [f"train {metric} {_value(rounds['train'])}{mean} (from {start}){dev}"]
    reached = [row["train"] for row in rounds["restarts"] if row["train"] is not None]
    best = rounds["best"]
    if len(reached) > 1 and best is not None:
        near = sum(abs(value - best) <= NEAR for value in reached)
        ordered = sorted(reached, key=lambda value: abs(value - best))
        lines.append(
            f"{count(len(rounds['restarts']), 'restart')}: best {ordered[0]:.4f}, "
            f"median {ordered[len(ordered) // 2]:.4f}, worst {ordered[-1]:.4f}; "
            f"{near} within {NEAR:g} of the best"
        )
    return lines


def spread_lines(rounds: Mapping[str, Any], names: list[str]) -> list[str]:
    """A table of the better restarts' weights of the features ``names``: least, largest, deviation."""
    rows = {row["feature"]: row for row in rounds["spread"]}
    shown = [rows[name] for name in names if name in rows]
    if not shown:
        return []
    widest = max(len(row["feature"]) for row in shown)
    lines = [f"weights of the better half of {count(len(rounds['restarts']), 'restart')}"]
    lines.append(f"{'':<{widest}}  {'least':>12} {'largest':>12} {'deviation':>12}")
    for row in shown:
        numbers = " ".join(f"{row[key]:12.6g}" for key in ("min", "max", "sd"))
        lines.append(f"{row['feature']:<{widest}}  {numbers}")
    return lines


def _value(value: float | None) -> str:
    return "without a value" if value is None else f"{value:.4f}"
