"""Coordinates as Python programs hold them, as a column of structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.arrays import is_missing, real_array, without_missing
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.traces import FIRST_NUMBER, LAST_NUMBER, Keys, Traces, keys_of


def traces_of(entries: Any) -> Traces:
    """Return a column of structures, without chains and with unknown residues.

    Parameters
    ----------
    entries : Traces, which stay as they are, or a sequence with an entry for each structure:

        - positions of alpha carbons in Å, array (n, 3), whose residues are numbered from 1; a row of NaN is a
          missing residue;
        - (numbers, positions), with rising residue numbers (n);
        - None: no structure.

    Raises
    ------
    DataError
        With the number of the entry, if one is something else.
    """
    if isinstance(entries, Traces):
        return entries
    if isinstance(entries, str | bytes) or not hasattr(entries, "__len__"):
        raise DataError(f"found {type(entries).__name__}, expected a sequence of structures")
    found = []
    for place, entry in enumerate(entries, 1):
        try:
            found.append(_structure(entry))
        except DataError as error:
            raise DataError(f"structure {place}: {error}") from None
    keys = [keys for keys, _ in found] or [np.empty(0, dtype=np.uint64)]
    xyz = [xyz for _, xyz in found] or [np.empty((0, 3))]
    offsets = offsets_of(np.array([len(keys) for keys, _ in found], dtype=np.int64))
    letters = np.full(int(offsets[-1]), ord("X"), dtype=np.uint8)
    return Traces(offsets, np.concatenate(keys), np.ascontiguousarray(np.concatenate(xyz)), letters)


def _structure(entry: Any) -> tuple[Keys, Floats]:
    """Keys and positions of a structure, without missing residues."""
    if is_missing(entry):
        return np.empty(0, dtype=np.uint64), np.empty((0, 3))
    numbers = None
    if isinstance(entry, tuple) and len(entry) == 2 and dimensions(entry[1]) == 2:
        numbers, entry = entry
    try:
        xyz = real_array(entry, "positions").astype(np.float64, copy=False)
    except DataError:
        raise DataError("found no numbers, expected positions (n, 3) of alpha carbons") from None
    if xyz.size == 0 and xyz.ndim <= 2:
        xyz = xyz.reshape(0, 3)
    if xyz.ndim != 2 or xyz.shape[1] != 3:
        raise DataError(f"found shape {xyz.shape}, expected positions (n, 3) of alpha carbons")
    keys = keys_of(np.arange(1, len(xyz) + 1) if numbers is None else _numbers(numbers, len(xyz)))
    gone = np.isnan(xyz)
    missing = gone.all(axis=1)
    if (gone.any(axis=1) & ~missing).any():
        raise DataError(
            "found a residue with some coordinates missing, expected three numbers, or NaN for all"
        )
    return keys[~missing], xyz[~missing]


def dimensions(entry: Any) -> int:
    """Return the number of dimensions of an array, 0 of what is none, such as rows of different lengths."""
    try:
        return np.ndim(entry)
    except ValueError:
        return 0


def _numbers(numbers: Sequence[int], n: int) -> Index:
    """Residue numbers, checked."""
    found = without_missing(numbers, "residue numbers")
    if found.shape != (n,) or found.dtype.kind not in "iu":
        raise DataError(f"expected {n} whole residue numbers, one for each position")
    if n and not (found.min() >= FIRST_NUMBER and found.max() <= LAST_NUMBER and (np.diff(found) > 0).all()):
        raise DataError(f"expected rising residue numbers within {FIRST_NUMBER} to {LAST_NUMBER}")
    return found.astype(np.int64)
