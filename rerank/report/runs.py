"""Several runs in a few lines: restarts of a tuner, seeds against lists, learning curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rerank.core.tables.text import drawn, table
from rerank.core.text import count
from rerank.evaluation.variance import Variance

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


def variance_lines(found: Variance, where: str, digits: int) -> list[str]:
    """Return a few lines: the values, both standard deviations, and what they mean."""
    low, high = (f"{end:.{digits}f}" for end in (min(found.values), max(found.values)))
    values = f"{count(len(found.values), 'run')}: {where}{found.metric} {low} to {high}"
    mean = f"mean {found.mean:.{digits}f}"
    if found.ci is not None:
        mean += " [{:.{d}f}, {:.{d}f}] over resampled lists".format(*found.ci, d=digits)
    # One decimal more than the values have, so that a small deviation is not shown as zero.
    seeds, lists = (
        "unknown" if math.isnan(sd) else f"{sd:.{digits + 1}f}" for sd in (found.sd_seeds, found.sd_lists)
    )
    lines = [
        f"{values}, {mean}",
        f"standard deviation {seeds} between runs, {lists} over resampled lists",
        _verdict(found),
    ]
    if found.sd_seeds > 0:
        alone = f"two single runs less than {found.within_seeds:.{digits}f} apart may differ by seed alone"
        if not math.isnan(found.sd_lists):
            alone += f"; one run is accurate to ±{found.of_one_run:.{digits}f}"
        lines.append(alone)
    return lines


def _verdict(found: Variance) -> str:
    if math.isnan(found.sd_lists):
        return "too few lists to compare the seed with them"
    if found.sd_seeds == 0:
        return "every seed gives the same value"
    if found.sd_seeds < found.sd_lists / 2:
        return "the choice of the seed matters less than the choice of the lists"
    if found.sd_seeds <= 2 * found.sd_lists:
        return "the choice of the seed matters about as much as that of the lists: report means over seeds"
    return "the choice of the seed matters more than the choice of the lists: report means over seeds"


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
