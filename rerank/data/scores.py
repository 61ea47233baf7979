"""Score files: one number per item line of the input, in the same order (svm_rank's form)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import Buffer, read_bytes, shown
from rerank.core.text import number
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists

BOM = b"\xef\xbb\xbf"
_AT_ONCE = 1 << 20  # bytes of lines that are objects at a time
_OF_NUMBERS = b"0123456789+-.eE \t\r\n"


def read_scores(path: str, lists: CandidateLists) -> Floats:
    """Return scores (n_items) in the order of the lines; ``-`` is standard input.

    Raises FormatError, with the line, if a score is not a finite number, or if there are too few or many.
    """
    data = read_bytes(path)
    name = shown(path)
    start = len(BOM) if data[: len(BOM)] == BOM else 0
    scores = np.empty(lists.n_items)
    n = 0
    for lines in _lines(data, start):
        try:
            values = np.array([float(line) for line in lines], dtype=np.float64)
        except ValueError:
            values = np.array([np.nan])
        # Python also takes 1_000, inf, nan and digits of other scripts for numbers.
        if b" ".join(lines).translate(None, _OF_NUMBERS) or not np.isfinite(values).all():
            known = [number(line.decode("utf-8", "replace").strip(" \t\r")) is not None for line in lines]
            at = known.index(False)
            found = lines[at].decode("utf-8", "replace").strip()
            found = repr(found[:40]) if found else "an empty line"
            raise FormatError(name, n + at + 1, found, "a score (a finite number)")
        scores[n : n + len(values)] = values[: max(len(scores) - n, 0)]
        n += len(values)
    if n != lists.n_items:
        expected = f"{lists.n_items} scores, one for each item of {lists.source}"
        raise FormatError(name, None, f"{n} scores", expected)
    return scores


def _lines(data: Buffer, start: int) -> Iterator[list[bytes]]:
    """Yield the lines from byte ``start`` on, some at a time; a last one of blanks alone is left out."""
    while (stop := data.find(b"\n", start + _AT_ONCE)) >= 0:
        yield bytes(data[start:stop]).split(b"\n")
        start = stop + 1
    lines = bytes(data[start:]).split(b"\n")
    if not lines[-1].strip():
        lines.pop()
    yield lines
