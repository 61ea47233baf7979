"""Calls on their way to other processes: large values go by path, through a folder that all of them see.

An array of 64 kB or more is written as .npy, once for all tasks, and mapped into memory by workers. Another
argument that is that large is written once as well; a worker keeps the last few that it has read. What passes
the scheduler is small. Arrays that come by path are read-only and aligned, as
those of a store are; others are copies that the worker owns.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np

from rerank.core.errors import os_error
from rerank.core.types import NDArray

AnyArray = NDArray[Any]

_LARGE = 1 << 16
_KEPT = 8  # arguments that a worker keeps


class ArraySpill:
    """Packs calls; files are named by their content, so that nothing is written twice.

    Parameters
    ----------
    folder : where files go; the caller deletes it.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._written: set[str] = set()
        self._used: set[str] = set()
        self._arguments: dict[int, tuple[Any, Any]] = {}  # with the object itself: its id stays its own
        self._sent: set[str] = set()
        self._calls = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Pack the tasks of one call within the block; what it did not use is deleted at its end.

        A call within the block of another ends with that.
        """
        if not self._calls:
            self._used.clear()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._arguments.clear()
                self._sent.clear()
                for path in self._written - self._used:
                    with suppress(OSError):
                        os.unlink(path)
                self._written &= self._used

    def packed(self, function: Callable[..., Any], task: tuple[Any, ...]) -> bytes:
        """Return a call as bytes, as ``pool.packed`` does; errors are those of pickling and of writing."""
        return self._dumped((self._argument(function), tuple(self._argument(one) for one in task)))

    def _argument(self, one: Any) -> Any:
        """An argument, or what a worker reads it from."""
        if id(one) not in self._arguments:
            data = self._dumped(one)
            self._arguments[id(one)] = one, self._by_path(data) if len(data) >= _LARGE else one
        return self._arguments[id(one)][1]

    def _by_path(self, data: bytes) -> _ByPath:
        """An argument by path; two that are equal have two files, as workers are to get two objects."""
        n = 0
        while (path := self._file(f".{n}.part", data)) in self._sent:
            n += 1
        self._sent.add(path)
        return _ByPath(path)

    def _dumped(self, value: Any) -> bytes:
        buffer = io.BytesIO()
        _Pickler(buffer, self.path_of).dump(value)
        return buffer.getvalue()

    def path_of(self, array: AnyArray) -> str:
        """Return the file of an array."""
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
        by_column = array.flags.f_contiguous and not array.flags.c_contiguous
        rows = array.T if by_column else np.ascontiguousarray(array)
        return self._file(".npy", header.getvalue(), rows.reshape(-1).view(np.uint8).data)

    def _file(self, suffix: str, *blocks: bytes | memoryview) -> str:
        """The path of a file with these bytes."""
        digest = hashlib.blake2b(digest_size=16)
        for block in blocks:
            digest.update(block)
        path = os.path.join(self._folder, digest.hexdigest() + suffix)
        self._used.add(path)
        if path not in self._written:
            try:
                with open(path, "wb") as file:
                    for block in blocks:
                        file.write(block)
            except OSError as error:
                raise os_error(path, error) from None
            self._written.add(path)
        return path


class _Pickler(ForkingPickler):
    """Replaces large arrays by their files."""

    def __init__(self, buffer: io.BytesIO, path_of: Callable[[AnyArray], str]) -> None:
        super().__init__(buffer)
        self._path_of = path_of

    def reducer_override(self, value: Any) -> Any:
        if type(value) in (np.ndarray, np.memmap) and value.nbytes >= _LARGE and not value.dtype.hasobject:
            return _mapped, (self._path_of(value),)
        return NotImplemented


class _ByPath:
    """An argument in a file: in its place the worker gets what the file contains."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return _argument, (self.path,)


_kept: OrderedDict[str, Any] = OrderedDict()


def _argument(path: str) -> Any:
    """Return the content of a file, the same object each time while it is kept."""
    if path not in _kept:
        _kept[path] = ForkingPickler.loads(Path(path).read_bytes())
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(path)
    return _kept[path]


def _mapped(path: str) -> AnyArray:
    """Return an array that is mapped into memory, as a plain array."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)).view(np.ndarray)
