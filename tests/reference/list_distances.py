"""How far two lists are from each other by the histograms of their features, straight from the definition."""

import numpy as np


def histogram_distance(a, b):
    """The mean over features and 16 levels of the difference between two cumulative distributions."""
    total = 0.0
    for j in range(a.shape[1]):
        for level in (np.arange(16) + 0.5) / 16:
            total += abs(share_above(a[:, j], level) - share_above(b[:, j], level))
    return total / (16 * a.shape[1])


def share_above(column, level):
    """The share of items above a level once the feature is scaled to [0, 1] in its list."""
    known = [x for x in column if not np.isnan(x)]
    mean = sum(known) / len(known) if known else 0.0
    values = [mean if np.isnan(x) else x for x in column]
    low, high = min(values), max(values)
    if low == high:
        return 0.0
    return sum((x - low) / (high - low) > level for x in values) / len(values)
