"""The header of an .npy array as numpy.save writes it; stores and model files are read through it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

_MAGIC = b"\x93NUMPY\x01\x00"
_LONGEST = 4096
_ALIGNMENT = 16  # of the data that follows, at least; numpy's own is 64
_HEADER = re.compile(
    rb"\{'descr': '([<>][fiu][248]|[|][iub]1)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:[0-9]{1,18},|(?:[0-9]{1,18}, ){0,7}[0-9]{1,18})?)\), \} *\n"
)


@dataclass(frozen=True)
class ArrayForm:
    """What an array must be: a dtype as in numpy's ``str``, and a shape in which None is any length.

    ``packed`` arrays are bytes of an archive, which no compression makes much smaller.
    """

    dtype: str
    shape: tuple[int | None, ...]
    packed: bool = False

    def fits(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
        """Return whether an array of this dtype and shape has the form."""
        return (
            dtype.str == self.dtype
            and len(shape) == len(self.shape)
            and all(wanted in (None, n) for wanted, n in zip(self.shape, shape, strict=True))
        )

    def __str__(self) -> str:
        return f"{self.dtype} of shape ({', '.join('any' if n is None else str(n) for n in self.shape)})"


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Header:
    """What an .npy header says: dtype and shape, and the bytes that the array takes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of data, which follow the header."""
        return self.dtype.itemsize * math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.str} of shape {self.shape}"


def read_header(stream: _Stream) -> Header:
    """Return the header of the array that ``stream`` begins with, and leave the stream at its data.

    The text is matched, not evaluated. Only numbers are accepted, in rows (not in Fortran order) and with
    a header of version 1.0, as numpy.save writes them.

    Raises
    ------
    ValueError
        If there is no such header.
    """
    start = stream.read(10)
    length = int.from_bytes(start[8:], "little")
    header = stream.read(length) if length <= _LONGEST else b""
    match = _HEADER.fullmatch(header)
    if start[:8] != _MAGIC or len(header) != length or match is None or (10 + length) % _ALIGNMENT:
        raise ValueError("no header of a numeric array")
    if match[2] != b"False":
        raise ValueError("an array in Fortran order")
    shape = tuple(int(n) for n in match[3].split(b",") if n.strip())
    try:
        dtype = np.dtype(match[1].decode("ascii"))
    except TypeError:
        raise ValueError(f"dtype {match[1].decode('ascii')}") from None
    return Header(dtype, shape)
