"""Universal Binary JSON, as XGBoost writes it, read strictly: a stranger's file must not exhaust memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from rerank.core.errors import DataError

_DEEPEST = 64
_TYPES = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}


def ubjson(content: bytes) -> Any:
    """Return the value of a file; DataError if it is damaged."""
    reader = _Reader(content)
    value = reader.value(reader.marker(), 0)
    if reader.at != len(content):
        raise DataError(f"{len(content) - reader.at} bytes after the end of UBJSON")
    return value


class _Reader:
    """A place in the bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def take(self, size: int) -> bytes:
        """Return the next bytes; a size is checked against what is there."""
        if not 0 <= size <= len(self.content) - self.at:
            raise DataError(f"byte {self.at}: UBJSON ends early")
        self.at += size
        return self.content[self.at - size : self.at]

    def marker(self) -> str:
        """Return the next marker, without no-ops."""
        while (found := self.take(1)) == b"N":
            pass
        return found.decode("latin-1")

    def size(self) -> int:
        """Return a length."""
        kind = self.marker()
        if kind not in "iUIlL":
            raise DataError(f"byte {self.at}: no length in UBJSON")
        value = self.number(kind)
        if value < 0:
            raise DataError(f"byte {self.at}: a length below 0")
        return int(value)

    def number(self, kind: str) -> Any:
        """Return a number of a type."""
        dtype = np.dtype(_TYPES[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def text(self) -> str:
        """Return a string without its marker."""
        try:
            return self.take(self.size()).decode("utf-8")
        except UnicodeDecodeError:
            raise DataError(f"byte {self.at}: a text that is not UTF-8") from None

    def value(self, kind: str, depth: int) -> Any:
        """Return a value whose marker was read."""
        if depth > _DEEPEST:
            raise DataError(f"values nested more than {_DEEPEST} deep")
        if kind in _TYPES:
            return self.number(kind)
        if kind in "SH":
            return self.text()
        if kind == "C":
            return self.take(1).decode("latin-1")
        if kind in "ZTF":
            return {"Z": None, "T": True, "F": False}[kind]
        if kind == "[":
            return self.array(depth)
        if kind == "{":
            return self.object(depth)
        raise DataError(f"byte {self.at - 1}: no marker of UBJSON: {kind!r}")

    def head(self) -> tuple[str, int]:
        """Return the type and count of a container, "" and -1 if it has none."""
        kind, count = "", -1
        if self.content[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.marker()
        if self.content[self.at : self.at + 1] == b"#":
            self.at += 1
            count = self.size()
        elif kind:
            raise DataError(f"byte {self.at}: a type without a count")
        if (
            count > len(self.content) - self.at
        ):  # each value has a byte at least, those without are not written
            raise DataError(f"byte {self.at}: a count of {count}")
        return kind, count

    def array(self, depth: int) -> list[Any]:
        """Return an array."""
        kind, count = self.head()
        if kind in _TYPES:
            dtype = np.dtype(_TYPES[kind])
            return np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()
        found: list[Any] = []
        while len(found) != count:
            inner = kind or self.marker()
            if inner == "]" and count < 0:
                break
            found.append(self.value(inner, depth + 1))
        return found

    def object(self, depth: int) -> dict[str, Any]:
        """Return an object."""
        kind, count = self.head()
        found: dict[str, Any] = {}
        while len(found) != count:
            if count < 0 and self.content[self.at : self.at + 1] == b"}":
                self.at += 1
                break
            key = self.text()
            if key in found:
                raise DataError(f"byte {self.at}: the key {key[:40]!r} twice")
            found[key] = self.value(kind or self.marker(), depth + 1)
        return found
