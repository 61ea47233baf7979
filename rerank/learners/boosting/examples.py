"""The pairs that boosting learns from: the best item of a list and another one, or an item and nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.first_best import best_items
from rerank.data.lists import CandidateLists


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs of items, list by list.

    Attributes
    ----------
    pairs : int64 (2, n_pairs)
        The item that must win and the one that must lose; -1 stands for an item whose score is 0.
    groups : int64 (n_groups + 1)
        The bounds of pairs of one list, or of one example in classification.
    importance : float64 (n_pairs)
        S of each pair, 1 at most.
    scale : float
        What the importance of pairs was divided by.
    n_skipped : int
        Lists without a pair.
    """

    pairs: Index
    groups: Index
    importance: Floats
    scale: float
    n_skipped: int

    @property
    def n_pairs(self) -> int:
        """The number of pairs."""
        return len(self.importance)

    @property
    def winners(self) -> Index:
        """The item that must win of each group, int64 (n_groups)."""
        return self.pairs[0, self.groups[:-1]]

    def differences(self, values: Floats) -> Floats:
        """Return the value of a pair's first item less that of its second, float64 (n_pairs).

        ``values`` are those of items (n_items).
        """
        padded = np.append(values, 0.0)
        with np.errstate(over="ignore"):  # callers report what is not finite
            return padded[self.pairs[0]] - padded[self.pairs[1]]


def ranking_examples(lists: CandidateLists, weighted: bool) -> Examples:
    """Return the pairs of each list's best item and its items of smaller labels; unjudged ones are in none.

    Parameters
    ----------
    lists
        Lists with labels.
    weighted
        The importance of a pair is the difference of its labels, else 1.

    Raises
    ------
    FitError
        If no list has a pair, or a difference of labels overflows.
    """
    assert lists.labels is not None
    best = np.repeat(best_items(lists), lists.lengths)
    losers = np.flatnonzero((best >= 0) & (lists.labels < lists.labels[best]))
    if not len(losers):
        raise FitError(f"{lists.source}: no list has two different labels")
    winners = best[losers]
    with np.errstate(over="ignore"):
        importance = lists.labels[winners] - lists.labels[losers] if weighted else np.ones(len(losers))
    scale = float(importance.max())
    if not np.isfinite(scale):
        raise FitError(f"{lists.source}: differences of labels overflow")
    importance = np.maximum(importance / scale, np.finfo(np.float64).tiny)
    sizes = np.bincount(lists.list_index[losers], minlength=lists.n_lists)
    groups = offsets_of(sizes[sizes > 0])
    n_skipped = int(np.count_nonzero(sizes == 0))
    return Examples(np.stack([winners, losers]), groups, importance, scale, n_skipped)


def class_examples(lists: CandidateLists, relevant: float) -> Examples:
    """Return a pair for each judged item: it must score above 0 if it is relevant, else below.

    Parameters
    ----------
    lists
        Lists with labels; which list an item is in does not matter.
    relevant
        Items with this label or a larger one are relevant.

    Raises
    ------
    FitError
        If all judged items are of one class.
    """
    assert lists.labels is not None
    items = np.flatnonzero(~np.isnan(lists.labels))
    right = lists.labels[items] >= relevant
    if right.all() or not right.any():
        found = "no" if not right.any() else "every"
        raise FitError(f"{lists.source}: {found} judged item has a label of {relevant:g} or more (relevant)")
    nothing = np.full(len(items), -1)
    pairs = np.stack([np.where(right, items, nothing), np.where(right, nothing, items)])
    groups = np.arange(len(items) + 1, dtype=np.int64)
    return Examples(pairs, groups, np.ones(len(items)), 1.0, 0)
