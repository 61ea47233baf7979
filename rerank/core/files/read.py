"""Reading files: compressed ones too, ``-`` for standard input, each pipe opened once.

A file can be opened again from its beginning. A pipe, a FIFO or standard input cannot: bytes that were read
to recognise the format would be missing. So an input whose first bytes were looked at stays open until a
reader takes it, and the reader gets these bytes first. The content of small pipes is kept for the time of a
call, since judgements or names of features may be needed for training and for development lists.
"""

from __future__ import annotations

import functools
import io
import mmap
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import RerankError, os_error
from rerank.core.files.archives import (
    COMPRESSED_SUFFIXES,
    FREE,
    FREE_WITHIN,
    MAGIC_LENGTH,
    archive_of,
    beginning,
    inflated,
)
from rerank.core.memory import require
from rerank.core.system import advise, private_pages

P = ParamSpec("P")


T = TypeVar("T")


Key = str | tuple[int, int]


STDIN = "<stdin>"


HEAD = 1 << 16  # bytes that recognise a format


_KEPT = 1 << 26  # bytes of a pipe that are kept


class Input:
    """A binary stream whose first bytes can be looked at before it is read.

    Parameters
    ----------
    raw : the stream, at its beginning.
    size : its bytes if it is a regular file, otherwise None.
    """

    def __init__(self, raw: IO[bytes], size: int | None) -> None:
        self.raw, self.size = raw, size
        self.kept = bytearray()  # what was read; the first bytes stay, since others may ask for them later
        self.whole = False  # whether ``kept`` is the whole content
        self._at, self._keeps = 0, size is None
        self.process = os.getpid()  # a forked process must not share the place in a file

    def peek(self, size: int) -> bytes:
        """Return the first ``size`` bytes, fewer only if the stream is shorter, without reading them."""
        while len(self.kept) < size and not self.raw.closed:
            block = self.raw.read(size - len(self.kept))
            if not block:
                break
            self.kept += block
        return bytes(self.kept[:size])

    def read(self, size: int) -> bytes:
        """Read up to ``size`` bytes; none at the end."""
        if self._at < len(self.kept):
            block = bytes(self.kept[self._at : self._at + size])
            self._at += len(block)
            return block
        block = self.raw.read(size)
        if self._keeps:
            self._at += len(block)
            self.kept += block
            self.whole = not block and size > 0
            if len(self.kept) > _KEPT:
                self._keeps, self._at = False, HEAD
                del self.kept[HEAD:]
        return block

    def rewound(self) -> IO[bytes]:
        """Return the stream of a regular file, at its beginning; ``read`` continues from there as well."""
        self.raw.seek(0)
        self._at = len(self.kept)
        return self.raw

    def __enter__(self) -> Input:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the stream, unless it is standard input."""
        if sys.stdin is None or self.raw is not sys.stdin.buffer:
            self.raw.close()


class _Table(Struct):
    """Inputs of one call: those of which only the first bytes were read, those that are read, used pipes."""

    waiting: dict[Key, Input] = {}
    used: dict[Key, Input] = {}
    taken: list[Input] = []

    def take(self, key: Key, found: Input, once: bool) -> None:
        """Note that an input is read, and whether it can be read only once."""
        self.taken = [*(one for one in self.taken if not one.raw.closed), found]
        if once:
            self.used.setdefault(key, found)

    def close(self) -> None:
        for found in (*self.waiting.values(), *self.taken):  # readers that failed may have left some open
            found.close()


_tables: ContextVar[_Table | None] = ContextVar("inputs", default=None)


@contextmanager
def inputs_opened_once() -> Iterator[None]:
    """Open each input once within the block; a long pipe that is to be read twice is an error."""
    if _tables.get() is not None:
        yield
        return
    table = _Table()
    token = _tables.set(table)
    try:
        yield
    finally:
        _tables.reset(token)
        table.close()


def opening_once(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that recognises files and reads them, see ``inputs_opened_once``."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with inputs_opened_once():
            return function(*args, **kwargs)

    return call


def opened(path: str) -> Input:
    """Return an input to be read from its beginning, for a ``with`` block; ``-`` is standard input.

    Raises
    ------
    RerankError
        If standard input is closed, or a pipe has been read already.
    OSError
        If the file cannot be opened.
    """
    found = _taken(path, keep=False)
    if found.size is None and _tables.get() is not None:
        found.peek(HEAD)  # kept for those who ask what the input was
    return found


def first_bytes(path: str, size: int) -> bytes:
    """Return the first bytes of an input, which stays open for its reader; raise as ``opened``.

    Fewer than ``size`` bytes are all that the input has. Pipes need a block of ``inputs_opened_once``.
    """
    table = _tables.get()
    if table is None:
        if is_pipe(path):
            raise RuntimeError(f"{path}: the beginning of a pipe would be lost; use inputs_opened_once")
        with open(path, "rb") as file:
            return file.read(size)
    found = table.used.get(_key(path)[0]) or _taken(path, keep=True)
    return found.peek(size)


def is_file(path: str) -> bool:
    """Return whether a path is an input other than a folder: a file, a pipe or a device."""
    return os.path.exists(path) and not os.path.isdir(path)


def is_pipe(path: str) -> bool:
    """Return whether an input can be read only once: standard input, a FIFO, a socket, a terminal."""
    if path == "-":
        return True
    try:
        return _once(os.stat(path).st_mode)
    except OSError:
        return False


def _once(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _key(path: str) -> tuple[Key, os.stat_result | None]:
    """Return a key of an input, the same for all names of a pipe, and its status."""
    try:
        status = os.fstat(_stdin().fileno()) if path == "-" else os.stat(path)
    except (OSError, ValueError) as error:  # io.UnsupportedOperation is both: a stream without a descriptor
        if path == "-":
            return path, None
        raise error
    return ((status.st_dev, status.st_ino) if _once(status.st_mode) else path), status


def _taken(path: str, keep: bool) -> Input:
    """The input, the one that waits or a new one; it waits for its reader if ``keep``."""
    table = _tables.get()
    key, status = _key(path)
    found = None if table is None else table.waiting.pop(key, None)
    used = None if table is None else table.used.get(key)
    if found is not None and found.process != os.getpid():
        used, found = None if found.size is not None else found, None
    if used is not None and used.whole:
        found = Input(io.BytesIO(used.kept), None)
    elif used is not None:
        name = STDIN if path == "-" else path
        raise RerankError(f"{name}: is a pipe of over {_KEPT >> 20} MB and needed twice; expected a file")
    if found is None:
        raw = _stdin() if path == "-" else open(path, "rb")  # noqa: SIM115
        regular = path != "-" and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        found = Input(raw, os.fstat(raw.fileno()).st_size if regular else None)
    elif not keep and found.size is not None:
        found.rewound()
    if table is not None and keep:
        table.waiting[key] = found
    elif table is not None:
        table.take(key, found, found.size is None and not (status and stat.S_ISCHR(status.st_mode)))
    return found


def _stdin() -> IO[bytes]:
    """Standard input; raises RerankError if the caller closed it."""
    if sys.stdin is None:
        raise RerankError(f"{STDIN}: is closed")
    return sys.stdin.buffer


Buffer = bytes | bytearray | mmap.mmap


BLOCK = 1 << 20


LARGE = 1 << 16


_PIECE = 1 << 24  # bytes that are read at once


_GROWTH = 1 << 27  # bytes of content after which the memory that is left is looked at again


def shown(path: str) -> str:
    """Return the name of an input in messages: the path as typed, ``<stdin>`` for ``-``."""
    return STDIN if path == "-" else path


def plain_suffix(path: str) -> str:
    """Return the suffix of a file's name in lower case, without the suffix of a compression."""
    stem, suffix = os.path.splitext(Path(path).name.lower())
    return os.path.splitext(stem)[1] if suffix in COMPRESSED_SUFFIXES else suffix


