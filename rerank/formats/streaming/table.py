"""CSV and TSV block by block: the reader of whole tables gives up the rows that it has, and goes on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.streaming.chunks import BlockReader, Chunk, whole_lists
from rerank.formats.streaming.seen import NeedsWholeError
from rerank.formats.table.read import Source, TableReader

OPTIONS = frozenset(
    {"strict", "missing", "layout", "dtype"}
    | {"list_column", "label_column", "id_column", "text_column", "answer_column"}
)


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
            if names not in (None, lists.feature_names):
                new = sorted(set(lists.feature_names or ()) - set(names or ()))
                found = f"the first number of column {new[0]!r}" if new else "other columns of numbers"
                raise NeedsWholeError(
                    lists.source, int(lines[0]), found, "those of the first lines; --out FILE reads all"
                )
            names = lists.feature_names
            yield lists, lines
        if names is None:
            reader.finish()  # which raises that there is no row

    def item_lines(self, n_items: int) -> Index:
        return self._lines

    def drain(self) -> None:
        while self._source is not None and next(self._source.blocks, b""):
            pass
