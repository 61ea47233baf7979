"""A learning curve in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """One bar for each value, from the least to the largest; more than ``width`` values are thinned.

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
