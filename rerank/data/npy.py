"""The .npy format, arrays in mapped files (temporary ones if memory is too small), and passes over them.

A page of a mapped file that was read counts as memory of the process until the system takes it away, which
it does late. The arrays of a store may be as large as the memory: passes over them go block by block.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from rerank.core.errors import RerankError
from rerank.core.files.write import atomic_write
from rerank.core.memory import SMALL, available, size
from rerank.core.system import POSIX, advise, reserve
from rerank.core.types import AnyArray, Floats, Index

_MAGIC = b"\x93NUMPY\x01\x00"
_LONGEST = 4096
_ALIGNMENT = 16  # of the data that follows, at least; numpy's own is 64
_HEADER = re.compile(
    rb"\{'descr': '([<>][fiu][248]|[|][iub]1)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,18},|(?:[0-9]{1,18}, ){0,7}[0-9]{1,18})?)\), \} *\n"
)


class ArrayForm(Struct, frozen=True):
    """Required form of an array: a dtype as in numpy's ``str``, and a shape in which None is any length.

    ``packed`` arrays are bytes of an archive, which no compression makes much smaller.
    """

    dtype: str
    shape: tuple[int | None, ...]
    packed: bool = False

    def fits(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
        """Return whether an array of this dtype and shape has the form."""
        return (
            dtype.str == self.dtype
            and len(shape) == len(self.shape)
            and all(wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.dtype} of shape ({', '.join('any' if n is None else str(n) for n in self.shape)})"


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Header(Struct, frozen=True):
    """Content of an .npy header: dtype and shape, and the bytes that the array takes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of data, which follow the header."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.str} of shape {self.shape}"


def read_header(stream: _Stream) -> Header:
    """Return the header of the array that ``stream`` begins with, and leave the stream at its data.

    The text is matched, not evaluated. Only numbers are accepted, in rows (not in Fortran order) and with a
    header of version 1.0, as numpy.save writes them. Raises ValueError if there is no such header.
    """
    start = stream.read(10)
    length = int.from_bytes(start[8:], "little")
    header = stream.read(length) if length <= _LONGEST else b""
    match = _HEADER.fullmatch(header)
    if start[:8] != _MAGIC or len(header) != length or match is None or (10 + length) % _ALIGNMENT:
        raise ValueError("no header of a numeric array")
    if match[2] != b"False":
        raise ValueError("an array in Fortran order")
    shape = tuple(int(n) for n in match[3].split(b",") if n.strip())
    try:
        dtype = np.dtype(match[1].decode("ascii"))
    except TypeError:
        raise ValueError(f"dtype {match[1].decode('ascii')}") from None
    return Header(dtype, shape)


class Pages(mmap.mmap):
    """A whole file, mapped to be read and written: what was written stays when its pages are given back."""


def is_large(n_bytes: int) -> bool:
    """Return whether arrays of so many bytes need more than half of the memory that is left."""
    return n_bytes > SMALL and 2 * n_bytes > available()


