"""Arrays too large for memory: temporary files that are mapped, so that the system can take their pages."""

from __future__ import annotations

import errno
import math
import os
import shutil
import tempfile
from typing import Any

import numpy as np

from rerank.core.errors import RerankError
from rerank.core.memory import SMALL, available, size
from rerank.core.types import AnyArray
from rerank.data.npy import Pages, reserve

_SHARE = 4  # an array that takes more than this part of the memory goes to a file


def large_array(shape: tuple[int, ...], dtype: np.dtype[Any], what: str) -> AnyArray:
    """Return an array of zeros, in memory or, if it needs more than a quarter of it, in a temporary file.

    The file has no name: it is gone with the array, however the process ends. Its place is TMPDIR.

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
    if n_bytes <= SMALL or _SHARE * n_bytes <= available():
        return np.zeros(shape, dtype=dtype)
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
