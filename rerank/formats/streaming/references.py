"""References of lists that are read block by block; memory holds the lines of their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import ConfigError, FormatError, NeedsWholeError
from rerank.core.files.read import shown
from rerank.core.text import count
from rerank.core.types import Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.common import note
from rerank.formats.texts import numbers_of, read_lines

_EXPECTED = "ids as before, which say how references are found"


def with_references(blocks: Iterator[CandidateLists], paths: Sequence[str]) -> Iterator[CandidateLists]:
    """Yield the lists with a column of references from each file, as ``attach_references`` gives all of them.

    Raises NeedsWholeError if the first ids mislead about how references are found.
    """
    files = [_References(path) for path in paths]
    source = ""
    for lists in blocks:
        source = lists.source
        if lists.references:
            raise ConfigError(f"{source}: holds its own references, so refs={paths[0]!r} cannot be given")
        numbers = numbers_of(lists)
        found = [file.of(lists, numbers) for file in files]
        columns = tuple(column for column in found if column is not None)
        if len(columns) < len(files):
            n = sum(one.n_lists for one in blocks)
            for file in files:
                file.check_end(source, n)
        yield replace(lists, references=columns, counts={})  # counts were of other references
    for file in files:
        file.check_end(source)


class _References:
    """The lines of one file: by number from 0 ("zero") or 1 ("one"), or in order ("order")."""

    def __init__(self, path: str) -> None:
        self.path, self.lines = path, read_lines(path)
        self.how, self.n = "", 0  # lists so far
        self.used = np.zeros(len(self.lines), dtype=bool)

    def of(self, lists: CandidateLists, numbers: Index | None) -> StringColumn | None:
        """Return the references of some lists, None if there are too few."""
        first, self.n = self.n, self.n + lists.n_lists
        from_one = numbers is not None and np.array_equal(numbers, np.arange(first + 1, self.n + 1))
        if not self.how:
            self.how = "order" if numbers is None else "one" if from_one else "zero"
        if (self.how == "zero" and numbers is None) or (self.how == "one" and not from_one):
            raise NeedsWholeError(lists.source, None, f"list {lists.list_id(0)!r}", _EXPECTED)
        if self.how != "zero":
            places = np.arange(first, self.n)
            return None if self.n > len(self.lines) else self.lines.take(places)
        assert numbers is not None
        if int(numbers.max()) >= len(self.lines):
            missing = int(numbers[np.argmax(numbers >= len(self.lines))])
            expected = f"one for sentence {missing} of {lists.source} (numbers count from 0)"
            raise FormatError(shown(self.path), None, count(len(self.lines), "reference"), expected)
        self.used[numbers] = True
        return self.lines.take(numbers)

    def check_end(self, source: str, more: int = 0) -> None:
        """Check what all lists show, of which ``more`` follow; give the notes."""
        n, n_lines = self.n + more, len(self.lines)
        if self.how == "one" and n != n_lines:
            raise NeedsWholeError(source, None, f"lists 1 to {n}", f"{n_lines} lists, or ids from 0")
        if self.how == "order" and n != n_lines:
            expected = f"{n}, one for each list of {source}"
            raise FormatError(shown(self.path), None, count(n_lines, "reference"), expected)
        if self.how == "one":
            note(f"{shown(self.path)}: the ids of {source} count from 1; references are taken in order")
        unused = n_lines - int(np.count_nonzero(self.used))
        if self.how == "zero" and unused:
            note(f"{shown(self.path)}: {unused} of {n_lines} references have no list in {source}")
