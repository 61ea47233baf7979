"""Unions of feature sets: further features of the same items, from other files of lists."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.text import count, some
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.reading import Reading
from rerank.extensions.decision.utilities import Pairing, distinct
from rerank.formats.base import save
from rerank.formats.convert import append, appending
from rerank.formats.rewriting import convert_file
from rerank.formats.sources import Data, checked_format, is_path, read_lists

# Columns of items and of lists that must agree if both sets have them.
_OF_ITEMS = ("texts", "answers", "trees", "labels", "classes")
_OF_LISTS = ("prompts", "gold")
_FROM_OTHERS = (
    *(*_OF_ITEMS, *_OF_LISTS, "base_scores", "first_best"),
    *("traces", "natives", "list_ids", "item_ids"),
)
_CLOSE = 1e-6

Column = StringColumn | Forest | AnyArray | Sparse


@dataclass(frozen=True, eq=False)
class Joined:
    """Lists with the features of several sets, and what joined, a line for each further set."""

    lists: CandidateLists
    lines: list[str]


def join_features(
    data: Data,
    others: Sequence[Data],
    out: str | None = None,
    to: str | None = None,
    *,
    reading: Reading | None = None,
) -> Joined:
    """Return lists with the features of other sets of the same items.

    Lists are matched by their ids, and items by theirs; in sets without ids by their places, if the numbers
    are equal. Columns such as texts, labels, trees and references must agree where both sets have them, and
    base scores must not be the same in another order. Warns with a DataNote if nothing but places links
    items. What only the others have, such as trees, is taken from the first one that has it. Lists and items
    that ``data`` lacks are left out.

    Parameters
    ----------
    data : a file of lists, or CandidateLists.
    others : files of lists, or CandidateLists.
    out : file that the lists are written to, "-" = standard output; None = none.
    to : name of its format; None = by its suffix.
    reading : how ``data`` is read.

    Returns
    -------
    Joined
        ``lists``, and ``lines`` that report what joined and what did not.

    Raises
    ------
    RerankError
        If a list or an item of ``data`` is absent in another set, columns disagree, a feature of one name has
        other values, or a file cannot be read or written.
    """
    files = [os.fspath(other) for other in others if is_path(other)]
    target = None if out is None else checked_format(out, to, data, reading, *files)
    lists, lines = read_lists(data, reading), []
    for other in others:
        more = read_lists(other)
        lists, line = _joined(lists, more)
        lines.append(line)
    if out is not None and target is not None:
        save(lists, out, target)
    return Joined(lists, lines)


def append_typed(
    data: Data, typed: Sequence[str], out: str | None, to: str | None, reading: Reading | None
) -> list[str]:
    """Append what was typed, NAME=FILE or other files of lists, and return lines about the latter.

    Raises RerankError as ``join_features`` and ``rerank.append``.
    """
    if all("=" not in one and os.path.exists(one) for one in typed):
        return join_features(data, typed, out, to, reading=reading).lines
    named: dict[str, str] = {}
    for one in typed:
        name, equals, path = one.partition("=")
        if not (name and equals and path):
            raise ConfigError(f"found {one!r}, expected NAME=FILE, or files of lists alone")
        if name in named:
            raise ConfigError(f"feature {name!r} is given twice")
        named[name] = path
    if out is None or not is_path(data):
        append(data, named, out, to, reading=reading)
    else:
        checked_format(out, to, data, reading, *named.values())
        convert_file(os.fspath(data), out, to, change=appending(named), reading=reading or Reading())
    return []


def _joined(lists: CandidateLists, more: CandidateLists) -> tuple[CandidateLists, str]:
    """The lists with the features of another set, and the line about it."""
    same = _aligned(lists, more)
    compared: dict[str, Column] = dict(_agreeing(lists, same))
    known = set(lists.names())
    shared = [name for name in same.names() if name in known]
    if shared:
        own, theirs = (one.with_columns(shared).features.compressed() for one in (lists, same))
        if not _equal(own, theirs):
            found = f"features of the same name with other values ({some(shared)})"
            raise DataError(f"{more.source}: found {found}; leave them out (--features), or rename them")
        compared["features"] = own
    new = [name for name in same.names() if name not in known]
    made = replace(
        lists,
        features=beside(lists.features, same.with_columns(new).features),
        feature_names=[*lists.names(), *new],
        counts={**same.counts, **lists.counts},
        structures={**same.structures, **lists.structures},
        references=lists.references or same.references,
        **{name: getattr(same, name) for name in _FROM_OTHERS if getattr(lists, name) is None},
    )
    left = [f"{count(more.n_lists - same.n_lists, 'list')} not"] * (more.n_lists > same.n_lists)
    left += [f"{count(more.n_items - same.n_items, 'item')} not"] * (more.n_items > same.n_items)
    left += [f"{count(len(shared), 'feature')} there already ({some(shared)})"] * bool(shared)
    by_place = lists.item_ids is None or more.item_ids is None
    how = _by_place(lists, more, compared) if by_place else "id"
    line = f"{more.source}: {count(len(new), 'feature')} of {count(same.n_items, 'item')} joined by {how}"
    return made, ", ".join([line, *left])


def _aligned(lists: CandidateLists, more: CandidateLists) -> CandidateLists:
    """The lists of ``more`` in the order of ``lists``, with the same items in their order."""
    if lists.list_ids is not None and more.list_ids is not None:
        same = more.subset(Pairing.by_id(lists, more).of)
    elif lists.n_lists == more.n_lists:
        same = more
    else:
        found = f"{count(more.n_lists, 'list')} for {count(lists.n_lists, 'list')} of {lists.source}"
        raise DataError(f"{more.source}: found {found} and no list ids that could match them")
    if lists.item_ids is None or same.item_ids is None:
        wrong = np.flatnonzero(lists.lengths != same.lengths)
        if len(wrong):
            i = int(wrong[0])
            sizes = f"{count(int(same.lengths[i]), 'item')} for {int(lists.lengths[i])} of {lists.source}"
            found = f"list {lists.list_id(i)!r} has {sizes}, and no item ids that could match them"
            raise DataError(f"{more.source}: {found}")
        return same
    order, keep = np.empty(lists.n_items, dtype=np.int64), np.zeros(same.n_items, dtype=bool)
    for i in range(lists.n_lists):
        here = range(int(same.offsets[i]), int(same.offsets[i + 1]))
        places = {same.item_ids[item]: item for item in here}
        if len(places) < len(here):
            raise DataError(f"{more.source}: list {lists.list_id(i)!r} has an item id twice")
        for item in range(int(lists.offsets[i]), int(lists.offsets[i + 1])):
            place = places.pop(lists.item_ids[item], -1)
            if place < 0:
                raise DataError(
                    f"{more.source}: no item of its own for {lists.place_of(item)} of {lists.source}"
                )
            order[item] = place
            keep[place] = True
    kept = same if keep.all() else same.kept(keep)
    return kept.reordered((np.cumsum(keep) - 1)[order])


def _agreeing(lists: CandidateLists, same: CandidateLists) -> Iterator[tuple[str, Column]]:
    """Yield the name and the column of what both sets know of the items, which agrees.

    Raises DataError if a column differs, of items or of lists: the items would be others. Base scores
    may differ, but not be those of other items of the list.
    """
    pairs = [(name, getattr(lists, name), getattr(same, name)) for name in _OF_ITEMS]
    pairs += [(f"trees {name!r}", tree, same.structures.get(name)) for name, tree in lists.structures.items()]
    pairs += [(f"counts of {name}", own, same.counts.get(name)) for name, own in lists.counts.items()]
    for name, own, theirs in pairs:
        if own is not None and theirs is not None:
            item = _first_difference(own, theirs)
            if item >= 0:
                raise _disagree(same, f"other {name} than {lists.source}", lists.place_of(item))
            yield name, own
    both = [(name, getattr(lists, name), getattr(same, name)) for name in _OF_LISTS]
    both += [("references", *two) for two in zip(lists.references, same.references, strict=False)]
    for name, own, theirs in both:
        if own is not None and theirs is not None:
            i = _first_difference(own, theirs)
            if i >= 0:
                raise _disagree(same, f"other {name} than {lists.source}", f"list {lists.list_id(i)!r}")
    own, theirs = lists.base_scores, same.base_scores
    if own is not None and theirs is not None:
        item = _first_difference(own, theirs)
        if item < 0:
            yield "base scores", own
        elif _first_difference(_sorted_within(lists, own), _sorted_within(lists, theirs)) < 0:
            raise _disagree(same, f"the base scores of {lists.source} in another order", lists.place_of(item))


def _disagree(same: CandidateLists, found: str, place: str) -> DataError:
    return DataError(f"{same.source}: found {found}, first at {place}: are these the same items?")


def _first_difference(own: Any, theirs: Any) -> int:
    """The first item, or list, of two columns that differs; -1 = none."""
    if isinstance(own, np.ndarray) and isinstance(theirs, np.ndarray):
        if own.shape != theirs.shape:  # statistics of another width
            return 0
        near = np.isclose(own, theirs, rtol=_CLOSE, atol=0.0, equal_nan=True).reshape(len(own), -1)
        wrong = ~near.all(axis=1)
        return int(np.argmax(wrong)) if wrong.any() else -1
    if own == theirs:
        return -1
    return next(k for k in range(len(own)) if own[k] != theirs[k])


def _sorted_within(lists: CandidateLists, values: Floats) -> Floats:
    return values[np.lexsort((values, lists.list_index))]


def _by_place(
    lists: CandidateLists,
    more: CandidateLists,
    compared: Mapping[str, Column],
) -> str:
    """Return how items were matched without ids, and the evidence that they are the same; may warn."""
    keys = [lists.list_index, *(_codes(column, lists.offsets) for column in compared.values())]
    _, places, sizes = np.unique(np.column_stack(keys), axis=0, return_inverse=True, return_counts=True)
    equal = int(np.count_nonzero(sizes[places.reshape(-1)] > 1))
    if equal and equal == lists.lengths[lists.lengths > 1].sum():
        found = f"nothing but their order links its items to those of {lists.source}"
        lacking = "no item ids, and no texts, labels, trees or features of both that tell items apart"
        warnings.warn(f"{more.source}: {found}: {lacking}", DataNote, stacklevel=4)
        return "place alone"
    shown = f"place, where {some(list(compared))} agree"
    return f"{shown} ({count(equal, 'item')} not told apart by them)" if equal else shown


def _codes(column: Column, offsets: Index) -> Index:
    """A number for each item, equal for items of a list with equal content, int64 (n_items)."""
    if isinstance(column, StringColumn | Forest):
        return distinct(column, offsets)[1]
    if isinstance(column, np.ndarray):
        values = np.where(np.isnan(column), np.inf, column)  # NaN equals NaN
        return np.unique(values, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    known: dict[tuple[bytes, ...], int] = {}
    parts: list[AnyArray] = [column.indices] if column.data is None else [column.indices, column.data]
    rows = (tuple(part[a:b].tobytes() for part in parts) for a, b in pairwise(column.indptr.tolist()))
    return np.array([known.setdefault(row, len(known)) for row in rows], dtype=np.int64)


def _equal(own: Sparse, theirs: Sparse) -> bool:
    """Return whether two matrices of the same columns have the same values, up to rounding."""
    if not (np.array_equal(own.indptr, theirs.indptr) and np.array_equal(own.indices, theirs.indices)):
        return False
    a, b = (np.ones(len(one.indices)) if one.data is None else one.data for one in (own, theirs))
    return bool(np.allclose(a, b, rtol=_CLOSE, atol=0.0, equal_nan=True))


def beside(left: Features, right: Features) -> Features:
    """Return the columns of one matrix, then those of another one, with the same rows.

    Dense columns stay dense, and compressed rows compressed.
    """
    (values, places, rows), (more, further, others) = _parts(left), _parts(right)
    n = left.n_features
    if rows is None and others is None:
        return Dense(np.ascontiguousarray(np.hstack([values, more])))
    rows = _empty(left.n_items) if rows is None else rows
    others = _empty(left.n_items) if others is None else others
    indptr = rows.indptr + others.indptr
    indices = np.empty(int(indptr[-1]), dtype=np.int32)
    data = None if rows.data is None and others.data is None else np.ones(len(indices))
    starts = (others.indptr[:-1], rows.indptr[1:])  # what the other matrix has before the entries of a row
    for part, before, shift in zip((rows, others), starts, (0, n), strict=True):
        at = np.arange(len(part.indices)) + np.repeat(before, np.diff(part.indptr))
        indices[at] = part.indices + np.int32(shift)
        if data is not None and part.data is not None:
            data[at] = part.data
    joined = Sparse(indptr, indices, data, n + right.n_features)
    columns = np.concatenate([places, further + np.int32(n)]).astype(np.int32)
    if not len(columns):
        return joined
    dense = np.hstack([values, more]).astype(np.float64)
    return Mixed(np.ascontiguousarray(dense), columns, joined)


def _parts(features: Features) -> tuple[AnyArray, Ints, Sparse | None]:
    """The dense columns of a matrix, their places, and its compressed rows, None if all columns are dense."""
    if isinstance(features, Dense):
        return features.values, np.arange(features.n_features, dtype=np.int32), None
    if isinstance(features, Mixed):
        return features.values, features.places, features.rows
    assert isinstance(features, Sparse)
    return np.empty((features.n_items, 0)), np.empty(0, dtype=np.int32), features


def _empty(n_items: int) -> Sparse:
    return Sparse(np.zeros(n_items + 1, dtype=np.int64), np.empty(0, dtype=np.int32), None, 0)
