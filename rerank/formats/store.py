"""Format ``store``: a directory of .npy files, memory-mapped when opened; see rerank/data/store.py.

A sharded store is read as one, see rerank/data/shards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rerank.core.errors import ConfigError, os_error
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.shards.read import read_stored
from rerank.data.store import write_store_blocks
from rerank.formats.base import COLUMNS, FORMATS, Format, ReadOptions
from rerank.formats.common import OF_IDS
from rerank.formats.feature_columns import columns_to_keep, narrowed

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream


@FORMATS.register("store")
class Store(Format):
    """Every column of a set, also texts, references and statistics, without any parsing.

    Features come as they were stored (layout auto, whatever their dtype); another layout is a copy in
    memory. With ``classes`` labels are left out; classes are there if they were stored.
    """

    name: ClassVar[str] = "store"
    summary: ClassVar[str] = "a directory of .npy files, memory-mapped, with every column"
    honours: ClassVar[frozenset[str]] = frozenset({"layout", "classes", "missing"}) | OF_IDS
    holds: ClassVar[frozenset[str]] = frozenset(COLUMNS)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        if path == "-":
            raise ConfigError("a store is a directory: it cannot be read from standard input")
        lists = read_stored(path)
        if options.classes:
            lists = lists.replace_labels(None)
        lists = _narrowed(lists)
        features, layout = lists.features, options.layout
        if layout == "dense" and features.layout != "dense":
            return replace(lists, features=Dense(features.to_dense()))
        if layout == "sparse" and features.layout != "sparse":
            return replace(lists, features=features.compressed())
        return lists

    def _write_stream(self, stream: ListStream, path: str) -> None:
        if path == "-":
            raise ConfigError("a store is a directory: it cannot be written to standard output")
        try:
            write_store_blocks(stream, path)
        except OSError as error:
            raise os_error(path, error) from None


def _narrowed(lists: CandidateLists) -> CandidateLists:
    """The same lists; of unnamed columns far apart, only those present, named by their indices."""
    features = lists.features
    if lists.feature_names is not None or not isinstance(features, Sparse):
        return lists
    kept = columns_to_keep(features, np.empty(0, dtype=np.int64), zeros=False)
    if kept is None:
        return lists
    return lists.with_features(narrowed(features, kept), [str(j + 1) for j in kept.tolist()])
