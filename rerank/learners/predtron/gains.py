"""The lists that Predtron ranks, with the gains of their items, and the losses that rankings can have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index, Ints
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.learners.gains import exponential_gains
from rerank.learners.predtron.steps import LossRange

GainName = Literal["exponential", "linear"]


@dataclass(frozen=True, eq=False)
class GradedLists:
    """The judged items of lists that have two different gains.

    Attributes
    ----------
    lists : int64 (n_lists)
        These lists.
    offsets, items : int64 (n_lists + 1) and (n_items)
        The rows of each list, by rising gain, equal gains in input order.
    gains : float64 (n_items)
        Divided by the largest one of the list.
    n_skipped : int
        How many lists there are besides.
    """

    lists: Index
    offsets: Index
    items: Index
    gains: Floats
    n_skipped: int

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.lists)

    @cached_property
    def lengths(self) -> Index:
        """The number of items of each list, int64 (n_lists)."""
        return np.diff(self.offsets)

    def ideal(self, discounts: Floats) -> Floats:
        """Return the largest discounted sum of gains of each list, float64 (n_lists)."""
        places = np.repeat(self.offsets[1:], self.lengths) - 1 - np.arange(len(self.items))
        found: Floats = np.add.reduceat(self.gains * discounts[places], self.offsets[:-1])
        return found

    def places(self, fixed: bool) -> Ints:
        """Return the place of each item among items by falling gain, int32 (n_items), from 0.

        Items of one gain share the first place that they have together, or, if ``fixed``, have those places
        in input order.
        """
        first = np.zeros(len(self.items), dtype=bool)
        first[1:] = self.gains[1:] != self.gains[:-1]
        first[self.offsets[:-1]] = True
        starts = np.flatnonzero(first)
        sizes = np.diff(np.append(starts, len(first)))
        places = np.repeat(self.offsets[1:], self.lengths) - np.repeat(starts + sizes, sizes)
        if fixed:
            places += np.arange(len(first)) - np.repeat(starts, sizes)
        return places.astype(np.int32)

    def losses(self, discounts: Floats, depth: int) -> LossRange:
        """Return the least and the largest loss above 0 of any ranking of any list.

        Parameters
        ----------
        discounts
            By place, 0 from place ``depth`` on, float64 (longest).
        depth
            How many places count.
        """
        least, most = np.inf, 0.0
        for first, last in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            found = _loss_range(self.gains[first:last][::-1], discounts, depth)
            least, most = min(least, found.least), max(most, found.most)
        return LossRange(least, most)


def _loss_range(gains: Floats, discounts: Floats, depth: int) -> LossRange:
    """The losses of one list, whose gains fall.

    Exchanges of neighbours in the wrong order lead from any ranking to one without loss, and none of them
    adds to it: the last one that changes it left the least loss.
    """
    n = min(depth, len(gains))
    ideal = float((gains[:n] * discounts[:n]).sum())
    most = float(((gains[:n] - gains[::-1][:n]) * discounts[:n]).sum())
    falls = gains[: n - 1] - gains[1:n]
    steps = (falls * (discounts[: n - 1] - discounts[1:n]))[falls > 0]
    least = float(steps.min(initial=np.inf))
    lower = gains[n:][gains[n:] < gains[n - 1]]
    if len(lower):  # the item at the last place that counts is exchanged for one after it
        least = min(least, float((gains[n - 1] - lower[0]) * discounts[n - 1]))
    return LossRange(least / ideal, most / ideal)


def graded_lists(lists: CandidateLists, gain: GainName) -> GradedLists:
    """Return the judged items of the lists that have two different gains.

    Parameters
    ----------
    lists
        Lists with labels. Unjudged items are left out.
    gain
        2^label - 1 (exponential), or the label; labels of 0 or less gain nothing.

    Raises
    ------
    FitError
        If there is no such list, or a gain overflows.
    """
    assert lists.labels is not None, "Learner.fit refuses lists without labels"
    judged = np.flatnonzero(~np.isnan(lists.labels))
    gains = np.maximum(lists.labels[judged], 0.0)
    if gain == "exponential":
        gains = exponential_gains(gains, lists.source, "gain=linear")
    of_list = lists.list_index[judged]
    order = np.lexsort((gains, of_list))
    items, gains, of_list = judged[order], gains[order], of_list[order]
    present, starts, sizes = np.unique(of_list, return_index=True, return_counts=True)
    largest = gains[starts + sizes - 1]
    used = largest > gains[starts]
    if not used.any():
        raise FitError(
            f"{lists.source}: no list has items of two different gains (labels of 0 or less gain nothing)"
        )
    kept = np.repeat(used, sizes)
    return GradedLists(
        lists=present[used],
        offsets=offsets_of(sizes[used]),
        items=items[kept],
        gains=(gains / np.repeat(np.where(used, largest, 1.0), sizes))[kept],
        n_skipped=lists.n_lists - int(used.sum()),
    )
