"""Ids of the lists that were read: a list whose lines are apart is found without keeping the lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.formats.common import quoted
from rerank.formats.streaming.chunks import gaps_of


class NeedsWholeError(FormatError):
    """Something that readers of whole files accept, and blocks do not."""


class ListsApartError(NeedsWholeError):
    """The lines of a list are not together: ``again`` is one of list ``name`` apart from its ``first``."""

    def __init__(self, path: str, again: int, name: str, first: int) -> None:
        self.name, self.first = name, first
        found = f"list {quoted(name)} again (its first line is {first})"
        super().__init__(path, again, found, "the lines of a list together")


def refuse_late_columns(lists: CandidateLists, names: Sequence[str], line: int) -> None:
    """Raise NeedsWholeError if lists, from a line on, have other features than those before."""
    if lists.names() != list(names):
        new = sorted(set(lists.names()) - set(names))
        found = f"the first value of feature {quoted(new[0])}" if new else "other features"
        raise NeedsWholeError(
            lists.source, line, found, "the features of the first lines; --out FILE reads all"
        )


class SeenLists:
    """Hashes of the ids of all lists so far, and the line on which each list begins: 16 bytes a list.

    They are kept in sorted parts, each at least twice as long as the next one.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._parts: list[tuple[Index, Index]] = []

    def add(self, lists: CandidateLists, item_lines: Callable[[int], Index]) -> None:
        """Add the lists of a block.

        Parameters
        ----------
        lists : CandidateLists
            With ids.
        item_lines : callable
            Returns the line of each item of the block, in the order of the file, for the number of items.

        Raises
        ------
        ListsApartError
            If the lines of a list are not contiguous, or it was added before; it names both lines.
        """
        assert lists.list_ids is not None
        lines = item_lines(lists.n_items)
        if lists.rows is not None:
            again = int(lists.rows[gaps_of(lists.rows, lists.offsets)].min())
            i = int(lists.list_index[np.flatnonzero(lists.rows == again)[0]])
            raise self._error(lists.list_ids[i], lines[again], lines[lists.rows[lists.offsets[i]]])
        hashes = np.fromiter(map(hash, lists.list_ids), np.int64, lists.n_lists)
        for known, begins in self._parts:
            at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            found = np.flatnonzero(known[at] == hashes)
            if len(found):
                i = int(found[0])
                raise self._error(lists.list_ids[i], lines[lists.offsets[i]], begins[at[i]])
        order = np.argsort(hashes, kind="stable")
        same = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        if len(same):
            i, again = order[same[0]], order[same[0] + 1]
            raise self._error(lists.list_ids[i], *lines[lists.offsets[[again, i]]])
        self._parts.append((hashes[order], lines[lists.offsets[:-1]][order]))
        while len(self._parts) > 1 and len(self._parts[-2][0]) < 2 * len(self._parts[-1][0]):
            (known, begins), (more, more_begins) = self._parts.pop(), self._parts.pop()
            known, begins = np.concatenate([known, more]), np.concatenate([begins, more_begins])
            order = np.argsort(known, kind="stable")
            self._parts.append((known[order], begins[order]))

    def _error(self, name: str, again: int, first: int) -> ListsApartError:
        return ListsApartError(self._source, int(again), name, int(first))
