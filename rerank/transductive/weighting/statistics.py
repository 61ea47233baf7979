"""Statistics of importance weights (thesis, Table 6.3)."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats

BINS = 12
ZERO = 1e-6


def statistics_of(weights: Floats) -> dict[str, float]:
    """Return figures of weights of mean 1, by name.

    q25, median, q75
        Quartiles.
    sd
        Standard deviation.
    entropy
        In nats, of the shares of weights in 12 bins of equal width from the least to the largest weight: 0 if
        one bin holds all, log 12 = 2.48 if all hold the same.
    effective
        The effective sample size as a share of the number of weights: 1 if all are equal.
    zeros
        The share of weights below 1e-6.

    Parameters
    ----------
    weights
        float64 (n), n > 0, not negative.
    """
    q25, median, q75 = np.quantile(weights, (0.25, 0.5, 0.75)).tolist()
    low, high = float(weights.min()), float(weights.max())
    place = np.zeros(len(weights), dtype=np.int64)
    if high > low:
        place = np.minimum((weights - low) / (high - low) * BINS, BINS - 1).astype(np.int64)
    shares = np.bincount(place) / len(weights)
    shares = shares[shares > 0]
    return {
        "q25": q25,
        "median": median,
        "q75": q75,
        "sd": float(weights.std()),
        "entropy": max(float(-(shares * np.log(shares)).sum()), 0.0),
        "effective": float(weights.mean() ** 2 / (weights**2).mean()),
        "zeros": float((weights < ZERO).mean()),
    }
