"""Where the thresholds of a feature are: at all its values, at quantiles, or equally far apart."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.types import Floats

Spacing = Literal["quantile", "width"]
LOWEST = -float(np.finfo(np.float64).max)  # every value that is not missing passes it


def cuts(values: Floats, zeros: int, number: int | None, spacing: Spacing) -> Floats:
    """Return thresholds of one feature that tell at least two of its values apart, rising.

    A value passes a threshold t if it is t or more. Thresholds of equal width are RankLib's: the first is the
    largest value, each further one lies a ``number``-th of the range below, and a value passes if it is
    larger. So the next larger number is returned, and the first is left out, as no value passes it.

    Parameters
    ----------
    values
        The stored values in rising order, float64 (n), without NaN.
    zeros
        How many items have no stored value: their value is 0.
    number
        The most thresholds; None = one at each value but the smallest.
    spacing
        quantile: of a feature with more than ``number`` + 1 values, at quantiles of those above the smallest.
        width: of any feature.
    """
    stored = values
    if zeros:
        values = np.insert(values, np.searchsorted(values, 0.0), 0.0)
    if len(values) == 0 or values[0] == values[-1]:
        return np.empty(0)
    if spacing == "width" and number is not None:
        found = _equal_widths(float(values[0]), float(values[-1]), number)
        return found[found > values[0]]
    found = values[1:][values[1:] != values[:-1]]
    if number is not None and len(found) > number:
        found = np.unique(_quantiles(stored, zeros, float(values[0]), number))
    return found


def _quantiles(stored: Floats, zeros: int, least: float, number: int) -> Floats:
    """Values at quantiles of those above the least one, among which so many zeros are not stored."""
    above = stored[np.searchsorted(stored, least, side="right") :]
    between = zeros if least < 0 else 0
    negative = int(np.searchsorted(above, 0.0))
    place = np.arange(number) * (len(above) + between) // number
    source = np.where(place < negative, place, np.maximum(place - between, 0))
    found = above[np.minimum(source, len(above) - 1)]
    return np.where((place >= negative) & (place < negative + between), 0.0, found)


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
