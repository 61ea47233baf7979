"""Sharded stores as lists: all of them at once, or shard by shard."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import FormatError, os_error
from rerank.core.memory import require
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.shards.manifest import (
    Manifest,
    check_shard,
    is_sharded,
    open_shard,
    read_manifest,
    read_order,
)
from rerank.data.shards.stack import stack, widened
from rerank.data.store import arrays_of
from rerank.data.store_reader import StrPath, read_store


def read_stored(path: StrPath) -> CandidateLists:
    """Return the lists of a store or of a sharded store, see ``read_store`` and ``read_shards``.

    Raises their errors, and RerankError instead of OSError.
    """
    try:
        return read_shards(path) if is_sharded(path) else read_store(path)
    except OSError as error:
        raise os_error(os.fspath(path), error) from None


def read_shards(path: StrPath) -> CandidateLists:
    """Return all lists of a sharded store as one set.

    Features are in memory if they need at most half of what is left, else in a temporary file without a name
    that is mapped; the other columns are in memory. Of a single shard nothing is copied.

    Raises
    ------
    FormatError
        If a shard is missing, or not as the manifest has it.
    RerankError
        If there is no room.
    """
    manifest = read_manifest(path)
    bare: list[CandidateLists] = []
    names: Sequence[str] | None = None

    def features() -> Iterator[Features]:
        nonlocal names
        for k in range(len(manifest.shards)):
            lists = open_shard(path, manifest, k)
            names = _longer(names, lists)
            found, lists = lists.features, without_features(lists)
            bare.append(lists)
            yield found

    if len(manifest.shards) == 1:
        rows = read_order(path, manifest)
        return replace(open_shard(path, manifest, 0), rows=rows, source=os.fspath(path))
    forms = [shard.form for shard in manifest.shards]
    stacked = stack(features(), forms, manifest.width, manifest.fill)
    n_bytes = sum(array.nbytes for part in bare for _, array in arrays_of(part))
    require(n_bytes, f"the columns of {path} besides its features", "without texts they need less")
    lists = replace(joined(bare), rows=read_order(path, manifest))
    return replace(lists, features=stacked, feature_names=names, source=os.fspath(path))


def shard_blocks(path: StrPath, *, whole: bool = False) -> Iterator[CandidateLists]:
    """Yield the lists of each shard in turn, with all features of the sharded store; only one is open.

    That no shard is missing or changed is checked before the first one is read.
    Items come in the order of the lists: if ``Manifest.order`` is not "", the caller's rows had another.

    Parameters
    ----------
    path : of the sharded store.
    whole : whether every byte is checked.

    Raises
    ------
    FormatError
        As for ``read_shards``.
    """
    manifest = read_manifest(path)
    for k in range(len(manifest.shards)):
        check_shard(path, manifest, k)
    names = open_shard(path, manifest, len(manifest.shards) - 1).feature_names
    for k in range(len(manifest.shards)):
        yield _with_names(open_shard(path, manifest, k, whole=whole), manifest, names)


def shard_lists(path: StrPath, manifest: Manifest, k: int, *, whole: bool = False) -> CandidateLists:
    """Return the lists of shard ``k`` (from 0), mapped, with all features of the sharded store.

    Parameters and errors are those of ``open_shard``.
    """
    names = open_shard(path, manifest, len(manifest.shards) - 1).feature_names
    return _with_names(open_shard(path, manifest, k, whole=whole), manifest, names)


def _with_names(lists: CandidateLists, manifest: Manifest, names: Sequence[str] | None) -> CandidateLists:
    """The lists of a shard with the columns of the last one, which has all."""
    _longer(names, lists)
    return lists.with_features(widened(lists.features, manifest.width, manifest.fill), names)


def check_shards(path: StrPath) -> None:
    """Check every byte of a sharded store against its manifest; a path to something else is not looked at.

    Raises FormatError, which names the first faulty shard.
    """
    if is_sharded(path):
        for _ in shard_blocks(path, whole=True):
            pass
        read_order(path, read_manifest(path))


def without_features(lists: CandidateLists) -> CandidateLists:
    """Return lists without their features and the names of these."""
    return lists.with_features(Dense(np.empty((lists.n_items, 0)), missing=False), None)


def _longer(names: Sequence[str] | None, lists: CandidateLists) -> Sequence[str] | None:
    """The names of the features of shards so far; FormatError if the longer do not begin with the others."""
    own = lists.feature_names
    if names is None or own is None or own is names:
        return own if names is None else names
    n = min(len(names), len(own))
    if list(names[:n]) != list(own[:n]):
        found = "other names of features than the shards before it"
        raise FormatError(lists.source, None, found, "the same ones, and perhaps more after them")
    return own if len(own) > len(names) else names
