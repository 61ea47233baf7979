"""Locks by name within a folder, which a process loses when it ends, however it ends."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from rerank.core.files.streams import os_error

_FILE = ".locks"  # a byte of it stands for a name; it stays empty


@contextmanager
def locked(folder: str, name: str, *, wait: bool = False) -> Iterator[bool]:
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
    path = os.path.join(folder, _FILE)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise os_error(path, error) from None
    try:
        yield _taken(descriptor, name, wait)
    finally:
        os.close(descriptor)


def is_locked(folder: str, name: str) -> bool:
    """Return whether another process holds the lock of a name."""
    try:
        descriptor = os.open(os.path.join(folder, _FILE), os.O_RDWR)
    except OSError:  # nothing was ever locked here
        return False
    try:
        return not _taken(descriptor, name, wait=False)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, name: str, wait: bool) -> bool:
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:7], "big")
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
    except (BlockingIOError, PermissionError):  # both mean that it is held
        return False
    except OSError:
        return True
    return True
