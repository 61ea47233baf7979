"""CSV and TSV block by block: the reader of whole tables releases the rows that it has, and continues."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.streaming.chunks import BlockReader, Chunk, whole_lists
from rerank.formats.streaming.seen import refuse_late_columns
from rerank.formats.table.read import Source, TableReader


class _Reader(TableReader):
    """A reader that is emptied after each block of rows; what it knows of columns stays."""

    def _keep_strings(self, lengths: Index, starts: Index, runs: Index) -> None:
        super()._keep_strings(lengths, starts, runs)
        self.lines.append(self.source.lines_of(starts))

    def taken(self) -> Chunk:
        """Return the lists of the rows so far, which are given up."""
        found = self.finish(), np.concatenate(self.lines)
        self.begin()
        return found


class TableBlocks(BlockReader):
    """The lists of a table, block by block."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._lines = np.empty(0, dtype=np.int64)
        self._source: Source | None = None

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        for lists, lines in whole_lists(self._chunks(options)):
            self._lines = lines
            yield lists

    def _chunks(self, options: ReadOptions) -> Iterator[Chunk]:
        self._source = Source(self.path)
        reader, names = _Reader(self._source, options), None
        while reader.source.more():
            reader.read_rows()
            if not reader.n_rows:
                continue
            lists, lines = reader.taken()
            if names is not None:
                refuse_late_columns(lists, names, int(lines[0]))
            names = lists.feature_names
            yield lists, lines
        if names is None:
            reader.finish()  # which raises that there is no row

    def item_lines(self, n_items: int) -> Index:
        return self._lines

    def drain(self) -> None:
        while self._source is not None and next(self._source.blocks, b""):
            pass