def large_array(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> AnyArray:
    """Return an array of zeros: in memory, or in a temporary file if ``is_large``, see ``file_array``.

    What fits into memory, but not into the folder for temporary files, is in memory as well.
    """
    n_bytes, folder = math.prod(shape) * dtype.itemsize, tempfile.gettempdir()
    if is_large(n_bytes) and (n_bytes > available() or n_bytes <= shutil.disk_usage(folder).free):
        return file_array(shape, dtype, what)
    return np.zeros(shape, dtype=dtype)


def file_array(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> AnyArray:
    """Return an array of zeros, at least one, that is a mapped temporary file without a name.

    The file is gone with the array, however the process ends. Its place is TMPDIR.

    Parameters
    ----------
    shape, dtype : of the array.
    what : what needs the space, for messages.

    Raises
    ------
    RerankError
        If the folder for temporary files has not enough space, or cannot be written.
    """
    n_bytes = math.prod(shape) * dtype.itemsize
    folder = tempfile.gettempdir()
    advice = "TMPDIR=FOLDER names another folder for temporary files"
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise RerankError(f"needs {size(n_bytes)} in {folder} for {what}; {size(free)} are free; {advice}")
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            reserve(file.fileno(), n_bytes)
            pages = Pages(file.fileno(), n_bytes)
    except OSError as error:
        reason = "the disk is full" if error.errno == errno.ENOSPC else os.strerror(error.errno or 0)
        raise RerankError(f"{folder}: {reason}: {size(n_bytes)} for {what}; {advice}") from None
    return np.frombuffer(pages, dtype=dtype).reshape(shape)


class FileRoom:
    """One temporary file that arrays are copied into, one after the other.

    n_bytes : of all arrays at most, with 8 more for each.
    what : what they are, for messages.

    Raises RerankError as ``file_array``.
    """

    def __init__(self, n_bytes: int, what: str) -> None:
        self._bytes, self._used = file_array((n_bytes,), np.dtype(np.uint8), what), 0

    def kept(self, array: AnyArray) -> AnyArray:
        """Return a copy of an array in the file."""
        start, self._used = self._used, self._used + -(-array.nbytes // 8) * 8
        out = self._bytes[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        out[:] = array
        return out


@contextmanager
def array_in_file(path: str, shape: tuple[int, ...]) -> Iterator[Floats]:
    """Yield an array of zeros, float64, that is an .npy file at ``path`` once the block ends.

    The array is the mapped file, so that memory does not have to hold it. After the block it can still be
    read, whatever becomes of the file. Raises RerankError as ``atomic_write``; the space is
    reserved at once, so that a full disk is an error and not the end of the process.

    Where a mapped file cannot be renamed (Windows), the array is in memory until then.
    """
    with atomic_write(path) as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        if not POSIX:
            yield (out := np.zeros(shape))
            out.flags.writeable = False
            file.write(out.data)
            return
        start = file.tell()
        n_bytes = start + 8 * math.prod(shape)
        file.flush()
        reserve(file.fileno(), n_bytes)
        pages = mmap.mmap(file.fileno(), n_bytes)
        out = np.frombuffer(pages, dtype="<f8", offset=start).reshape(shape)
        yield out
        out.flags.writeable = False
        pages.flush()


BLOCK = 1 << 26  # bytes


def row_blocks(values: AnyArray, offsets: Index | None = None) -> Iterator[slice]:
    """Yield ranges of rows that cover an array; the pages of each are given back after the loop's body.

    values : array (n_rows, ...), C-contiguous. One that is no mapped file is a single range.
    offsets : of lists of rows that no range may cut, int64 (n_lists + 1); None = each row is one.
    """
    pages, n_rows = mapping(values), len(values)
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
        release(values[start:stop])
        start = stop


def taken(values: AnyArray, rows: Index) -> AnyArray:
    """Return a copy of the rows of an array, in their order; pages of a mapped file are given back."""
    pages, n_rows = mapping(values), len(rows)
    step = max(BLOCK // max(values.nbytes // max(len(values), 1), 1), 1)
    if pages is None or step >= n_rows:
        return values[rows]
    new = large_array((n_rows, *values.shape[1:]), values.dtype, f"{n_rows:,} rows")
    for start in range(0, n_rows, step):
        some = rows[start : start + step]
        new[start : start + step] = values[some]
        release(new[start : start + step])
        release(values[some.min() : some.max() + 1])
    return new


def release(values: AnyArray) -> None:
    """Give back the whole pages of a C-contiguous array within a mapped file; its values stay."""
    if (pages := mapping(values)) is None:
        return
    origin = np.frombuffer(pages, dtype=np.uint8).__array_interface__["data"][0]
    start = values.__array_interface__["data"][0] - origin
    stop = (start + values.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    start = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
    if stop > start:
        advise(pages, "MADV_DONTNEED", start, stop - start)


def mapping(values: AnyArray) -> mmap.mmap | None:
    """Return the mapped file, read-only or ``Pages``, that holds an array; None if none does.

    Of memory that was written to, pages would be lost, unless it is ``Pages``.
    """
    if not hasattr(mmap, "MADV_DONTNEED"):
        return None
    base: object = values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    mapped = isinstance(base, np.memmap) and base.mode == "r" and not values.flags.writeable
    while mapped and isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, mmap.mmap) and (mapped or isinstance(base, Pages)) else None
