"""Facts about a system's scores for notes; lists are added some at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field

from rerank.core.types import Floats, Index
from rerank.data.judge import labels_of
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse_all
from rerank.metrics.judges import Scores, ranked_last
from rerank.metrics.selecting import SelectingMetric

_AT_ONCE = 1 << 18  # items whose ranking is found at a time


class Rankings(Struct, eq=False):
    """Ranking of lists by a system.

    Attributes
    ----------
    of_labels : bool
        Whether ties between items with different labels are counted.
    hashed : bool
        Whether the ranking will be compared with another one.
    constant : bool
        No two items of a list have different scores.
    n_lists : int
        Lists with a judged item.
    tied : int
        Lists in which judged items with different labels have the largest score.
    """

    of_labels: bool
    hashed: bool
    constant: bool = True
    n_lists: int = 0
    tied: int = 0
    _hash: Any = field(default_factory=hashlib.blake2b)

    def add(self, lists: CandidateLists, scores: Scores) -> None:
        """Add lists with the scores of their items (n_items), NaN = not returned."""
        values = ranked_last(scores.astype(np.float64, copy=False))
        begin = lists.offsets[:-1]
        self.constant &= np.array_equal(
            np.maximum.reduceat(values, begin), np.minimum.reduceat(values, begin)
        )
        if self.of_labels:
            self.n_lists += int(np.count_nonzero(lists.judged_lists()))
            self.tied += _tied_choices(lists, values)
        if self.hashed:
            self._add_ranking(lists, values)

    def ranking(self) -> bytes:
        """Return a hash that is equal for the same order of every list, ties included."""
        return self._hash.digest()

    def _add_ranking(self, lists: CandidateLists, values: Floats) -> None:
        lengths = lists.lengths
        for lists_here, items in _blocks(lists.offsets):
            numbers = np.repeat(np.arange(lists_here.stop - lists_here.start), lengths[lists_here])
            order = np.lexsort((-values[items], numbers))
            ranked = values[items][order]
            # Among tied items the order is that of the input, so equal ties give equal orders.
            self._hash.update(order.data)
            self._hash.update((ranked[1:] == ranked[:-1]).data)


def rankings_of(
    lists: CandidateLists,
    systems: Mapping[str, Scores],
    metrics: Collection[str],
    before: Mapping[str, Rankings] | None = None,
) -> Mapping[str, Rankings]:
    """Return how systems rank lists, for notes.

    Parameters
    ----------
    lists : CandidateLists
    systems : mapping of str to float (n_items)
        Scores in the order of the caller's rows.
    metrics : collection of str
        As typed.
    before : mapping of str to Rankings, optional
        What this returned for the lists before, which is changed.
    """
    if before is None:
        chosen = [one for one in parse_all(metrics).values() if isinstance(one, SelectingMetric)]
        of_labels = lists.labels is not None and any(one.needs == ("labels",) for one in chosen)
        before = {name: Rankings(of_labels, len(systems) > 1) for name in systems}
    for name, scores in systems.items():
        before[name].add(lists, lists.from_input_order(np.asarray(scores)))
    return before


def _tied_choices(lists: CandidateLists, values: Floats) -> int:
    """The lists in which judged items with different labels have the largest score."""
    labels, starts = labels_of(lists), lists.offsets[:-1]
    top = np.repeat(np.maximum.reduceat(values, starts), lists.lengths)
    leading = (values == top) & (values > -np.inf)
    tied = np.where(leading, labels, np.nan)
    return int(np.count_nonzero(np.fmax.reduceat(tied, starts) > np.fmin.reduceat(tied, starts)))


def _blocks(offsets: Index) -> Iterator[tuple[slice, slice]]:
    """Lists some at a time, with their items: one list at least, and no more items than ``_AT_ONCE``."""
    first = 0
    while first < len(offsets) - 1:
        stop = max(first + 1, int(np.searchsorted(offsets, offsets[first] + _AT_ONCE, side="right")) - 1)
        yield slice(first, stop), slice(int(offsets[first]), int(offsets[stop]))
        first = stop
