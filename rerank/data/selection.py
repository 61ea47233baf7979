"""Columns chosen by name, number, range or glob, ``prm*,-length``, and features permuted within lists."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rerank.core.errors import DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import Pattern, patterns_of
from rerank.core.types import Index, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.names import Columns
from rerank.data.text_reading import has_inputs

_GLOB = re.compile(r"[*?\[]")


class Finder:
    """The columns that patterns mean among those of one set."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._named: dict[str, int] | None = None

    def places(self, pattern: Pattern) -> Index:
        """Return the columns that a pattern matches, int64 and rising.

        The name of a column is that column, whatever else it could mean. A range is one of numbers: those of
        unnamed columns, or names that are numbers. All else with ``*``, ``?`` or ``[`` is a glob.
        """
        exact = self._exact(pattern.text)
        if exact >= 0:
            return np.array([exact], dtype=np.int64)
        labels, bounds = self._columns.labels, pattern.range
        if bounds is not None and labels is not None:
            return np.flatnonzero((labels >= bounds[0]) & (labels <= bounds[1])).astype(np.int64)
        if _GLOB.search(pattern.text) is None:
            return np.empty(0, dtype=np.int64)
        matches = re.compile(fnmatch.translate(pattern.text)).match
        names = self._columns.at(np.arange(self._columns.n))
        return np.array([j for j, name in enumerate(names) if matches(name)], dtype=np.int64)

    def _exact(self, name: str) -> int:
        """The column of a name, -1 if there is none."""
        names, n = self._columns.names, self._columns.n
        if names is None:
            number = int(name) if name.isascii() and name.isdecimal() and len(name) <= 10 else 0
            return number - 1 if 1 <= number <= n and str(number) == name else -1
        if self._named is None:
            self._named = {one: j for j, one in enumerate(names)}
        return self._named.get(name, -1)


def columns_matching(
    columns: Columns, texts: Sequence[str], source: str, *, lenient: bool = False, empty: bool = False
) -> Mask:
    """Return which columns a selection includes, bool (n).

    Items apply from left to right. If the first one excludes, the selection starts from all columns. Raises
    DataError if an item matches no column; it names the nearest one. Or if no column is included.

    columns : the columns to choose from.
    texts : items as ``patterns_of`` takes them.
    source : where the columns are from, for messages.
    lenient : accept items that match no column.
    empty : accept a selection without columns.
    """
    finder = Finder(columns)
    patterns = patterns_of(texts)
    chosen = np.full(columns.n, bool(patterns) and patterns[0].excluded)
    for pattern in patterns:
        places = finder.places(pattern)
        if len(places) == 0 and not lenient:
            raise DataError(f"{source}: {_unknown(pattern, columns)}")
        chosen[places] = not pattern.excluded
    if not (chosen.any() or empty):
        raise DataError(f"{source}: {','.join(texts)!r} selects no feature")
    return chosen


def _unknown(pattern: Pattern, columns: Columns) -> str:
    """Return the message for a pattern that matches no column."""
    if columns.n == 0:
        return f"no feature {pattern.text!r}: there are no features"
    text = f"no feature matches {pattern.text!r}"
    if columns.labels is not None:
        first, last = int(columns.labels.min()), int(columns.labels.max())
        return f"{text}; features have the numbers {first} to {last}"
    if pattern.range is not None:
        text += "; numbers are for features without names"
    return f"{text}; {did_you_mean(pattern.text, columns.at(np.arange(columns.n)))}"


def selected(lists: CandidateLists, texts: Sequence[str], *, lenient: bool = False) -> CandidateLists:
    """Return the same lists with the feature columns that a selection includes, in the order they have.

    They keep their names; unnamed columns are named by their numbers. They are matched to other columns by
    these names alone, never by position. Raises DataError if an item matches no column, or none is included.

    lists : lists as they were read.
    texts : items as ``patterns_of`` takes them; without any, the lists stay as they are.
    lenient : accept items that match no column.
    """
    if not texts:
        return lists
    chosen = columns_matching(lists.columns(), texts, lists.source, lenient=lenient, empty=has_inputs(lists))
    return with_only(lists, chosen, ",".join(texts))


def with_only(lists: CandidateLists, chosen: Mask, selection: str) -> CandidateLists:
    """Return the same lists with the feature columns of a mask (n_features), as ``selected`` does.

    ``selection`` says how they were chosen.
    """
    mine = lists.columns()
    selection = ",".join(filter(None, (lists.selection, selection)))
    if chosen.all():
        return replace(lists, selection=selection)
    places = np.where(chosen, np.cumsum(chosen, dtype=np.int64) - 1, -1)
    kept = np.flatnonzero(chosen)
    features = lists.features.select(places, len(kept))
    return replace(lists, features=features, feature_names=mine.at(kept), selection=selection)


def random_order(lists: CandidateLists, seed: int, repeat: int) -> Index:
    """Return the items of each list in a random order: int64 (n_items), a permutation within each list.

    The items of a list are sorted by ``Generator(PCG64([seed, repeat])).random(n_items)``, so that all
    features and groups of a repeat meet the same order.
    """
    keys = np.random.Generator(np.random.PCG64([seed, repeat])).random(lists.n_items)
    return np.lexsort((keys, lists.list_index)).astype(np.int64)


def permuted(features: Features, columns: Mask, order: Index) -> Features:
    """Return features whose ``columns`` have the values of the items at ``order``, together.

    features : of any layout, which stays.
    columns : bool (n_features).
    order : int64 (n_items): item i takes the values of item ``order[i]``.
    """
    if isinstance(features, Dense):
        values = features.values.copy()
        values[:, columns] = features.values[np.ix_(order, columns)]
        return Dense(values)
    if isinstance(features, Mixed):
        values = features.values.copy()
        values[:, columns[features.places]] = features.values[np.ix_(order, columns[features.places])]
        return replace(features, values=values, rows=_permuted_rows(features.rows, columns, order))
    assert isinstance(features, Sparse)
    return _permuted_rows(features, columns, order)


def _permuted_rows(rows: Sparse, columns: Mask, order: Index) -> Sparse:
    """The kept columns of each row, and the permuted ones of another row, in the order of the columns."""
    here = np.arange(rows.n_features, dtype=np.int64)
    kept = rows.select(np.where(columns, -1, here), rows.n_features)
    moved = rows.select(np.where(columns, here, -1), rows.n_features).take(order)
    sizes = [np.diff(part.indptr) for part in (kept, moved)]
    row = np.concatenate([np.repeat(np.arange(rows.n_items), size) for size in sizes])
    indices = np.concatenate([kept.indices, moved.indices])
    to = np.lexsort((indices, row))
    data = None
    if kept.data is not None and moved.data is not None:
        data = np.concatenate([kept.data, moved.data])[to]
    return Sparse(offsets_of(sizes[0] + sizes[1]), indices[to], data, rows.n_features)
