"""Reading and writing files: compressed ones too, ``-`` for standard streams, outputs whole or not at all."""

from __future__ import annotations

import codecs
import errno
import io
import mmap
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

from rerank.core import progress
from rerank.core.errors import RerankError, visible
from rerank.core.files.archives import (
    COMPRESSED_SUFFIXES,
    FREE,
    FREE_WITHIN,
    MAGIC_LENGTH,
    archive_of,
    beginning,
    compressed,
    inflated,
)
from rerank.core.files.atomic_output import placing
from rerank.core.files.inputs import HEAD, STDIN, Input, first_bytes, opened
from rerank.core.memory import require

Buffer = bytes | bytearray | mmap.mmap

STDOUT = "<stdout>"
BLOCK = 1 << 20
LARGE = 1 << 16
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d{1,4})")
_PIECE = 1 << 24  # bytes that are read at once
_GROWTH = 1 << 27  # bytes of content after which the memory that is left is looked at again


def shown(path: str) -> str:
    """Return the name of an input in messages: the path as typed, ``<stdin>`` for ``-``."""
    return STDIN if path == "-" else path


def plain_suffix(path: str) -> str:
    """Return the suffix of a file's name in lower case, without the suffix of a compression."""
    name = Path(path).name.lower()
    stem, suffix = os.path.splitext(name)
    return os.path.splitext(stem)[1] if suffix in COMPRESSED_SUFFIXES else suffix


def os_error(path: str, error: OSError) -> RerankError:
    """Return the one-line error for an operating system's error about ``path``."""
    if isinstance(error, FileNotFoundError):
        return RerankError(f"{path}: no such file or folder")
    if isinstance(error, IsADirectoryError):
        return RerankError(f"{path}: is a folder, expected a file")
    return RerankError(f"{path}: {(error.strerror or str(error)).lower()}")


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
    """The content of a plain file of ``size`` bytes; less if it has been cut off meanwhile.

    Huge pages make the copy about half as dear: a tenth of the time of parsing.
    """
    require(size, f"the content of {path}")
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return bytearray(file.read(size))
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    at = 0
    with memoryview(pages) as room, progress.step(_reading(path), size, "byte") as advance:
        while at < size and (n := file.readinto(room[at : at + _PIECE])):  # type: ignore[attr-defined]
            at += n
            advance(n)
    return pages if at == size else bytearray(pages[:at])


def _reading(path: str) -> str:
    return f"reading {os.path.basename(shown(path))}"


def _counted(blocks: Iterable[bytes], source: Input, path: str) -> Iterator[bytes]:
    """Yield blocks and report progress: how much of a file was read for them, or how much they are."""
    with progress.step(_reading(path), source.size or None, "byte") as advance:
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

    The input stays open for its reader, see rerank.core.files.inputs. Raises RerankError as ``read_bytes``.
    """
    try:
        head = first_bytes(path, size)
    except OSError as error:
        raise os_error(shown(path), error) from None
    archive = archive_of(head)
    return head if archive is None else beginning(head, size, archive)


@contextmanager
def atomic_write(path: str) -> Iterator[IO[bytes]]:
    """Yield a binary file that is at ``path`` once the block ends, and not at all if it raises.

    The file is written next to the target and renamed, see ``core.files.atomic_output``; an existing target
    stays until then and keeps its mode. The suffixes .gz, .bz2, .xz and .zst compress (the same content gives
    the same bytes). ``-`` is standard output; devices and pipes are written directly. Raises RerankError if
    the target cannot be written or the disk is full.
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
    if not folder and (os.path.isdir(target) or path.endswith(os.sep)):
        raise os_error(path, IsADirectoryError())
    if not os.path.isdir(above):
        raise _no_folder(path)
    there = os.path.exists(target)
    placed = not there or folder or os.path.isfile(target)  # devices and pipes are written directly
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
    with placing(target) as part:
        with os.fdopen(os.dup(part.descriptor), "wb") as raw, compressed(raw, path) as file:
            yield file
        if mode is not None:
            os.fchmod(part.descriptor, stat.S_IMODE(mode))


def _descriptor(path: str) -> int | None:
    """The open descriptor that a name such as /dev/stdout or /dev/fd/63 stands for, None if it is a file.

    It is written directly: the file or pipe behind it may hold something already, and has no name to rename.
    """
    found = _DESCRIPTOR.fullmatch(path)
    return {"/dev/stdout": 1, "/dev/stderr": 2}.get(path) if found is None else int(found[1])


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
