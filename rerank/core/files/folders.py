"""Folders that several processes use: one that is read while others replace it, and locks of names in one."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from rerank.core.errors import FormatError, os_error
from rerank.core.system import flags, locked, opened_folder


class Folder:
    """A directory that is opened once; its files are found through its descriptor, whatever its path becomes.

    Raises FormatError if there is no directory, where a store is expected. ``is_held`` is False if the system
    has no such descriptors: then files are found by the path, and belong together only if it is not replaced.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._fd, self._status = opened_folder(path)
        except (FileNotFoundError, NotADirectoryError):
            found = "a file" if self.path.exists() else "no such directory"
            raise FormatError(str(path), None, found, "a store") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def open(self, name: str) -> BinaryIO:
        """Open a file of the directory to read; raise FormatError if it is no plain file."""
        how = os.O_RDONLY | flags("O_NONBLOCK", "O_BINARY")  # a pipe must not wait
        path = name if self._fd is not None else self.path / name
        fd = os.open(path, how, dir_fd=self._fd)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise FormatError(str(self.path / name), None, "a folder, pipe or device", "a file")
        return open(fd, "rb")

    @property
    def is_held(self) -> bool:
        """Return whether it stays the same directory."""
        return self._fd is not None

    def is_replaced(self) -> bool:
        """Return whether the path now leads elsewhere, or nowhere."""
        try:
            now = os.stat(self.path)
        except OSError:
            return True
        # The number of a directory that is not held may be given to another one.
        same = self.is_held or now.st_mtime_ns == self._status.st_mtime_ns
        return not (same and os.path.samestat(now, self._status))


_LOCKS = ".locks"  # a byte of it stands for a name; it stays empty


@contextmanager
def named_lock(folder: str, name: str, *, wait: bool = False) -> Iterator[bool]:
    """Hold the lock of a name while the block runs; yield False if another process holds it.

    Without locks on the file system, every process gets them: work may be done twice, but what is placed is
    whole and the same.

    Parameters
    ----------
    folder : which exists and can be written.
    name : of what is locked.
    wait : wait until it is free.

    Raises
    ------
    RerankError
        If the folder cannot be written.
    """
    path = os.path.join(folder, _LOCKS)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise os_error(path, error) from None
    try:
        yield _took_name(descriptor, name, wait)
    finally:
        os.close(descriptor)


def named_lock_held(folder: str, name: str) -> bool:
    """Return whether another process holds the lock of a name."""
    try:
        descriptor = os.open(os.path.join(folder, _LOCKS), os.O_RDWR)
    except OSError:  # nothing was ever locked here
        return False
    try:
        return not _took_name(descriptor, name, wait=False)
    finally:
        os.close(descriptor)


def _took_name(descriptor: int, name: str, wait: bool) -> bool:
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
    return locked(descriptor, wait=wait, byte=place) is not False
