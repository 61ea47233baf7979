"""What the system offers to put files in place: locks, exchanged names, writing through to the disk."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rerank.core.errors import os_error

_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def sync(descriptor: int) -> None:
    """Write a file through to the disk, if its file system can."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise


def sync_folder(path: str) -> None:
    """Write the names in a folder through to the disk."""
    with suppress(OSError):  # not every system can; the names are right, only not yet on the disk
        descriptor = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def exchanged(a: str, b: str) -> bool:
    """Exchange two names in one step; return False if the system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), b)


def replace_folder(new: str, target: str, old: str) -> None:
    """Put ``new`` at ``target`` and what was there at ``old``; locked, so that no reader puts it back."""
    held = lock(target)
    try:
        os.rename(target, old)
        try:
            os.rename(new, target)
        except BaseException:
            os.rename(old, target)
            raise
    finally:
        if held is not None:
            os.close(held)


def lock(path: str, *, wait: bool = False) -> int | None:
    """Return a descriptor that holds the lock of ``path``; None if another process does, or none can."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    if locked(descriptor, wait=wait):
        return descriptor
    os.close(descriptor)
    return None


def locked(descriptor: int, *, wait: bool = False) -> bool | None:
    """Return whether a descriptor got the lock; None if the system or the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def delete(path: str) -> None:
    """Delete a file or a folder if that is possible; what stays is removed with the leftovers."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    pressed: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if pressed:
            raise KeyboardInterrupt


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
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
    except (BlockingIOError, PermissionError):  # both mean that it is held
        return False
    except OSError:
        return True
    return True
