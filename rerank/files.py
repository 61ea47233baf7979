"""Reading and writing files: compressed ones too, ``-`` for standard streams, outputs whole or not at all."""

from __future__ import annotations

import bz2
import errno
import gzip
import itertools
import lzma
import mmap
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol, cast

from rerank.errors import FormatError, RerankError
from rerank.memory import require
from rerank.placing import placing

Buffer = bytes | bytearray | mmap.mmap

STDIN = "<stdin>"
STDOUT = "<stdout>"
BLOCK = 1 << 20
COMPRESSED_BLOCK = 1 << 12  # a block of zstd may inflate to 32,768 times its size
_HEAD_BLOCK = 1 << 8
LARGE = 1 << 16
_GROWTH = 1 << 27  # bytes of content after which the memory that is left is looked at again


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> Any:
    """A module that reads and writes zstd; the standard library has one from Python 3.14 on."""
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        try:
            import zstandard as zstd
        except ImportError:
            raise RerankError("zstd files need the extra rerank[zstd]: pip install 'rerank[zstd]'") from None
    return zstd


def _zstd_decoder() -> _Decoder:
    decoder = _zstd().ZstdDecompressor()
    return cast(_Decoder, decoder.decompressobj() if hasattr(decoder, "decompressobj") else decoder)


