"""The unit vectors of rankings: a falling function of the place, divided by its norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats

PositionsName = Literal["power", "reciprocal"]


@dataclass(frozen=True, eq=False)
class Positions:
    """f at the places 1, 2, ..., and what the vector of a ranking of so many items is multiplied by.

    Attributes
    ----------
    values
        f, strictly falling, float64 (longest).
    scales
        1 / the norm of the first n values is at n - 1, float64 (longest).
    """

    values: Floats
    scales: Floats

    @classmethod
    def of(cls, name: PositionsName, exponent: float, longest: int) -> Positions:
        """Return f = -i^exponent ("power") or 1/i ("reciprocal") at up to ``longest`` places, one or more.

        Raises FitError if doubles cannot tell two places apart, or the norm overflows.
        """
        places = np.arange(1, longest + 1, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            values = 1.0 / places if name == "reciprocal" else -(places**exponent)
            norms = np.sqrt(np.cumsum(values**2))
            falling = bool(np.all(np.diff(values) < 0))
        if not (falling and np.isfinite(norms).all()):
            raise FitError(
                f"exponent={exponent:g}: -i^exponent is not finite and falling over {longest} places"
            )
        return cls(values, 1.0 / norms)


def discounts(longest: int, cutoff: int | None) -> Floats:
    """Return the discounts of nDCG at the places 1, 2, ..., 0 after the cutoff, float64 (longest)."""
    found: Floats = 1.0 / np.log2(np.arange(2, longest + 2, dtype=np.float64))
    if cutoff is not None:
        found[cutoff:] = 0.0
    return found
