"""Where the thresholds of a feature are: at all its values, at quantiles, or equally far apart."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.data.types import Floats

Spacing = Literal["quantile", "width"]
LOWEST = -float(np.finfo(np.float64).max)  # every value that is not missing passes it


def cuts(values: Floats, zeros: bool, number: int | None, spacing: Spacing) -> Floats:
    """Return thresholds of one feature that tell at least two of its values apart, rising.

    A value passes a threshold t if it is t or more. Thresholds of equal width are RankLib's: the first is the
    largest value, each further one lies a ``number``-th of the range below, and a value passes if it is
    larger. So the next larger number is returned, and the first is left out, as no value passes it.

    Parameters
    ----------
    values
        The stored values in rising order, float64 (n), without NaN.
    zeros
        Items without a stored value, which have the value 0, exist.
    number
        The most thresholds; None = one at each value but the smallest.
    spacing
        quantile: of a feature with more than ``number`` + 1 values, at quantiles of those above the smallest.
        width: of any feature.
    """
    if zeros:
        at = np.searchsorted(values, 0.0)
        values = np.insert(values, at, 0.0)
    if len(values) == 0 or values[0] == values[-1]:
        return np.empty(0)
    if spacing == "width" and number is not None:
        found = _equal_widths(float(values[0]), float(values[-1]), number)
        return found[found > values[0]]
    found = values[1:][values[1:] != values[:-1]]
    if number is not None and len(found) > number:
        above = values[np.searchsorted(values, values[0], side="right") :]
        found = np.unique(above[np.arange(number) * len(above) // number])
    return found


def _equal_widths(low: float, high: float, number: int) -> Floats:
    """Thresholds from below the largest value down."""
    width = (
        2.0 * (high / (2 * number) - low / (2 * number)) if high - low == np.inf else (high - low) / number
    )
    found, at = [], high
    for _ in range(number - 1):
        at -= width
        found.append(np.nextafter(at, np.inf))
    return np.unique(found)