# Name, first bytes, factory of decoders (each reads one member, frame or stream of the archive).
_ARCHIVES: tuple[tuple[str, bytes, Callable[[], _Decoder]], ...] = (
    ("gzip", b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    ("bzip2", b"BZh", bz2.BZ2Decompressor),
    ("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(memlimit=1 << 29)),
    ("zstd", b"\x28\xb5\x2f\xfd", _zstd_decoder),
)
_MAGIC_LENGTH = 6
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


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
        if path == "-":
            return _read_stream(_stdin(), STDIN)
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            plain = _archive(file.peek(_MAGIC_LENGTH)) is None
            if plain and size >= LARGE and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _read_large(file, size, path)
            return _read_stream(file, path)
    except OSError as error:
        raise os_error(shown(path), error) from None


def _stdin() -> IO[bytes]:
    """Standard input; raises RerankError if the caller closed it."""
    if sys.stdin is None:
        raise RerankError(f"{STDIN}: is closed")
    return sys.stdin.buffer


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
    with memoryview(pages) as room:
        while at < size and (n := file.readinto(room[at : at + _GROWTH])):  # type: ignore[attr-defined]
            at += n
    return pages if at == size else bytearray(pages[:at])


def _archive(head: bytes) -> tuple[str, Callable[[], _Decoder]] | None:
    for name, magic, make in _ARCHIVES:
        if head.startswith(magic):
            return name, make
    return None


def _read_stream(stream: Any, path: str) -> bytearray:
    """The rest of a binary stream, decompressed; read in blocks, because read() may hold it twice."""
    head = stream.read(_MAGIC_LENGTH)
    archive = _archive(head)
    if archive is not None:
        return _gathered(_inflated(stream, head, path, *archive), path)
    return _gathered(itertools.chain((head,), iter(lambda: stream.read(BLOCK), b"")), path)


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


def _inflated(
    stream: Any, head: bytes, path: str, name: str, make: Callable[[], _Decoder]
) -> Iterator[bytes]:
    """The content of an archive of which ``head`` has been read, block by block."""
    try:
        decoder = make()
        data = head
        while data:
            yield decoder.decompress(data)
            if not decoder.eof:
                data = stream.read(COMPRESSED_BLOCK)
                continue
            data = decoder.unused_data.lstrip(b"\0")  # zeros may pad between members
            while not data and (block := stream.read(COMPRESSED_BLOCK)):
                data = block.lstrip(b"\0")
            decoder = make() if data else decoder
    except RerankError:
        raise
    except Exception as error:  # each library has its own exceptions
        detail = str(error).replace("\n", " ")
        raise FormatError(path, None, f"damaged {name} data ({detail})", f"a whole {name} file") from None
    if not decoder.eof:
        raise FormatError(path, None, f"{name} data that is cut off", f"a whole {name} file")


def read_blocks(path: str) -> Iterator[bytes]:
    """Yield the content of a file block by block, never all at once; raise as ``read_bytes``."""
    try:
        if path == "-":
            yield from _blocks(_stdin(), STDIN)
            return
        with open(path, "rb") as file:
            yield from _blocks(file, path)
    except OSError as error:
        raise os_error(shown(path), error) from None


def _blocks(stream: Any, path: str) -> Iterator[bytes]:
    head = stream.read(_MAGIC_LENGTH)
    archive = _archive(head)
    if archive is not None:
        yield from _inflated(stream, head, path, *archive)
        return
    if head:
        yield head
    while block := stream.read(BLOCK):
        yield block


def read_head(path: str, size: int = 1 << 16) -> bytes:
    """Return the first bytes of a file's content (up to about ``size``), to recognise its format.

    Standard input is not consumed. Raises RerankError as ``read_bytes``.
    """
    try:
        if path == "-":
            head = _peek(_stdin(), size)
        else:
            with open(path, "rb") as file:
                head = file.read(size)
    except OSError as error:
        raise os_error(shown(path), error) from None
    archive = _archive(head)
    if archive is None:
        return head
    out = bytearray()
    try:
        decoder = archive[1]()
        for at in range(0, len(head), _HEAD_BLOCK):
            out += decoder.decompress(head[at : at + _HEAD_BLOCK])
            if len(out) >= size or decoder.eof:
                break
        return bytes(out[:size])
    except RerankError:
        raise
    except Exception:  # the reader will report it
        return b""


def _peek(stream: Any, size: int) -> bytes:
    if hasattr(stream, "peek"):
        return bytes(stream.peek(size))
    place = stream.tell()
    head = bytes(stream.read(size))
    stream.seek(place)
    return head


@contextmanager
def atomic_write(path: str) -> Iterator[IO[bytes]]:
    """Yield a binary file that is at ``path`` once the block ends, and not at all if it raises.

    The file is written next to the target and renamed, see rerank.placing; an existing target stays until
    then and keeps its mode. The suffixes .gz, .bz2, .xz and .zst compress (the same content gives the same
    bytes). ``-`` is standard output; devices and pipes are written directly. Raises RerankError if the target
    cannot be written or the disk is full.
    """
    if path == "-":  # its errors are not translated: the command line reports them for everything printed
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
    if path == "-":
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
        with open(target, "wb") as raw, _compressed(raw, path) as file:
            yield file
        return
    if not os.path.isdir(os.path.dirname(target)):
        raise _no_folder(path)
    with placing(target) as part:
        with os.fdopen(os.dup(part.descriptor), "wb") as raw, _compressed(raw, path) as file:
            yield file
        if mode is not None:
            os.fchmod(part.descriptor, stat.S_IMODE(mode))


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines of text to a file, whole or not at all, as ``atomic_write``; ``-`` is standard output."""
    with atomic_write(path) as out:
        for line in lines:
            out.write(line.encode("utf-8", "surrogateescape"))
            out.write(b"\n")


def _no_folder(path: str) -> RerankError:
    folder = os.path.dirname(os.path.realpath(path) if os.path.islink(path) else path)
    return RerankError(f"{path}: no folder {folder} to write to")


@contextmanager
def _compressed(raw: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    """``raw``, or a compressor into it by the suffix of ``path``; no times or names are recorded."""
    suffix = os.path.splitext(path)[1].lower()
    packer: Any
    if suffix == ".gz":
        packer = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=6)
    elif suffix == ".bz2":
        packer = bz2.BZ2File(raw, "wb")
    elif suffix == ".xz":
        packer = lzma.LZMAFile(raw, "wb")  # noqa: SIM115
    elif suffix == ".zst":
        zstd = _zstd()
        if hasattr(zstd, "ZstdFile"):
            packer = zstd.ZstdFile(raw, "wb")
        else:
            packer = zstd.ZstdCompressor().stream_writer(raw, closefd=False)
    else:
        yield raw
        return
    with packer:
        yield packer
