"""The items of several sets and rankings brought together by the ids of lists and items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct

from rerank.core.errors import DataError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import ranks_in
from rerank.data.lists import CandidateLists
from rerank.data.matrix import as_features


class Places(Struct, frozen=True, eq=False):
    """Places of the items of a source in a pool."""

    lists: Index  # int64 (n_items), the pool's list of each item, -1 if the pool has no such list
    numbers: Index  # int64 (n_items), its number in that list, -1 if the list has no such item

    def items(self, offsets: Index) -> Index:
        """Return each item among those of the pool, whose lists have ``offsets``: int64, -1 if absent."""
        return np.where(self.numbers < 0, -1, offsets[self.lists] + self.numbers)


class Pool:
    """Lists and their items by id, in order of first appearance."""

    def __init__(self) -> None:
        self._lists: dict[bytes, dict[bytes, int]] = {}
        self._numbers: dict[bytes, int] = {}

    def __contains__(self, list_id: bytes) -> bool:
        return list_id in self._lists

    def add(self, lists: CandidateLists, *, new_lists: bool = True, new_items: bool = True) -> Places:
        """Return where the items of ``lists`` are, after adding those that the pool does not have yet.

        Lists and items without ids are numbered from 1. Raises DataError if two lists, or two items of a
        list, have one id.

        new_lists, new_items : bool, whether lists and items are added.
        """
        of_list = np.full(lists.n_lists, -1, dtype=np.int64)
        numbers = np.full(lists.n_items, -1, dtype=np.int64)
        seen: set[bytes] = set()
        for i, (name, ids) in enumerate(_ids(lists)):
            if name in seen:
                raise DataError(f"{lists.source}: two lists have the id {_text(name)}")
            seen.add(name)
            known = self._lists.get(name)
            if known is None:
                if not new_lists:
                    continue
                known = self._lists[name] = {}
                self._numbers[name] = len(self._numbers)
            of_list[i] = self._numbers[name]
            if new_items:
                found = [known.setdefault(item, len(known)) for item in ids]
            else:
                found = [known.get(item, -1) for item in ids]
            if len(set(ids)) < len(ids):
                twice = next(item for k, item in enumerate(ids) if item in ids[:k])
                what = f"two items with the id {_text(twice)}"
                raise DataError(f"{lists.source}: list {_text(name)} has {what}")
            numbers[lists.offsets[i] : lists.offsets[i + 1]] = found
        return Places(of_list[lists.list_index], numbers)

    def find(self, lists: CandidateLists) -> Places:
        """Return where the items of ``lists`` are without adding any; raises as ``add``."""
        return self.add(lists, new_lists=False, new_items=False)

    def add_item(self, list_id: bytes, item_id: bytes) -> None:
        """Add a list of one item; the pool has no list of that id."""
        self._numbers[list_id] = len(self._lists)
        self._lists[list_id] = {item_id: 0}

    def offsets(self) -> Index:
        """Return the offsets of the lists as they are now."""
        return offsets_of([len(items) for items in self._lists.values()])

    def list_ids(self) -> StringColumn:
        """Return the ids of the lists."""
        return StringColumn.from_strings(self._lists)

    def item_ids(self) -> StringColumn:
        """Return the ids of the items, list after list."""
        return StringColumn.from_strings(item for items in self._lists.values() for item in items)


def pool_lists(pool: Pool, source: str) -> CandidateLists:
    """Return the lists of a pool, with ids alone."""
    offsets = pool.offsets()
    empty = as_features(np.empty((int(offsets[-1]), 0)))
    return CandidateLists(offsets, empty, list_ids=pool.list_ids(), item_ids=pool.item_ids(), source=source)


def widened(base: CandidateLists, places: Places, pool: Pool) -> CandidateLists:
    """Return the lists of a pool with what evaluations of rankings need of ``base``, whose items are in it.

    Added items have no label and no base score. If ``base`` has a first-best, they are as if a run had not
    returned them. Texts, trees, features and counts are left out.
    """
    offsets = pool.offsets()
    at, n = places.items(offsets), int(offsets[-1])

    def spread(values: Floats | None, fill: float = np.nan) -> Floats | None:
        out = None if values is None else np.full(n, fill)
        if out is not None:
            out[at] = values
        return out

    first, run = base.first_best, base.run_scores
    if first is not None and run is None and n > base.n_items:
        # Larger first, no ties: the same order for every mode of ties.
        run = (1 - ranks_in(base.offsets, first)).astype(np.float64)
    columns: dict[str, Any] = {}
    for name in ("unretrieved", "subtopics"):  # added lists have none
        if (column := getattr(base, name)) is not None:
            values, bounds = column.arrays().values()
            bounds = np.pad(bounds, (0, len(offsets) - 1 - base.n_lists), mode="edge")
            columns[name] = type(column)(values, bounds)
    return replace(
        pool_lists(pool, base.source),
        labels=spread(base.labels),
        base_scores=spread(base.base_scores),
        first_best=spread(first, 0.0 if first is None else first.min() - 1.0),
        run_scores=spread(run),
        **columns,
    )


def _ids(lists: CandidateLists) -> Iterator[tuple[bytes, list[bytes]]]:
    """The id of each list and those of its items."""
    ids = lists.item_ids
    text = b"" if ids is None else ids.data.tobytes()
    bounds = [] if ids is None else ids.offsets.tolist()
    for i, (start, stop) in enumerate(pairwise(lists.offsets.tolist())):
        name = lists.list_id(i).encode("utf-8", "surrogateescape")
        if ids is None:
            yield name, [b"%d" % k for k in range(1, stop - start + 1)]
        else:
            yield name, [text[a:b] for a, b in pairwise(bounds[start : stop + 1])]


def _text(name: bytes) -> str:
    return repr(name.decode("utf-8", "surrogateescape"))
