"""Lists whose lines are apart, brought together in bounded memory: an external sort by list.

The blocks of a file are put into temporary stores as they come. Lists are numbered by their first lines, and
divided into ranges that fit into memory; each range is then collected from the mapped stores. So the file is
read once more, its features are written once and read once, and lists and items have the order that reading
the whole file gives them. Nothing but the stores of this package is needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct

from rerank.core.files.write import scratch
from rerank.core.text import count
from rerank.core.types import Index, Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.lists import CandidateLists
from rerank.data.store import write_store
from rerank.data.store_reader import read_store
from rerank.formats.common import note
from rerank.formats.streaming import Blocks
from rerank.formats.streaming.chunks import gaps_of, with_empty_ids

_SPILLED = 1 << 25  # bytes of text or so in a temporary store


class _Parts(Struct):
    """The parts of lists in one temporary store: their lists by hash, later by number, and their items.

    ``apart``: whether the lines of each part are not contiguous.
    """

    path: str
    lists: Index
    items: Index
    apart: Mask


def regrouped_blocks(
    blocks: Blocks, load: Callable[[], CandidateLists], size: int, folder: str | None = None
) -> Iterator[CandidateLists]:
    """Yield the lists of a file, those that are apart brought together, in the order of their first lines.

    Parameters
    ----------
    blocks : Blocks
    load : callable
        Returns the lists of the file through ``Format.read``.
    size : int
        Bytes of lists in a block, about; memory holds two or three times as many.
    folder : str, optional
        Where the temporary stores go; None = the folder for temporary files.

    Raises
    ------
    RerankError
        As for the whole file, or if the temporary stores cannot be written.
    """
    import tempfile

    with scratch(tempfile.gettempdir() if folder is None else folder) as place:
        parts, n_bytes = _spilled(blocks, load, place)
        n_apart = _number(parts)
        if n_apart:
            note(f"{blocks.path}: the lines of {count(n_apart, 'list')} are not contiguous; brought together")
        yield from _collected(parts, n_bytes, size, blocks.path)


def _spilled(blocks: Blocks, load: Callable[[], CandidateLists], place: str) -> tuple[list[_Parts], int]:
    """The parts of lists in temporary stores, and the bytes of these."""
    parts: list[_Parts] = []
    waiting: list[CandidateLists] = []
    apart: list[Mask] = []
    n_bytes = 0

    def spill() -> None:
        nonlocal n_bytes
        path = os.path.join(place, f"{len(parts)}.store")
        hashes = [hash(name) for lists in waiting for name in lists.list_ids or ()]
        lists = _one_after_the_other(waiting)
        flags = np.concatenate(apart)
        waiting.clear()
        apart.clear()
        write_store(lists, path)
        n_bytes += sum(entry.stat().st_size for entry in os.scandir(path))
        parts.append(_Parts(path, np.array(hashes, dtype=np.int64), lists.lengths, flags))

    for lists in blocks.lists(load, may_be_apart=True, alike=True):
        waiting.append(replace(lists, rows=None))
        apart.append(_apart(lists))
        if sum(one.n_items * max(one.n_features, 8) for one in waiting) * 8 >= _SPILLED:
            spill()
    if waiting:
        spill()
    return parts, n_bytes


def _apart(lists: CandidateLists) -> Mask:
    """Return whether the lines of each list are not contiguous (n_lists)."""
    if lists.rows is None:
        return np.zeros(lists.n_lists, dtype=bool)
    return np.logical_or.reduceat(gaps_of(lists.rows, lists.offsets), lists.offsets[:-1])


def _one_after_the_other(sets: Sequence[CandidateLists]) -> CandidateLists:
    """Lists of several sets, which may have the same ids."""
    names = [name for lists in sets for name in lists.list_ids or ()]
    if any(lists.item_ids is not None for lists in sets):
        sets = [lists if lists.item_ids is not None else with_empty_ids(lists) for lists in sets]
    bare = [
        replace(lists, list_ids=StringColumn.from_strings(f"{k} {i}" for i in range(lists.n_lists)))
        for k, lists in enumerate(sets)
    ]
    return replace(joined(bare), list_ids=StringColumn.from_strings(names), source=sets[0].source)


def _number(parts: Sequence[_Parts]) -> int:
    """Number the lists of all parts in the order of their first ones; return how many have several parts."""
    hashes = np.concatenate([one.lists for one in parts])
    _, first, places, sizes = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    numbers = np.empty(len(first), dtype=np.int64)
    numbers[np.argsort(first)] = np.arange(len(first))
    several, at = sizes > 1, 0
    for one in parts:
        own = places[at : at + len(one.lists)]
        several[own[one.apart]] = True
        one.lists = numbers[own]
        at += len(own)
    return int(np.count_nonzero(several))


def _collected(parts: Sequence[_Parts], n_bytes: int, size: int, source: str) -> Iterator[CandidateLists]:
    """Yield the lists range by range."""
    n_lists = 1 + max(int(one.lists.max()) for one in parts)
    items = np.zeros(n_lists, dtype=np.int64)
    for one in parts:
        np.add.at(items, one.lists, one.items)
    ends = np.cumsum(items)
    most = max(int(size * ends[-1] / max(n_bytes, 1)), 1)  # items
    first = 0
    while first < n_lists:
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield _together(parts, first, stop, source)
        first = stop


def _together(parts: Sequence[_Parts], first: int, stop: int, source: str) -> CandidateLists:
    """The lists of a range of numbers, each from all its parts."""
    found, numbers = [], []
    for one in parts:
        chosen = np.flatnonzero((one.lists >= first) & (one.lists < stop))
        if len(chosen):
            found.append(read_store(one.path).subset(chosen))
            numbers.append(one.lists[chosen])
    lists, number = _one_after_the_other(found), np.concatenate(numbers)
    order = np.argsort(number, kind="stable")
    lists, number = lists.subset(order), number[order]
    begins = np.flatnonzero(np.diff(number, prepend=-1))
    ids = lists.list_ids
    assert ids is not None
    offsets = np.append(lists.offsets[begins], lists.n_items)
    return replace(lists, offsets=offsets, list_ids=ids.take(begins), rows=None, source=source)
