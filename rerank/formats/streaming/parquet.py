"""Parquet files batch by batch: lists that two batches cut are put together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.parquet import batch_reader
from rerank.formats.streaming.chunks import BlockReader, Chunk, whole_lists


class ParquetBlocks(BlockReader):
    """The lists of a Parquet file, block by block; lines are rows."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._lines = np.empty(0, dtype=np.int64)

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        for lists, lines in whole_lists(self._chunks(options)):
            self._lines = lines
            yield lists

    def _chunks(self, options: ReadOptions) -> Iterator[Chunk]:
        before = 0
        with batch_reader(self.path, options) as reader:
            for batch in reader.batches():
                n = batch.num_rows
                reader.begin(n)
                try:
                    reader.add(batch)
                    found = reader.finish()
                except FormatError as error:
                    line = None if error.line is None else error.line + before
                    raise FormatError(error.path, line, error.found, error.expected) from None
                yield found, np.arange(before + 1, before + n + 1)
                before += n

    def item_lines(self, n_items: int) -> Index:
        return self._lines

    def drain(self) -> None:
        """Do nothing: a Parquet file is read from its end, so that of a pipe the whole is there."""
