"""The files of a tar archive, one after the other, without writing any of them to the disk.

Headers are those of POSIX (ustar, pax) and GNU tar. Links, devices, sparse files and paths that lead out of
the archive are refused: an archive of structures needs none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rerank.core.errors import FormatError
from rerank.core.files.streams import read_blocks
from rerank.core.memory import require
from rerank.formats.common import quoted

TAR = "a whole tar archive"
LARGEST = 1 << 30  # bytes of a file

_BLOCK = 512
_LONGEST_NAME = 1 << 16  # bytes of what describes the next file
_LONGEST_PATH = 4096
_REGULAR, _FOLDER = (b"0", b"\0", b"7"), b"5"
_GNU_NAME, _GNU_LINK, _PAX, _PAX_ALL = b"L", b"K", b"x", b"g"
_REFUSED = {
    b"1": "a link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file",
}


def is_tar(head: bytes) -> bool:
    """Return whether content that starts with ``head`` is a tar archive.

    Its first header has the right sum, and a NUL, which no text has.
    """
    header = head[:_BLOCK]
    return len(header) == _BLOCK and b"\0" in header and any(header) and _sum_is_right(header)


def files_of(path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file of an archive ("-" = standard input), compressed or not.

    Raises FormatError if it is damaged or cut off, or holds something else than files and folders, paths that
    lead out of it, or a file of more than 1 GiB.
    """
    source = _Source(read_blocks(path), path)
    longer: str | None = None  # the name of the next file, if its header has no room for it
    size_of_next: int | None = None
    while any(header := source.take(_BLOCK, "a header")):
        if not _sum_is_right(header):
            raise FormatError(path, None, "a damaged header", TAR)
        kind = header[156:157]
        size = _number(header[124:136], path)
        if kind in (_GNU_NAME, _GNU_LINK, _PAX, _PAX_ALL):
            if size > _LONGEST_NAME:
                raise FormatError(path, None, f"a header of {size} bytes", f"at most {_LONGEST_NAME}")
            content = source.padded(size)
            if kind == _GNU_NAME:
                longer = _text(content.split(b"\0")[0])
            elif kind == _PAX:
                longer, size_of_next = _extended(content, longer, path)
            continue
        name = _checked(longer if longer is not None else _name(header), path)
        size = size if size_of_next is None else size_of_next
        longer, size_of_next = None, None
        if kind in _REFUSED or kind not in (*_REGULAR, _FOLDER):
            what = _REFUSED.get(kind, f"an entry of kind {quoted(kind)}")
            raise FormatError(path, None, f"{what}, {quoted(name)}", "files and folders")
        if kind == _FOLDER or name.endswith("/"):
            source.padded(size)
            continue
        if size > LARGEST:
            raise FormatError(path, None, f"{quoted(name)} of {size} bytes", f"at most {LARGEST}")
        yield name, source.padded(size)


class _Source:
    """The bytes of an archive in order."""

    def __init__(self, blocks: Iterable[bytes], path: str) -> None:
        self._blocks = iter(blocks)
        self._path = path
        self._rest = memoryview(b"")

    def take(self, n: int, what: str) -> bytes:
        """The next ``n`` bytes; raises FormatError if there are fewer."""
        out = bytearray()
        while len(out) < n:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    raise FormatError(self._path, None, f"tar data that is cut off in {what}", TAR)
                self._rest = memoryview(block)
            part = self._rest[: n - len(out)]
            out += part
            self._rest = self._rest[len(part) :]
        return bytes(out)

    def padded(self, size: int) -> bytes:
        """The content of an entry, which fills whole blocks."""
        require(2 * min(size, LARGEST), f"a file in {self._path}")
        content = self.take(size, "a file")
        self.take(-size % _BLOCK, "a file")
        return content


def _sum_is_right(header: bytes) -> bool:
    digits = header[148:156].strip(b" \0")
    if not digits or any(digit not in b"01234567" for digit in digits):
        return False
    return int(digits, 8) == sum(header) - sum(header[148:156]) + 8 * ord(" ")


def _number(field: bytes, path: str) -> int:
    """A size: octal digits, or with the highest bit set a number in base 256."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if any(digit not in b"01234567" for digit in digits):
        raise FormatError(path, None, f"a file's size {quoted(digits)}", TAR)
    return int(digits or b"0", 8)


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0")[0]
    prefix = header[345:500].split(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name)


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _extended(content: bytes, name: str | None, path: str) -> tuple[str | None, int | None]:
    """Name and size from a pax header, whose records are "LENGTH KEY=VALUE" with a newline."""
    size = None
    while content:
        digits, _, _ = content.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        record = content[:length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not equals or not record.endswith(b"\n") or len(record) != length:
            raise FormatError(path, None, "a damaged pax header", TAR)
        if key == b"path":
            name = _text(value)
        if key == b"size" and value.isdigit() and len(value) < 20:
            size = int(value)
        if key.startswith(b"GNU.sparse"):
            raise FormatError(path, None, "a sparse file", "files and folders")
        content = content[length:]
    return name, size


def _checked(name: str, path: str) -> str:
    """A name without ./ before it; raises FormatError if it is no path within the archive."""
    while name.startswith("./"):
        name = name[2:]
    if len(name) > _LONGEST_PATH:
        raise FormatError(path, None, f"a path of {len(name)} characters", f"at most {_LONGEST_PATH}")
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise FormatError(path, None, f"the path {quoted(name)}", "paths within the archive")
    return name
