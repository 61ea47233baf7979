"""Columns with any number of values per list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index, Mask
from rerank.data.columns.offsets import are_bounds, places_of


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """A column with any number of values for each list, possibly none.

    Attributes
    ----------
    values : float64 (n)
        Finite; those of list i are ``values[offsets[i]:offsets[i + 1]]``.
    offsets : int64 (n_lists + 1)
        From 0 to n, non-decreasing.

    Raises
    ------
    DataError
        If the arrays are not of this form.
    """

    values: Floats
    offsets: Index

    def __post_init__(self) -> None:
        values, offsets = self.values, self.offsets
        if values.ndim != 1 or values.dtype != np.float64 or offsets.ndim != 1 or offsets.dtype != np.int64:
            raise DataError("ragged column: expected a float64 vector and an int64 vector")
        if not are_bounds(offsets, len(values)):
            raise DataError("ragged column: offsets must rise from 0 to the number of values")
        if not np.isfinite(values).all():
            raise DataError("ragged column: values must be finite")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def arrays(self) -> dict[str, AnyArray]:
        """Return the column's arrays by name; its values have the name ""."""
        return {"": self.values, "offsets": self.offsets}

    @property
    def lengths(self) -> Index:
        """The number of entries of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    def take(self, which: Index) -> Ragged:
        """Return the lists at ``which`` (not negative), in that order."""
        places, offsets = places_of(self.offsets, which)
        return Ragged(self.values[places], offsets)

    def count(self, mask: Mask) -> Floats:
        """Return how many entries of each list are in the mask (n): float64 (n_lists)."""
        running = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))
        return (running[self.offsets[1:]] - running[self.offsets[:-1]]).astype(np.float64)
