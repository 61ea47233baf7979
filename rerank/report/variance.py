"""Seeds against lists, in words."""

from __future__ import annotations

import math

from rerank.metrics.variance import Variance
from rerank.wording import count


def variance_lines(found: Variance, where: str, digits: int) -> list[str]:
    """A paragraph of a few lines: values, both standard deviations, and what they mean."""
    low, high = (f"{end:.{digits}f}" for end in (min(found.values), max(found.values)))
    ends = ""
    if found.ci is not None:
        ends = " [{:.{d}f}, {:.{d}f}]".format(*found.ci, d=digits)
    head = f"{count(len(found.values), 'run')}: {where}{found.metric} {low} to {high}, "
    lines = [f"{head}mean {found.mean:.{digits}f}{ends} ({100 * found.level:g}% over resampled lists)"]
    # One decimal more than values are shown with: a deviation of 0.004 is not none.
    sd = f"standard deviation {found.sd_seeds:.{digits + 1}f} between seeds"
    lines.append(f"{sd}, {found.sd_lists:.{digits + 1}f} over resampled lists: {_verdict(found)}")
    if found.sd_seeds > 0:
        alone = f"{found.within_seeds:.{digits}f} between two single runs may be the seeds' alone"
        whole = f"one run's value holds to ±{found.of_one_run:.{digits}f} on other such lists"
        lines.append(f"a difference below {alone}; {whole}")
    return lines


def _verdict(found: Variance) -> str:
    if math.isnan(found.sd_lists):
        return "too few lists to compare them"
    if found.sd_seeds == 0:
        return "every seed gives the same value"
    if found.sd_seeds < found.sd_lists / 2:
        return "the choice of the seed matters less than that of the lists"
    if found.sd_seeds <= 2 * found.sd_lists:
        return "the choice of the seed matters about as much as that of the lists: tell means over seeds"
    return "the choice of the seed matters more than that of the lists: tell means over seeds"
