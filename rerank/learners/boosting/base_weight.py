"""The weight of the base score, alpha_0, which is set before the first round."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats

LEAST, MOST = 0.001, 10.0


def exact_weight(differences: Floats, importance: Floats) -> float:
    """Return the alpha in [0.001, 10] that minimises the sum of importance * exp(-alpha * difference).

    The logarithm of the sum is convex: Newton's method finds the minimum, kept inside by bisection.

    Parameters
    ----------
    differences
        Of the base score, float64 (n_pairs), finite and not all 0.
    importance
        float64 (n_pairs), above 0.
    """
    log_importance = np.log(importance)
    scale = float(np.abs(differences).max())
    units = differences / scale

    def slopes(alpha: float) -> tuple[float, float]:
        """The first and second derivative, in units of the largest difference."""
        exponent = log_importance - alpha * differences
        share = np.exp(exponent - exponent.max())
        share /= share.sum()
        mean = float((share * units).sum())
        return -mean, float((share * (units - mean) ** 2).sum())

    low, high = LEAST, MOST
    if slopes(low)[0] >= 0:
        return low
    if slopes(high)[0] <= 0:
        return high
    alpha = 1.0
    for _ in range(200):
        slope, curvature = slopes(alpha)
        low, high = (alpha, high) if slope < 0 else (low, alpha)
        guess = alpha - slope / (curvature * scale) if curvature > 0 else np.inf
        new = guess if low < guess < high else (low + high) / 2
        if slope == 0 or abs(new - alpha) <= 1e-14 * alpha:
            return float(new)
        alpha = float(new)
    return alpha
