"""Files and folders that appear whole or not at all, one or several together.

An output is prepared next to its target under a hidden name, ``.NAME.<12 hex digits>.part``, written through
to the disk and renamed. A folder, and each of several outputs, is exchanged with what it replaces by one
system call (Linux), so that the target always exists; the old content, now under the hidden name, is deleted.
Systems without that call rename an old folder to ``.NAME.<12 hex digits>.old`` first; if a kill comes between
the two renames, ``recover`` puts it back.

Whoever prepares an output holds a lock on it (flock). A hidden name without a lock was left by a killed
process: the next output to the same target removes it. A kill between the renames of several outputs leaves
some new and some old, each of them whole.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, Any, TextIO

from msgspec import Struct, field

from rerank.core import progress
from rerank.core.errors import RerankError, os_error, visible
from rerank.core.files.archives import (
    compressed,
)
from rerank.core.system import (
    POSIX,
    delete,
    delete_locked,
    exchanged,
    flags,
    lock,
    lockable,
    locked,
    replace_file,
    replace_folder,
    set_mode,
    sync,
    sync_folder,
    uninterrupted,
)

_MOST_LOCKS = 200  # descriptors that a group of outputs keeps open


class StagedOutput(Struct):
    """An output that is being prepared.

    Attributes
    ----------
    path : the hidden name; once the output is placed, that of what it replaced.
    target : where it goes.
    descriptor : open on it, which holds the lock; -1 = closed.
    """

    path: str
    target: str
    descriptor: int

    def commit(self) -> None:
        """Exchange it with its target, or move whichever of the two exists to the other name."""
        if not os.path.lexists(self.path):
            os.rename(self.target, self.path)
            return
        if not os.path.lexists(self.target):
            try:
                os.rename(self.path, self.target)
                return
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another process was quicker
                    raise
        if not exchanged(self.path, self.target):
            stem, kind = os.path.splitext(self.path)
            other = f"{stem}{'.old' if kind == '.part' else '.part'}"
            replace = replace_folder if os.path.isdir(self.target) else replace_file
            replace(self.path, self.target, other)
            self.path = other

    def close(self) -> None:
        """Release the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def discard(self) -> None:
        """Delete what is at the hidden name."""
        delete_locked(self.path, self.descriptor)
        self.descriptor = -1


class _Transaction(Struct):
    """Outputs that wait for each other, and folders that were made for them."""

    parts: list[StagedOutput] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


_transaction: ContextVar[_Transaction | None] = ContextVar("transaction", default=None)


@contextmanager
def transaction() -> Iterator[None]:
    """Place all outputs that the block prepares when it ends, and none if it raises.

    If one cannot be placed, those before it are taken back. Raises OSError with the target as its file name.
    """
    if _transaction.get() is not None:
        yield
        return
    group = _Transaction()
    token = _transaction.set(group)
    try:
        yield
        _place(group.parts)
    except BaseException:
        for part in group.parts:
            part.discard()
        for folder in reversed(group.folders):
            with suppress(OSError):  # something else was put there
                os.rmdir(folder)
        raise
    finally:
        _transaction.reset(token)


def make_folder(path: str) -> None:
    """Make a folder and those above it; within ``transaction`` they disappear again if the block raises."""
    above = os.path.dirname(path.rstrip(os.sep))
    if above and not os.path.isdir(above):
        make_folder(above)
    group = _transaction.get()
    if not os.path.isdir(path):
        if group is not None:
            group.folders.append(path)
        os.mkdir(path)


@contextmanager
def staged(target: str, *, folder: bool = False) -> Iterator[StagedOutput]:
    """Prepare a new file or folder, which is at ``target`` once the block (or its group) ends.

    Parameters
    ----------
    target : a path without symbolic links.
    folder : whether it is a folder; a file is to be written through ``StagedOutput.descriptor``.

    Raises
    ------
    OSError
        If it cannot be made, written through or placed; the target is then as it was.
    """
    remove_leftovers(target)
    part = _begun(target, folder)
    try:
        yield part
        sync(part.descriptor)
        group = _transaction.get()
        if group is None:
            _place([part])
            return
        group.parts.append(part)
        if len(group.parts) > _MOST_LOCKS:
            part.close()
    except BaseException:
        part.discard()
        raise


