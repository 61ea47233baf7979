"""Archives: gzip, bzip2, xz and zstd, recognised by their first bytes, and made if the suffix asks for it.

A small archive may hold very much: content that is both large and many times as large as its archive is
refused. The environment variable RERANK_INFLATED sets how much of any archive is read.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple, Protocol, cast

from rerank.core.errors import FormatError, RerankError
from rerank.core.memory import size, size_given

VARIABLE = "RERANK_INFLATED"
FREE = 1 << 26  # bytes of content that any archive may have
FREE_WITHIN = 1 << 23  # the same of an archive within an archive
RATIO = 500  # beyond them, how many times its size; ordinary data has up to about 100

_BLOCK = 1 << 12  # a block of zstd may inflate to 32,768 times its size
_PIECE = (
    1 << 24
)  # bytes that are inflated at once if the decoder can stop: bzip2 may inflate a block 10^6 times
_HEAD_BLOCK = 1 << 8


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


def check_inflated(content: int, packed: int, path: str, what: str, free: int = FREE) -> None:
    """Raise FormatError if content is both large and very many times as large as the data that holds it.

    Parameters
    ----------
    content, packed
        Their sizes in bytes, as far as they are known.
    path
        The file's name in errors.
    what
        The kind of data: "gzip data".
    free
        Bytes of content that are allowed whatever ``packed`` is, unless RERANK_INFLATED allows more.
    """
    if content <= free or content <= RATIO * packed or content <= (size_given(VARIABLE) or 0):
        return
    found = f"{size(content)} or more in {size(packed)} of {what}"
    expected = f"at most {size(free)} or {RATIO} times its size"
    raise FormatError(path, None, found, f"{expected} ({VARIABLE}=10G reads up to 10 GB of content)")


class Archive(NamedTuple):
    """A kind of archive.

    name : as in messages.
    magic : its first bytes.
    decoder : returns a new decoder, which reads one member, frame or stream.
    """

    name: str
    magic: bytes
    decoder: Callable[[], _Decoder]


_ARCHIVES = (
    Archive("gzip", b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    Archive("bzip2", b"BZh", bz2.BZ2Decompressor),
    Archive("xz", b"\xfd7zXZ\x00", lambda: lzma.LZMADecompressor(memlimit=1 << 29)),
    Archive("zstd", b"\x28\xb5\x2f\xfd", _zstd_decoder),
)
MAGIC_LENGTH = 6
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")


def archive_of(head: bytes) -> Archive | None:
    """Return the archive whose content begins with ``head``, None if it is plain."""
    return next((archive for archive in _ARCHIVES if head.startswith(archive.magic)), None)


def _pieces(decoder: Any, data: bytes, most: int = _PIECE) -> Iterator[bytes]:
    """Yield what a decoder makes of ``data``, in pieces of ``most`` bytes if it can stop."""
    if not hasattr(decoder, "needs_input"):  # zlib and zstandard, which expand a block to 128 MB at most
        yield decoder.decompress(data)
        return
    yield decoder.decompress(data, most)
    while not decoder.eof and not decoder.needs_input:
        yield decoder.decompress(b"", most)


def inflated(stream: Any, head: bytes, path: str, archive: Archive, free: int = FREE) -> Iterator[bytes]:
    """Yield the content of an archive, block by block.

    Parameters
    ----------
    stream
        The binary file after ``head``.
    head
        What has been read of it.
    path
        Its name in errors.
    archive
        Its kind, see ``archive_of``.
    free
        Bytes of content that it may have however small it is.

    Raises
    ------
    FormatError
        If it is damaged or cut off, or has too much content for its size (see ``check_inflated``).
    """
    name = archive.name
    packed = len(head)
    content = 0
    try:
        decoder = archive.decoder()
        data = head
        while data:
            for piece in _pieces(decoder, data):
                content += len(piece)
                check_inflated(content, packed, path, f"{name} data", free)
                yield piece
            if not decoder.eof:
                data = stream.read(_BLOCK)
                packed += len(data)
                continue
            data = decoder.unused_data.lstrip(b"\0")  # zeros may pad between members
            while not data and (block := stream.read(_BLOCK)):
                packed += len(block)
                data = block.lstrip(b"\0")
            decoder = archive.decoder() if data else decoder
    except (RerankError, MemoryError):
        raise
    except Exception as error:  # each library has its own exceptions
        detail = str(error).replace("\n", " ")
        raise FormatError(path, None, f"damaged {name} data ({detail})", f"a whole {name} file") from None
    if not decoder.eof:
        raise FormatError(path, None, f"{name} data that is cut off", f"a whole {name} file")


def beginning(head: bytes, size: int, archive: Archive) -> bytes:
    """Return the first bytes of the content of an archive; none if they cannot be read.

    Parameters
    ----------
    head
        The first bytes of the archive. If they are damaged, the reader of the whole archive reports it.
    size
        About so many bytes are returned at most.
    archive
        Its kind, see ``archive_of``.
    """
    out = bytearray()
    try:
        decoder = archive.decoder()
        for at in range(0, len(head), _HEAD_BLOCK):
            out += next(_pieces(decoder, head[at : at + _HEAD_BLOCK], size))
            if len(out) >= size or decoder.eof:
                break
    except (RerankError, MemoryError):
        raise
    except Exception:
        return b""
    return bytes(out[:size])


@contextmanager
def compressed(raw: IO[bytes], path: str) -> Iterator[IO[bytes]]:
    """Yield ``raw``, or a compressor into it by the suffix of ``path``; no times or names are recorded."""
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
