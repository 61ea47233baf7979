"""Pages of mapped files: given back once they were read, so that a pass over a file needs no memory for it.

A page of a mapped file that was read counts as memory of the process until the system takes it away, which
it does late. The arrays of a store may be as large as the memory: passes over them go block by block.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

import numpy as np

from rerank.core.types import AnyArray, Index

BLOCK = 1 << 26  # bytes


def row_blocks(values: AnyArray, offsets: Index | None = None) -> Iterator[slice]:
    """Yield ranges of rows that cover an array; the pages of each are given back after the loop's body.

    Parameters
    ----------
    values
        Array (n_rows, ...), C-contiguous. One that is no file mapped to be read is a single range.
    offsets
        Of lists of rows that no range may cut, int64 (n_lists + 1); None = each row is one.
    """
    pages, n_rows = _mapping(values), len(values)
    step = max(BLOCK // max(values.nbytes // max(n_rows, 1), 1), 1)
    if pages is None or step >= n_rows:
        yield slice(0, n_rows)
        return
    start = 0
    while start < n_rows:
        stop = min(start + step, n_rows)
        if offsets is not None:
            stop = int(offsets[np.searchsorted(offsets, stop)])
        yield slice(start, stop)
        _release(pages, values[start:stop])
        start = stop


def taken(values: AnyArray, rows: Index) -> AnyArray:
    """Return a copy of the rows of an array, in their order; pages of a mapped file are given back."""
    pages, n_rows = _mapping(values), len(rows)
    step = max(BLOCK // max(values.nbytes // max(len(values), 1), 1), 1)
    if pages is None or step >= n_rows:
        return values[rows]
    new = np.empty((n_rows, *values.shape[1:]), dtype=values.dtype)
    for start in range(0, n_rows, step):
        some = rows[start : start + step]
        new[start : start + step] = values[some]
        _release(pages, values[some.min() : some.max() + 1])
    return new


def release(values: AnyArray) -> None:
    """Give back the pages of a C-contiguous array if it is a file mapped to be read; its values stay."""
    pages = _mapping(values)
    if pages is not None:
        _release(pages, values)


def _mapping(values: AnyArray) -> mmap.mmap | None:
    """The mapped file that an array is a part of, None if it is none, or one that can be written to.

    Of memory that was written to, pages would be lost.
    """
    if values.flags.writeable or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    base: object = values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    if not isinstance(base, np.memmap) or base.mode != "r":
        return None
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) else None


def _release(pages: mmap.mmap, values: AnyArray) -> None:
    """Give back the whole pages of an array within a mapped file."""
    origin = np.frombuffer(pages, dtype=np.uint8).__array_interface__["data"][0]
    start = values.__array_interface__["data"][0] - origin
    stop = (start + values.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    if stop > start:
        pages.madvise(mmap.MADV_DONTNEED, start, stop - start)
