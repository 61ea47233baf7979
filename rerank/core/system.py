"""Calls that differ between systems, and sums: locks, names, memory, processes. Each works on all of them.

No other module uses what Windows, macOS or an old Linux lacks; ``mypy --platform win32`` finds one that does.
Where a system offers less, the docstring says what is weaker there.
"""

from __future__ import annotations

import errno
import functools
import mmap
import operator
import os
import shutil
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

# Whether a folder can be opened, and an open file renamed and deleted.
POSIX = os.name == "posix"

_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_PAUSE = 0.05  # seconds between two tries to get a lock of Windows, which has no waiting without an end
_LAST_BYTE = 2**31 - 2  # that Windows can lock


def added(values: Iterable[float]) -> float:
    """Return the sum of numbers, one added after the other.

    ``sum`` makes up for rounding from Python 3.12 on, so that its last bits depend on the version.
    """
    return functools.reduce(operator.add, values, 0.0)


def flags(*names: str) -> int:
    """Return those flags of ``os.open`` that the system has, together."""
    found = 0
    for name in names:
        found |= getattr(os, name, 0)
    return found


def opened_folder(path: str | os.PathLike[str]) -> tuple[int | None, os.stat_result]:
    """Open a folder, to find its files through it, and return its status; raise OSError if it is no folder.

    Where files are found by their path alone (Windows), there is no descriptor: the folder can be replaced.
    """
    if os.open in os.supports_dir_fd:
        descriptor = os.open(path, os.O_RDONLY | flags("O_DIRECTORY"))
        return descriptor, os.fstat(descriptor)
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
    return None, status


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


def reserve(descriptor: int, n_bytes: int) -> None:
    """Give a file its size, and space on the disk if the system can: a mapped file without it is fatal."""
    try:
        os.posix_fallocate(descriptor, 0, n_bytes)  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _UNSUPPORTED:
            raise
        os.ftruncate(descriptor, n_bytes)