@contextmanager
def scratch(folder: str) -> Iterator[str]:
    """Yield a new hidden folder within ``folder``, which is deleted when the block ends.

    What killed processes left there is deleted as well. Raises OSError if it cannot be made.
    """
    target = os.path.join(folder, "rerank-scratch")
    remove_leftovers(target)
    part = _begun(target, folder=True)
    try:
        yield part.path
    finally:
        part.discard()


def recover(target: str, whole: Callable[[str], bool]) -> str | None:
    """Put back an old folder that a killed process had renamed; return its hidden name, if there is one.

    Parameters
    ----------
    target : a path without symbolic links; nothing is done if anything is there.
    whole : whether a folder is complete, so that it can be put back.

    Raises
    ------
    OSError
        If the folder cannot be renamed.
    """
    if os.path.lexists(target):
        return None
    for path in leftovers(target, "old"):
        held = lock(path, wait=True)
        try:
            if os.path.lexists(target):  # its owner was alive
                return None
            if os.path.lexists(path) and whole(path):
                os.rename(path, target)
                return path
        finally:
            if held is not None:
                os.close(held)
    return None


def leftovers(target: str, kind: str = "part|old") -> list[str]:
    """Return the hidden names next to ``target`` that belong to it."""
    folder = os.path.dirname(target) or "."
    pattern = re.compile(rf"{re.escape(_stem(target))}\.[0-9a-f]{{12}}\.({kind})")
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if pattern.fullmatch(name))
    except OSError:  # a folder that may be written but not listed
        return []


def remove_leftovers(target: str) -> None:
    """Delete what killed processes left next to ``target``, except the only copy of an old folder."""
    there = os.path.lexists(target)
    for path in leftovers(target, "part|old|lock" if there else "part|lock"):
        held = lock(path)
        if held is not None:
            delete_locked(path, held)


def _stem(target: str) -> str:
    """The beginning of the hidden names of a target; a name that would become too long has its hash."""
    name = os.path.basename(target)
    data = os.fsencode(name)
    if len(data) > 200:
        name = f"{os.fsdecode(data[:100])}~{hashlib.blake2b(data, digest_size=8).hexdigest()}"
    return f".{name}"


def _begun(target: str, folder: bool) -> StagedOutput:
    """A new part, empty and locked."""
    while True:
        path = os.path.join(os.path.dirname(target), f"{_stem(target)}.{os.urandom(6).hex()}.part")
        try:
            if folder:
                os.mkdir(path)
                descriptor = lockable(path)
            else:  # 0o666 and the umask: the mode that open() would give
                how = os.O_RDWR | os.O_CREAT | os.O_EXCL | flags("O_BINARY")
                descriptor = os.open(path, how, 0o666)
        except BaseException:
            delete(path)
            raise
        if locked(descriptor) is not False and os.path.lexists(path):
            return StagedOutput(path, target, descriptor)
        os.close(descriptor)  # another process took it for a leftover before it was locked


def _place(parts: list[StagedOutput]) -> None:
    """Put all parts at their targets, or none; delete what they replaced."""
    placed: list[StagedOutput] = []
    with uninterrupted():
        try:
            for part in parts:
                if not (POSIX or os.path.isdir(part.path)):
                    part.close()
                if len(parts) == 1 and not os.path.isdir(part.path):
                    os.replace(part.path, part.target)
                else:
                    part.commit()
                placed.append(part)
                progress.placed(part.target)
        except BaseException as error:
            for part in reversed(placed):
                part.commit()
            if isinstance(error, OSError):
                error.filename, error.filename2 = part.target, None
            raise
        finally:
            for folder in {os.path.dirname(part.target) for part in placed}:
                sync_folder(folder)
            for part in parts:
                part.discard()


STDOUT = "<stdout>"


_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,4})")


@contextmanager
def atomic_write(path: str) -> Iterator[IO[bytes]]:
    """Yield a binary file that is at ``path`` once the block ends, and not at all if it raises.

    The file is written next to the target and renamed; an existing target stays until then and keeps its
    mode. The suffixes .gz, .bz2, .xz and .zst compress (the same content gives the same bytes). ``-`` is
    standard output; devices and pipes are written directly. Raises RerankError if the target cannot be
    written or the disk is full.
    """
    if path == "-":  # its errors are not translated: the command line reports them for everything printed
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with _target(path) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise os_error(path, error) from None


