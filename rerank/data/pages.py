"""Memory for large columns that are made once."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

_MAPPED_FROM = 1 << 22


def fresh_array(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An array with anything in it; raises MemoryError, ValueError, OverflowError or OSError if too large.

    Large ones get pages of the usual size. numpy asks for huge ones, and the first touch of those, all
    that a program which loads one file ever does, took from a third to five times as long.
    """
    kind = np.dtype(dtype)
    size = kind.itemsize
    for length in shape:
        size *= length
    if size < _MAPPED_FROM or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.empty(shape, dtype=kind)
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, dtype=kind).reshape(shape)
