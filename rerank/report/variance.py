"""Seeds against lists, in words."""

from __future__ import annotations

import math

from rerank.evaluation.variance import Variance
from rerank.text import count


def variance_lines(found: Variance, where: str, digits: int) -> list[str]:
    """A paragraph of a few lines: values, both standard deviations, and what they mean."""
    low, high = (f"{end:.{digits}f}" for end in (min(found.values), max(found.values)))
    values = f"{count(len(found.values), 'run')}: {where}{found.metric} {low} to {high}"
    mean = f"mean {found.mean:.{digits}f}"
    if found.ci is not None:
        mean += " [{:.{d}f}, {:.{d}f}] over resampled lists".format(*found.ci, d=digits)
    # One decimal more than values are shown with: a deviation of 0.004 is not none.
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
        known = not math.isnan(found.sd_lists)
        lines.append(alone + (f"; one run's value holds to ±{found.of_one_run:.{digits}f}" if known else ""))
    return lines


def _verdict(found: Variance) -> str:
    if math.isnan(found.sd_lists):
        return "too few lists to weigh the seed against them"
    if found.sd_seeds == 0:
        return "every seed gives the same value"
    if found.sd_seeds < found.sd_lists / 2:
        return "the choice of the seed matters less than the choice of the lists"
    if found.sd_seeds <= 2 * found.sd_lists:
        return "the choice of the seed matters about as much as that of the lists: report means over seeds"
    return "the choice of the seed matters more than the choice of the lists: report means over seeds"
