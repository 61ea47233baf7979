"""Stores block by block: ranges of lists of the mapped columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.data.shards.manifest import is_sharded, read_manifest
from rerank.data.shards.read import shard_blocks
from rerank.formats.base import FORMATS
from rerank.formats.streaming.chunks import BlockReader

VALUES = 1 << 19  # of features in a block, more only if a list has more


class StoreBlocks(BlockReader):
    """The lists of a store, block by block."""

    ids_differ = True  # or do not, which a store may hold

    def lists(self, options: ReadOptions) -> Iterator[CandidateLists]:
        for part in shard_blocks(self.path) if is_sharded(self.path) else [_opened(self.path)]:
            yield from _blocks(part)

    def item_lines(self, n_items: int) -> Index:
        return np.arange(1, n_items + 1, dtype=np.int64)

    def drain(self) -> None:
        """Do nothing: a store is no pipe."""


def _opened(path: str) -> CandidateLists:
    return FORMATS.get("store")()._read(path, ReadOptions())


def _blocks(whole: CandidateLists) -> Iterator[CandidateLists]:
    """Yield the lists of a store, some at a time."""
    values = np.cumsum(whole.lengths) * max(whole.features.n_values // whole.n_items, 1)
    first = 0
    while first < whole.n_lists:
        before = int(values[first - 1]) if first else 0
        stop = max(int(np.searchsorted(values, before + VALUES, side="right")), first + 1)
        yield whole.subset(np.arange(first, stop))
        first = stop


def is_streamed(path: str, least: int) -> bool:
    """Return whether a store has at least so many bytes of features, and its lists are in their order."""
    if is_sharded(path):
        return not read_manifest(path).order
    lists = _opened(path)
    return lists.rows is None and 8 * lists.features.n_values >= least
