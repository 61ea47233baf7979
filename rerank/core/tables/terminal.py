"""Standard output on a terminal: what a terminal would obey, hide or reorder is escaped, whoever wrote it."""

from __future__ import annotations

import codecs
import io
from typing import Any, TextIO

from rerank.core.errors import visible


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
