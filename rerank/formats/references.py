"""Files of references: one reference a line, split at newlines alone; several files are several references.

Attached by sentence number where the lists' ids are 0-based sentence numbers, by order elsewhere.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.types import Index
from rerank.errors import ConfigError, DataNote, FormatError
from rerank.files import read_bytes, shown

_NUMBER = re.compile(r"[0-9]{1,18}")


def read_lines(path: str) -> StringColumn:
    """The lines of a file; one carriage return at a line's end is none of it, nor is a byte order mark.

    Unicode's own line separators are text. Raises FormatError for an empty file, RerankError where it
    cannot be read.
    """
    data = np.frombuffer(read_bytes(path), dtype=np.uint8)
    if data[:3].tobytes() == b"\xef\xbb\xbf":
        data = data[3:]
    if len(data) == 0:
        raise FormatError(shown(path), None, "an empty file", "one string a line")
    ends = np.flatnonzero(data == ord("\n"))
    if len(ends) == 0 or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    lengths = np.diff(ends, prepend=-1) - 1
    returns = ends[(lengths > 0) & (data[np.maximum(ends, 1) - 1] == ord("\r"))] - 1
    kept = np.ones(len(data), dtype=bool)
    kept[ends[ends < len(data)]] = False
    kept[returns] = False
    lengths[np.searchsorted(ends, returns)] -= 1
    offsets = np.zeros(len(ends) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return StringColumn(data[kept], offsets)


def attach_references(
    lists: CandidateLists, paths: Sequence[str], *, numbered: bool = False
) -> CandidateLists:
    """The lists with a column of references from each file.

    ``numbered`` says that ids of lists may be sentence numbers: if all are whole numbers, list ``i``
    takes line i, from 0, and lines without a list are counted in a DataNote. Ids that are just 1 to the
    number of lines, and ids that are no numbers, take the lines in order; then the numbers must agree.
    Raises ConfigError where the lists already hold references, FormatError where a line is lacking.
    """
    if not paths:
        return lists
    if lists.references:
        raise ConfigError(f"{lists.source}: holds its own references, so refs={paths[0]!r} cannot be given")
    numbers = _sentence_numbers(lists) if numbered else None
    columns = tuple(_column(lists, path, numbers) for path in paths)
    return replace(lists, references=columns, counts={})  # counts were of other references


def _sentence_numbers(lists: CandidateLists) -> Index | None:
    """The ids of the lists as numbers, int64 (n_lists); None where any is not one."""
    if lists.list_ids is None:
        return None
    ids = list(lists.list_ids)
    if not all(_NUMBER.fullmatch(name) for name in ids):
        return None
    return np.array([int(name) for name in ids], dtype=np.int64)


def _column(lists: CandidateLists, path: str, numbers: Index | None) -> StringColumn:
    lines = read_lines(path)
    n = lists.n_lists
    if numbers is not None and len(lines) == n and np.array_equal(numbers, np.arange(1, n + 1)):
        note = f"{shown(path)}: the ids of {lists.source} count from 1; references are taken in order"
        warnings.warn(note, DataNote, stacklevel=2)
        numbers = None
    if numbers is None:
        if len(lines) != n:
            raise FormatError(
                shown(path), None, f"{len(lines)} references", f"{n}, one for each list of {lists.source}"
            )
        return lines
    last = int(numbers.max())
    if last >= len(lines):
        lacking = int(numbers[np.argmax(numbers >= len(lines))])
        raise FormatError(
            shown(path),
            None,
            f"{len(lines)} references",
            f"one for sentence {lacking} of {lists.source} (numbers count from 0)",
        )
    unused = len(lines) - len(np.unique(numbers))
    if unused:
        note = f"{shown(path)}: {unused} of {len(lines)} references have no list in {lists.source}"
        warnings.warn(note, DataNote, stacklevel=2)
    return lines if np.array_equal(numbers, np.arange(len(lines))) else lines.take(numbers)