def read_bytes(path: str) -> Buffer:
    """Return the content of a file, decompressed if its first bytes are of gzip, bzip2, xz or zstd.

    Memory holds no more than the content, and nothing that happens to the file later changes it: kernels
    read text twice, and a mapped file that is cut off ends the process. ``-`` is standard input.

    Raises
    ------
    RerankError
        If the file cannot be opened, or its content would not fit into the memory that is left.
    FormatError
        If an archive is damaged or cut off.
    """
    try:
        with opened(path) as source:
            size = source.size or 0
            if size >= LARGE and archive_of(source.peek(MAGIC_LENGTH)) is None:
                return _read_large(source.rewound(), size, path)
            return _gathered(_counted(_blocks(source, shown(path)), source, path), shown(path))
    except OSError as error:
        raise os_error(shown(path), error) from None


def inflated_bytes(content: bytes, path: str) -> Buffer:
    """Return content that was read before, decompressed as ``read_bytes`` does; raise as it does."""
    if archive_of(content[:MAGIC_LENGTH]) is None:
        return content
    return _gathered(_blocks(io.BytesIO(content), path, FREE_WITHIN), path)


def _read_large(file: IO[bytes], size: int, path: str) -> Buffer:
    """The content of a plain file of ``size`` bytes; less if it has been cut off since.

    Huge pages make the copy about half as expensive: a tenth of the time of parsing.
    """
    require(size, f"the content of {path}")
    pages = private_pages(size)
    advise(pages, "MADV_HUGEPAGE")
    at, what = 0, f"reading {os.path.basename(path)}"
    with memoryview(pages) as room, progress.step(what, size, "byte") as advance:
        while at < size and (n := file.readinto(room[at : at + _PIECE])):  # type: ignore[attr-defined]
            at += n
            advance(n)
    return pages if at == size else bytearray(pages[:at])


