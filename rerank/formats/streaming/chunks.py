"""Lists that were read in chunks of lines or rows: those that two chunks cut are put together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import Index, Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions

Chunk = tuple[CandidateLists, Index]  # and the line of each item, in the order of the file
_CUT = StringColumn.from_strings([b"\0the last list of the chunk before"])


def whole_lists(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the same items in whole lists: the last list of a chunk waits for the next chunk.

    Chunks have ids of lists and the same columns; of columns of lists only the ids are kept right.
    """
    tail: Chunk | None = None
    for chunk in chunks:
        lists, lines = chunk if tail is None else _merged(tail, chunk)
        tail = None
        if lists.rows is not None:
            yield lists, lines  # which is refused
        elif lists.n_lists > 1:
            last = int(lists.offsets[-2])
            yield lists.subset(np.arange(lists.n_lists - 1)), lines[:last]
            tail = lists.subset([lists.n_lists - 1]), lines[last:]
        else:
            tail = lists, lines
    if tail is not None:
        yield tail


def _merged(tail: Chunk, chunk: Chunk) -> Chunk:
    """The last list of a chunk and the lists of the next one."""
    (last, before), (lists, after) = tail, chunk
    assert last.list_ids is not None
    assert lists.list_ids is not None
    found = joined([replace(last, list_ids=_CUT), lists])
    names = [last.list_ids[0], *lists.list_ids]
    offsets = found.offsets
    if names[0] == names[1]:
        names, offsets = names[1:], np.delete(offsets, 1)
    ids = StringColumn.from_strings(names)
    return replace(found, offsets=offsets, list_ids=ids, source=lists.source), np.concatenate([before, after])


class BlockReader(ABC):
    """The lists of a file, some at a time.

    Attributes
    ----------
    path : str
    ids_differ : bool
        Whether list ids are known to differ, so that nothing has to be remembered.
    """

    ids_differ = False

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        """Yield the lists; raises RerankError as the reader of the whole file."""

    @abstractmethod
    def item_lines(self, n_items: int) -> Index:
        """Return the line of each item of the block that was read last, in the order of the file."""

    def apart(self, error: FormatError) -> FormatError:
        """Return the error for a list whose lines are not together, as the format has it."""
        return error

    @abstractmethod
    def drain(self) -> None:
        """Read the rest of a pipe."""


def gaps_of(rows: Index, offsets: Index) -> Mask:
    """Return whether each item is on a line that does not follow that of the item before it in its list.

    Parameters
    ----------
    rows, offsets : int64 (n_items) and (n_lists + 1)
        As in ``CandidateLists``.
    """
    gaps = np.diff(rows, prepend=-1) != 1
    gaps[offsets[:-1]] = False
    return gaps


def with_empty_ids(lists: CandidateLists) -> CandidateLists:
    """Return lists whose items have empty ids, as items have without a comment beside others with one."""
    ids = StringColumn(np.empty(0, dtype=np.uint8), np.zeros(lists.n_items + 1, dtype=np.int64))
    return replace(lists, item_ids=ids)
