"""Structures of models beside lists of any format: they are joined by the ids of list and item."""

from __future__ import annotations

from collections import Counter

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.streams import shown
from rerank.core.text import count
from rerank.data.columns.traces import Traces
from rerank.data.lists import CandidateLists
from rerank.data.reading import ReadOptions
from rerank.formats.common import note
from rerank.formats.structures.natives import attach_natives
from rerank.formats.structures.sources import read_structures


def attach_structures(lists: CandidateLists, path: str, *, strict: bool = False) -> CandidateLists:
    """Return the lists with the structure of each item.

    Items without a structure have an empty one, and structures without an item are left out; both are
    counted in notes, and so are items that have the same ids.

    Parameters
    ----------
    lists : with ids of lists and items.
    path : where the structures are, see ``read_structures``.
    strict : whether an item without a structure is an error.

    Raises
    ------
    ConfigError
        If the lists have structures already, or lack ids.
    DataError
        If no item has a structure, or under ``strict`` one has none.
    FormatError
        At the first fault of a file.
    """
    if lists.traces is not None:
        raise ConfigError(f"{lists.source}: holds its own structures, so structures={path!r} cannot be given")
    if lists.list_ids is None or lists.item_ids is None:
        lacks = "lists" if lists.list_ids is None else "items"
        hint = "" if lists.list_ids is None else "; --id-column NAME names a table's column of them"
        raise ConfigError(
            f"{lists.source}: has no ids of {lacks}, so structures={path!r} cannot be joined to its "
            f"items{hint}"
        )
    found = read_structures(path)
    places = {(one.list_id, one.item_id): i for i, one in enumerate(found)}
    of_list = (lists.list_ids[i] for i in lists.list_index.tolist())
    names = list(zip(of_list, lists.item_ids, strict=True))
    doubled = len(names) - len(set(names))
    if doubled:
        counts = Counter(names)
        again = next(k for k, name in enumerate(names) if counts[name] > 1)
        what = f"{count(doubled, 'item')} with the ids of another, and so with the same structure"
        note(f"{lists.source}: {what} (the first is {lists.place_of(again)})")
    which = np.array([places.get(name, len(found)) for name in names], dtype=np.int64)
    missing = np.flatnonzero(which == len(found))
    if len(missing):
        text = f"{count(len(missing), 'item')} of {lists.source} without a structure in {shown(path)}"
        first = lists.place_of(int(missing[0]))
        if len(missing) == lists.n_items:
            other = f"list {found[0].list_id!r}, item {found[0].item_id!r}"
            raise DataError(f"{text}, that is all: the first is {first}, the first structure {other}")
        if strict:
            raise DataError(f"{text}: the first is {first}")
        note(f"{text} (the first is {first})")
    unused = len(found) - len(np.unique(which[which < len(found)]))
    if unused:
        note(f"{shown(path)}: {count(unused, 'structure')} of {len(found)} without an item in {lists.source}")
    empty = Traces(np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty((0, 3)), np.empty(0, np.uint8))
    return lists.with_structures(traces=Traces.joined([*(one.trace for one in found), empty]).take(which))


def with_structures(lists: CandidateLists, options: ReadOptions) -> CandidateLists:
    """Return the lists with the structures and the natives that the options name.

    Raises
    ------
    RerankError
        As ``attach_structures`` and ``with_natives``.
    """
    if options.structures is not None:
        lists = attach_structures(lists, options.structures, strict=options.strict)
    return with_natives(lists, options)


def with_natives(lists: CandidateLists, options: ReadOptions) -> CandidateLists:
    """Return the lists with their natives, and with the residues that count, as the options say.

    Raises
    ------
    ConfigError
        If the lists have natives already, or no structures; then the options would have no effect.
    RerankError
        As ``attach_natives``.
    """
    given = [name for name in ("native", "residues", "match") if name in options.changed()]
    if not given:
        return lists
    asked = f"{given[0]}={getattr(options, given[0])!r}"
    if lists.natives is not None:
        raise ConfigError(f"{lists.source}: holds its own natives, so {asked} cannot be given")
    if lists.traces is None:
        raise ConfigError(f"{lists.source}: holds no structures for {asked}; give them by structures=PATH")
    return attach_natives(lists, options.native, options.residues, options.match, options.strict)
