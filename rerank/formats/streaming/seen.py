"""Ids of the lists that were read: a list whose lines are apart is found without keeping the lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rerank.core.errors import NeedsWholeError
from rerank.core.types import Index
from rerank.data.columns.strings import first_again, hashes_of
from rerank.data.lists import CandidateLists
from rerank.data.shards.hashing import KnownIds
from rerank.formats.common import quoted
from rerank.formats.streaming.chunks import gaps_of


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
    """Hashes of the ids of all lists so far, and the line on which each list begins: 16 bytes a list."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known = KnownIds()

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
        hashes, begins = hashes_of(lists.list_ids), lines[lists.offsets[:-1]]
        places, before = self._known.find(hashes)
        if len(places):
            k = int(np.argmin(places))
            i = int(places[k])
            raise self._error(lists.list_ids[i], begins[i], before[k])
        if (found := first_again(hashes)) is not None:
            raise self._error(lists.list_ids[found[0]], *begins[list(found)])
        self._known.add(hashes, begins)

    def _error(self, name: str, again: int, first: int) -> ListsApartError:
        return ListsApartError(self._source, int(again), name, int(first))
