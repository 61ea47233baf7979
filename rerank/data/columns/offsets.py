"""Offsets of consecutive runs, such as lists in a column of items, and columns of runs of numbers."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.system import private_pages
from rerank.core.types import AnyArray, ArrayLike, DTypeLike, Floats, Index, Mask

_MAPPED_FROM = 1 << 22


def offsets_of(lengths: ArrayLike) -> Index:
    """Return the offsets (n + 1) of runs of these lengths (n)."""
    sizes = np.asarray(lengths, dtype=np.int64)
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def are_bounds(offsets: AnyArray, n: int, *, empty: bool = True) -> bool:
    """Return whether these are offsets of runs.

    Parameters
    ----------
    offsets : vector of whole numbers, perhaps crafted by a stranger.
    n : how many entries the runs hold together.
    empty : whether runs may be empty.

    Notes
    -----
    Neighbours are compared, not subtracted: differences of crafted numbers wrap around.
    """
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != n:
        return False
    before, after = offsets[:-1], offsets[1:]
    return not np.any(after < before if empty else after <= before)


def places_of(offsets: Index, which: Index) -> tuple[Index, Index]:
    """Return the places of the entries of the runs at ``which``, in that order, and their new offsets."""
    lengths = np.diff(offsets)[which]
    new = offsets_of(lengths)
    return np.repeat(offsets[:-1][which] - new[:-1], lengths) + np.arange(new[-1]), new


def renumbered(rows: Index | None, items: Index) -> Index | None:
    """Return the rows of some items, counted again from 0; None if there are no rows."""
    if rows is None:
        return None
    out = np.empty(len(items), dtype=np.int64)
    out[np.argsort(rows[items], kind="stable")] = np.arange(len(items))
    return out


def grouped(codes: Index) -> tuple[Index, Index | None]:
    """Bring the entries of each group together.

    Parameters
    ----------
    codes : the group of each entry (n), from 0; no group is empty.

    Returns
    -------
    offsets : int64 (n_groups + 1)
    order : int64 (n) or None
        The entries, group after group, each in its old order; None if they are in that order already.
    """
    order = None
    if np.any(codes[1:] < codes[:-1]):
        order = np.argsort(codes, kind="stable").astype(np.int64)
    return offsets_of(np.bincount(codes)), order


def fresh_array(shape: tuple[int, ...], dtype: DTypeLike) -> AnyArray:
    """Return an uninitialised array; raise MemoryError, ValueError, OverflowError or OSError if too large.

    Large arrays get pages of the usual size. numpy asks for huge pages, whose first touch (all that a
    program which loads one file ever does) took from a third longer to five times as long.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize
    for length in shape:
        size *= length
    if size < _MAPPED_FROM:
        return np.empty(shape, dtype=kind)
    return np.frombuffer(private_pages(size), dtype=kind).reshape(shape)


class Ragged(Struct, frozen=True, eq=False):
    """A column with any number of values for each list, possibly none.

    Raises DataError if the arrays are not of this form.
    """

    values: Floats  # float64 (n), finite; those of list i are ``values[offsets[i]:offsets[i + 1]]``
    offsets: Index  # int64 (n_lists + 1), from 0 to n, non-decreasing

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
        running = offsets_of(mask)
        return (running[self.offsets[1:]] - running[self.offsets[:-1]]).astype(np.float64)
