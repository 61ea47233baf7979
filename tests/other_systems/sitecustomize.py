"""Take from Python what other systems lack, named in WITHOUT; Python imports this file as it starts."""

import builtins
import errno
import io
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any

real_open = open


def fcntl() -> None:
    sys.modules["fcntl"] = None  # type: ignore[assignment]


def resource() -> None:
    sys.modules["resource"] = None  # type: ignore[assignment]


def renameat2() -> None:
    import ctypes

    real = ctypes.CDLL.__init__

    def of_a_file(self: Any, name: Any, *others: Any, **named: Any) -> None:
        if name is None:
            raise TypeError("no library of the process itself")
        real(self, name, *others, **named)

    ctypes.CDLL.__init__ = of_a_file  # type: ignore[method-assign]


def proc() -> None:
    def hiding(real: Callable[..., Any]) -> Callable[..., Any]:
        def hidden(path: Any, *others: Any, **named: Any) -> Any:
            if not isinstance(path, int) and os.fsdecode(path).startswith("/proc/"):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            return real(path, *others, **named)

        return hidden

    builtins.open, io.open, os.open = hiding(open), hiding(io.open), hiding(os.open)  # type: ignore[assignment]


def posix_fallocate() -> None:
    del os.posix_fallocate


def madvise() -> None:
    for name in dir(mmap):
        if name.startswith(("MADV_", "MAP_", "PROT_")):
            delattr(mmap, name)


def fork() -> None:
    del os.fork, os.sched_getaffinity


def windows() -> None:
    """Folders have no descriptors, open files keep their names, and locks are those of msvcrt."""
    import fcntl as unix
    import subprocess  # which would take this for Windows

    real = {name: getattr(os, name) for name in ("open", "rename", "replace", "unlink", "rmdir")}

    def in_use(path: Any) -> bool:
        path = os.path.realpath(path)
        opened = []
        for number in os.listdir("/proc/self/fd"):
            try:
                opened.append(os.readlink(f"/proc/self/fd/{number}"))
            except OSError:
                continue
        with real_open("/proc/self/maps") as file:
            opened += [line.rstrip("\n").split(None, 5)[5] for line in file if "/" in line]
        return any(name == path or name.startswith(f"{path}/") for name in opened)

    def refuse(number: int, path: Any) -> None:
        raise OSError(number, os.strerror(number), path)

    def open_(path: Any, *others: Any, **named: Any) -> int:
        if os.path.isdir(path):
            refuse(errno.EACCES, path)
        return real["open"](path, *others, **named)

    def closed_only(name: str) -> Callable[..., None]:
        def call(*paths: Any, **named: Any) -> None:
            if name == "rename" and os.path.lexists(paths[1]):
                refuse(errno.EEXIST, paths[1])
            for path in paths:
                if os.path.lexists(path) and in_use(path):
                    refuse(errno.EACCES, path)
            real[name](*paths, **named)

        return call

    os.supports_dir_fd.clear()
    os.supports_fd.discard(os.scandir)
    os.open = open_  # type: ignore[assignment]
    for name in ("rename", "replace", "unlink", "rmdir"):
        setattr(os, name, closed_only(name))
    os.remove = os.unlink
    for name in ("fchmod", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK"):
        delattr(os, name)
    for absent in (fcntl, resource, renameat2, posix_fallocate, madvise, fork):
        absent()
    import rerank.core.system as system

    class Msvcrt:
        LK_NBLCK = 2

        @staticmethod
        def locking(descriptor: int, mode: int, n_bytes: int) -> None:
            assert (mode, n_bytes, subprocess._mswindows) == (2, 1, False)  # type: ignore[attr-defined]
            try:
                unix.flock(descriptor, unix.LOCK_EX | unix.LOCK_NB)
            except BlockingIOError:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    system.msvcrt, system.POSIX = Msvcrt, False


for wanted in os.environ.get("WITHOUT", "").split():
    globals()[wanted]()