def check_target(path: str, *, folder: bool = False) -> None:
    """Raise RerankError if writing a file, or a folder, could not begin; for use before long work."""
    if path == "-" or _descriptor(path) is not None:
        return
    target = os.path.realpath(path)
    above = os.path.dirname(target)
    if not folder and (os.path.isdir(target) or not os.path.basename(path)):
        raise os_error(path, IsADirectoryError())
    there = os.path.exists(target)
    placed = not there or folder or os.path.isfile(target)  # devices and pipes are written directly
    if placed and not os.path.isdir(above):  # NUL is in no folder
        raise _no_folder(path)
    if (there and not os.access(target, os.W_OK)) or (placed and not os.access(above, os.W_OK)):
        raise os_error(path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


@contextmanager
def _target(path: str) -> Iterator[IO[bytes]]:
    """A file at ``path`` once the block ends; raises OSError if it cannot be written completely."""
    descriptor = _descriptor(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as raw:
            yield raw
        return
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise os_error(path, error) from None
    if mode is not None and stat.S_ISDIR(mode):
        raise os_error(path, IsADirectoryError())
    if mode is not None and not stat.S_ISREG(mode):
        with open(target, "wb") as raw, compressed(raw, path) as file:
            if raw.isatty():
                with escaping(io.TextIOWrapper(raw, "utf-8")) as text:
                    yield text.buffer
            else:
                yield file
        return
    if not os.path.isdir(os.path.dirname(target)):
        raise _no_folder(path)
    with staged(target) as part:
        with os.fdopen(os.dup(part.descriptor), "wb") as raw, compressed(raw, path) as file:
            yield file
        if mode is not None:
            set_mode(part.descriptor, part.path, stat.S_IMODE(mode))


def _descriptor(path: str) -> int | None:
    """The open descriptor that a name such as /dev/stdout or /dev/fd/63 stands for, None if it is a file.

    It is written directly: the file or pipe behind it may hold something already, and has no name to rename.
    """
    found = _DESCRIPTOR.fullmatch(path)
    return {"/dev/stdout": 1, "/dev/stderr": 2}.get(path) if found is None else int(found[1])


def is_closed_pipe(error: OSError) -> bool:
    """Return whether writing failed since nobody reads; Windows calls this an invalid argument."""
    return isinstance(error, BrokenPipeError) or (not POSIX and error.errno == errno.EINVAL)


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text to a file, whole or not at all, as ``atomic_write``; ``-`` is standard output."""
    with atomic_write(path) as out:
        for line in lines:
            out.write(line.encode("utf-8", "surrogateescape"))
            out.write(b"\n")


def _no_folder(path: str) -> RerankError:
    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path)
    return RerankError(f"{path}: no folder {folder} to write to")


class _Escaping(io.BufferedIOBase):
    """UTF-8 text for a terminal; all but line ends, tabs and blanks that cannot be printed is escaped."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def write(self, data: bytes | memoryview) -> int:  # type: ignore[override]
        """Write bytes; those that are not UTF-8 are escaped."""
        self.behind.write(visible(self._decoder.decode(bytes(data))))
        return len(data)

    def flush(self) -> None:
        """Write what is left, also a character that is cut off."""
        if not self.behind.closed:
            self.behind.write(visible(self._decoder.decode(b"", final=True)))
            self.behind.flush()

    def fileno(self) -> int:
        """Return the number of the terminal's file."""
        return self.behind.fileno()

    def isatty(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True


def escaping(stream: TextIO) -> TextIO:
    """Return a stream, as text and in ``buffer`` as bytes, that escapes what it writes to a terminal."""
    buffer: Any = _Escaping(stream)
    return io.TextIOWrapper(buffer, "utf-8", "backslashreplace", line_buffering=True)


def unescaped(stream: TextIO) -> TextIO:
    """Return the stream behind an escaping one, for texts with control sequences of our own."""
    stream.flush()
    buffer = getattr(stream, "buffer", None)
    return buffer.behind if isinstance(buffer, _Escaping) else stream
