"""Arrays too large for memory: temporary files that are mapped, so that the system can take their pages."""

from __future__ import annotations

import errno
import math
import mmap
import os
import shutil
import tempfile
from typing import Any

import numpy as np

from rerank.core.errors import RerankError
from rerank.core.memory import SMALL, available, size
from rerank.core.types import AnyArray

_SHARE = 2  # an array that takes more than half of the memory goes to a file


class Pages(mmap.mmap):
    """A whole file, mapped to be read and written: what was written stays when its pages are given back."""


def reserve(descriptor: int, n_bytes: int) -> None:
    """Give a file its size, and space on the disk if the system can: a mapped file without it is fatal."""
    try:
        os.posix_fallocate(descriptor, 0, n_bytes)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
            raise
        os.ftruncate(descriptor, n_bytes)


def is_large(n_bytes: int) -> bool:
    """Return whether arrays of so many bytes need more than half of the memory that is left."""
    return n_bytes > SMALL and _SHARE * n_bytes > available()


def large_array(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> AnyArray:
    """Return an array of zeros: in memory, or in a temporary file if ``is_large``, see ``file_array``.

    What fits into memory, but not into the folder for temporary files, is in memory as well.
    """
    n_bytes = math.prod(shape) * dtype.itemsize
    if is_large(n_bytes) and (
        n_bytes > available() or n_bytes <= shutil.disk_usage(tempfile.gettempdir()).free
    ):
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
