"""Texts beside those of a file: lines of references, one reference per line, and repeated candidates.

Several files are several references. They are attached by sentence number if the lists' ids are numbers of
sentences from 0, by order otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.text import count
from rerank.core.types import Bytes, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import content_start
from rerank.formats.common import note

_NUMBER = re.compile(r"[0-9]{1,18}")


def read_lines(path: str) -> StringColumn:
    """Return the lines of a file, without a carriage return at their end and a byte order mark.

    Lines end at newlines alone: Unicode's own line separators are text. Raises FormatError if the file is
    empty.
    """
    data = read_bytes(path)
    start = content_start(data, shown(path), "one string per line")
    return split_lines(np.frombuffer(data, dtype=np.uint8)[start:])


def split_lines(data: Bytes) -> StringColumn:
    """Return the lines of a text as ``read_lines`` splits them."""
    ends = np.flatnonzero(data == ord("\n"))
    if len(data) and (len(ends) == 0 or ends[-1] != len(data) - 1):
        ends = np.append(ends, len(data))
    lengths = np.diff(ends, prepend=-1) - 1
    returns = ends[(lengths > 0) & (data[np.maximum(ends, 1) - 1] == ord("\r"))] - 1
    kept = np.ones(len(data), dtype=bool)
    kept[ends[ends < len(data)]] = False
    kept[returns] = False
    lengths[np.searchsorted(ends, returns)] -= 1
    return StringColumn(data[kept], offsets_of(lengths))


def drop_duplicates(lists: CandidateLists) -> CandidateLists:
    """Return the lists without items whose text occurred earlier in their list; warns how many those are.

    ``rows`` count the lines that are kept. Raises ConfigError if there are no texts.
    """
    if lists.texts is None:
        raise ConfigError(f"{lists.source}: distinct compares texts, and there are none")
    again = lists.texts.repeated(lists.offsets)
    dropped = int(np.count_nonzero(again))
    if dropped == 0:
        return lists
    note(f"{lists.source}: {dropped} of {lists.n_items} items repeat a text of their list; left out")
    return lists.kept(~again)


def attach_references(
    lists: CandidateLists, paths: Sequence[str], columns: Sequence[StringColumn] | None = None
) -> CandidateLists:
    """Return the lists with a column of references from each file.

    If the ids of all lists are whole numbers, list ``i`` takes line i, from 0, and lines without a list are
    counted in a DataNote. Ids that run from 1 to the number of lines, and ids that are not numbers, take the
    lines in order; then there must be as many lines as lists. Raises ConfigError if the lists already have
    references; FormatError if a line is missing.

    paths : of files with one reference per line.
    columns : their lines, if they were read already.
    """
    if not paths:
        return lists
    if lists.references:
        raise ConfigError(f"{lists.source}: holds its own references, so refs={paths[0]!r} cannot be given")
    numbers = numbers_of(lists)
    given = map(read_lines, paths) if columns is None else columns
    found = tuple(_column(lists, path, lines, numbers) for path, lines in zip(paths, given, strict=True))
    return replace(lists, references=found, counts={})  # counts were of other references


def numbers_of(lists: CandidateLists) -> Index | None:
    """Return the ids of the lists as whole numbers (n_lists), None if one is none."""
    ids = list(lists.list_ids or ())
    if not ids or not all(map(_NUMBER.fullmatch, ids)):
        return None
    return np.array(list(map(int, ids)), dtype=np.int64)


def _column(lists: CandidateLists, path: str, lines: StringColumn, numbers: Index | None) -> StringColumn:
    """The lines of a file of references that belong to the lists, by ``numbers`` or in order."""
    n, source = lists.n_lists, lists.source
    found = count(len(lines), "reference")
    if numbers is not None and len(lines) == n and np.array_equal(numbers, np.arange(1, n + 1)):
        note(f"{shown(path)}: the ids of {source} count from 1; references are taken in order")
        numbers = None
    if numbers is None:
        if len(lines) != n:
            raise FormatError(shown(path), None, found, f"{n}, one for each list of {source}")
        return lines
    if int(numbers.max()) >= len(lines):
        missing = int(numbers[np.argmax(numbers >= len(lines))])
        expected = f"one for sentence {missing} of {source} (numbers count from 0)"
        raise FormatError(shown(path), None, found, expected)
    unused = len(lines) - np.count_nonzero(np.bincount(numbers))
    if unused:
        note(f"{shown(path)}: {unused} of {len(lines)} references have no list in {source}")
    return lines if np.array_equal(numbers, np.arange(len(lines))) else lines.take(numbers)