def _counted(blocks: Iterable[bytes], source: Input, path: str) -> Iterator[bytes]:
    """Yield blocks and report progress: how much of a file was read for them, or how much they are."""
    what = f"reading {os.path.basename(shown(path))}"
    with progress.step(what, source.size or None, "byte") as advance:
        at = 0
        for block in blocks:
            now = source.raw.tell() if source.size else at + len(block)
            advance(now - at)
            at = now
            yield block


def _gathered(blocks: Iterable[bytes], path: str) -> bytearray:
    """All blocks as one, unless they grow beyond the memory that is left."""
    out = bytearray()
    looked = _GROWTH
    for block in blocks:
        if len(out) + len(block) > looked:
            require(len(block) + _GROWTH, f"the content of {path}")
            looked = len(out) + len(block) + _GROWTH
        out += block
    return out


def read_blocks(path: str) -> Iterator[bytes]:
    """Yield the content of a file block by block, never all at once; raise as ``read_bytes``."""
    try:
        with opened(path) as source:
            yield from _counted(_blocks(source, shown(path)), source, path)
    except OSError as error:
        raise os_error(shown(path), error) from None


def _blocks(stream: Any, path: str, free: int = FREE) -> Iterator[bytes]:
    """The rest of a binary stream, decompressed; in blocks, because read() may hold it twice."""
    head = stream.read(MAGIC_LENGTH)
    archive = archive_of(head)
    if archive is not None:
        yield from inflated(stream, head, path, archive, free)
        return
    if head:
        yield head
    while block := stream.read(BLOCK):
        yield block


def read_head(path: str, size: int = HEAD) -> bytes:
    """Return the first bytes of a file's content (up to about ``size``), to recognise its format.

    The input stays open for its reader, see rerank.core.files.read. Raises RerankError as ``read_bytes``.
    """
    try:
        head = first_bytes(path, size)
    except OSError as error:
        raise os_error(shown(path), error) from None
    archive = archive_of(head)
    return head if archive is None else beginning(head, size, archive)
