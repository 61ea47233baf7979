"""A SVMlight file's bytes, cut into parts of whole lines that threads read side by side."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from rerank.data.types import Bytes
from rerank.errors import FormatError
from rerank.files import Buffer
from rerank.formats.base import ReadOptions

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"
_PADDING = 64  # kernels may look at 32 bytes behind a part
_SMALLEST_PART = 1 << 18
_LABEL_AND_QID = re.compile(rb"[^ \t\r#]+[ \t\r]+qid:")


@dataclass
class Source:
    """A file's bytes, cut into parts of whole lines, and what its first item line says."""

    path: str
    text: Bytes
    parts: list[tuple[Bytes, int]]  # bytes, offset in the file
    first_item: int
    has_qid: bool
    options: ReadOptions

    @property
    def first(self) -> int:
        """The index that stands for column 0."""
        return 0 if self.options.zero_based else 1

    def each(self, work: Callable[[int], T]) -> list[T]:
        """``work`` of the number of each part, in order; side by side where threads are allowed."""
        threads = min(self.options.n_threads(), len(self.parts))
        if threads == 1:
            return [work(p) for p in range(len(self.parts))]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, range(len(self.parts))))


def open_source(data: Buffer, path: str, options: ReadOptions) -> Source:
    """Cut ``data`` into parts. Raises FormatError where it has no item line."""
    if len(data) == 0:
        raise FormatError(path, None, "an empty file", "lines 'label qid:ID index:value ...'")
    text = np.frombuffer(data, dtype=np.uint8)
    start = 3 if data[:3] == _BOM else 0
    first_item, has_qid = _first_item(data, start, path)
    # The last lines go to a copy with room behind it; it also ends in a newline if the file does not.
    cut = max(data.rfind(b"\n", 0, max(len(data) - _PADDING, 0)) + 1, start)
    tail = bytes(data[cut:])
    tail += b"" if tail.endswith(b"\n") else b"\n"
    padded = np.frombuffer(tail + bytes(_PADDING), dtype=np.uint8)
    threads = options.n_threads()
    n_parts = min(8 * threads if threads > 1 else 1, max((cut - start) // _SMALLEST_PART, 1))
    bounds = [start]
    for part in range(1, n_parts):
        bounds.append(max(data.find(b"\n", start + (cut - start) * part // n_parts) + 1, bounds[-1]))
    bounds.append(cut)
    parts = [(text[a:b], a) for a, b in itertools.pairwise(bounds) if b > a]
    parts.append((padded[: len(tail)], cut))
    return Source(path, text, parts, first_item, has_qid, options)


def _first_item(data: Buffer, start: int, path: str) -> tuple[int, bool]:
    """Where the first item line starts and whether it has a qid."""
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip(b" \t\r")
        if line and not line.startswith(b"#"):
            return start, _LABEL_AND_QID.match(line) is not None
        start = end + 1
    raise FormatError(path, None, "no item line", "lines 'label qid:ID index:value ...'")