def set_mode(descriptor: int, path: str, mode: int) -> None:
    """Give an open file its permissions."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    else:
        os.chmod(path, mode)


def exchanged(a: str, b: str) -> bool:
    """Exchange two names in one step; return False if the system cannot (any but Linux)."""
    try:
        import ctypes

        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), b)


def replace_file(new: str, target: str, old: str) -> None:
    """Put ``new`` at ``target`` and what was there at ``old``; without hard links in two steps."""
    try:
        os.link(target, old)
    except OSError:
        os.rename(target, old)
    try:
        os.replace(new, target)
    except BaseException:
        os.replace(old, target)  # does nothing if both are the same file
        delete(old)
        raise


def replace_folder(new: str, target: str, old: str) -> None:
    """Put ``new`` at ``target`` and what was there at ``old``; locked, so that no reader puts it back."""
    held = lock(target) if POSIX else None  # elsewhere ``new`` and ``old`` share a lock, see ``lock``
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
    try:
        descriptor = lockable(path)
    except OSError:
        return None
    if locked(descriptor, wait=wait):
        return descriptor
    os.close(descriptor)
    return None


def lockable(path: str) -> int:
    """Return a descriptor to lock a file or folder; raise OSError if it cannot be opened.

    For a folder that cannot be opened (Windows) it is that of a file beside it, the same for STEM.part and
    STEM.old.
    """
    if not POSIX and os.path.isdir(path):
        return os.open(_beside(path), os.O_RDWR | os.O_CREAT)
    return os.open(path, os.O_RDONLY | flags("O_NOFOLLOW", "O_NONBLOCK"))


def delete_locked(path: str, descriptor: int) -> None:
    """Delete a file or folder whose lock is held, as far as possible, and release the lock; -1 = not held."""
    if POSIX:
        delete(path)
    if descriptor >= 0:
        os.close(descriptor)
    if not POSIX:
        delete(path)
        delete(_beside(path))


def _beside(path: str) -> str:
    """The file that stands for a folder when it is locked."""
    return f"{os.path.splitext(path)[0]}.lock"


def locked(descriptor: int, *, wait: bool = False, byte: int | None = None) -> bool | None:
    """Return whether a descriptor got a lock; None if the system or the file system has no locks.

    byte : None = lock the file for this descriptor; a number = lock this byte of it, which need not exist,
        for this process.
    """
    if fcntl is None:
        return None if msvcrt is None else _locked_byte(descriptor, wait, byte)
    how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
    try:
        if byte is None:
            fcntl.flock(descriptor, how)
        else:
            fcntl.lockf(descriptor, how, 1, byte)
    except (BlockingIOError, PermissionError):  # both mean that it is held
        return False
    except OSError:
        return None
    return True


def _locked_byte(descriptor: int, wait: bool, byte: int | None) -> bool | None:
    """As ``locked``, on Windows: nobody else can read a byte that is locked, so it is one behind all."""
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, _LAST_BYTE if byte is None else byte % _LAST_BYTE, os.SEEK_SET)
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not wait:
                    return False
                time.sleep(_PAUSE)
            else:
                return True
    except OSError:
        return None
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


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


def private_pages(size: int) -> mmap.mmap:
    """Return so many bytes of memory of this process, zeros."""
    if sys.platform != "win32" and hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def advise(pages: mmap.mmap, advice: str, *where: int) -> None:
    """Tell the system how pages are used, by the name of a constant of ``mmap``, if it has that."""
    number, tell = getattr(mmap, advice, None), getattr(pages, "madvise", None)
    if number is not None and tell is not None:
        with suppress(OSError):  # a kernel without it
            tell(number, *where)


def free_memory() -> int | None:
    """Return the free memory of the machine where /proc does not tell it, None if it is not known.

    On macOS it is all memory: less is free.
    """
    if sys.platform == "win32":
        found = _windows("GlobalMemoryStatusEx", 8)
        return found[2] if found else None
    try:
        return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    except (AttributeError, ValueError, OSError):
        return None


def memory_limit() -> int | None:
    """Return the limit of the address space in bytes (``ulimit -v``), None without a limit."""
    try:
        import resource

        name: Any = resource
        limit: int = name.getrlimit(name.RLIMIT_AS)[0]
    except (ImportError, AttributeError, ValueError, OSError):
        return None
    return None if limit in (name.RLIM_INFINITY, -1) else limit


def reset_peak() -> None:
    """Begin to measure the largest memory of this process again (Linux)."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak() -> int | None:
    """Return the largest memory in bytes since ``reset_peak`` or of the process; None if it is not known."""
    if sys.platform == "win32":
        found = _windows("K32GetProcessMemoryInfo", 9, -1)
        return found[1] if found else None
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT


PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes, of getrusage's ru_maxrss


def _windows(function: str, n: int, *process: int) -> list[int]:
    """The structure of ``n`` 64-bit words that a function of the Windows kernel fills; [] if it fails.

    Word 2 of GlobalMemoryStatusEx is the free memory; words 1 and 2 of K32GetProcessMemoryInfo are the
    largest and the present working set.
    """
    import ctypes

    words = (ctypes.c_uint64 * n)(8 * n)  # the size comes first
    size = [8 * n] if process else []
    call = getattr(getattr(ctypes, "windll").kernel32, function)  # noqa: B009  (not known on other systems)
    return list(words) if call(*map(ctypes.c_void_p, process), ctypes.byref(words), *size) else []


def started(code: str, theirs: Any, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start Python with an end of a ``Pipe``; its number is the first argument, the search path the others.

    It inherits nothing else but standard output and error, and hears no Ctrl-C.
    """
    import subprocess

    number = theirs.fileno()
    command = [sys.executable, "-u", "-c", code, str(number), *sys.path]
    if sys.platform == "win32":
        os.set_handle_inheritable(number, True)
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            env=environment,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
            startupinfo=subprocess.STARTUPINFO(lpAttributeList={"handle_list": [number]}),
        )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the process inherits
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, pass_fds=(number,))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def inherited(number: int) -> Any:
    """Return the ``Connection`` that this process was started with."""
    from multiprocessing import connection

    if sys.platform == "win32":
        return connection.PipeConnection(number)
    os.set_inheritable(number, False)
    return connection.Connection(number)
