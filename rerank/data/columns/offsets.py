"""Runs of entries laid end to end: run i is ``offsets[i]:offsets[i + 1]`` of its column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rerank.data.types import Index


def offsets_of(lengths: npt.ArrayLike) -> Index:
    """Offsets (n + 1) of runs of these lengths (n)."""
    sizes = np.asarray(lengths, dtype=np.int64)
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def places_of(offsets: Index, which: Index) -> tuple[Index, Index]:
    """The places of the entries of the runs at ``which``, in that order, and the offsets that they get."""
    lengths = np.diff(offsets)[which]
    new = offsets_of(lengths)
    return np.repeat(offsets[:-1][which] - new[:-1], lengths) + np.arange(new[-1]), new
