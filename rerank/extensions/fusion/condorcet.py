"""Condorcet fusion: a merge sort by the majority of the runs, in all lists at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.core.types import Floats, Index
from rerank.extensions.fusion.runs import Runs, means_of_ties

Margin = Callable[[Index, Index], Floats]  # votes for one item minus those for the other


def majority_scores(runs: Runs, weights: Floats, start: Floats) -> Floats:
    """Return for each item how many of its list come after it, float64 (n_items), best = the list's length.

    A run prefers what it ranks above, and what it returned to what it did not; it has no preference between
    equal scores, and between two items that it did not return. Where the majority has cycles, the result
    depends on the order before sorting, which is by ``start`` (n_items), then by input order. Neighbours
    that neither the majority nor ``start`` tells apart share the mean of their scores.
    """
    lists = runs.lists
    ranks = np.nan_to_num(runs.ranks, nan=lists.n_items + 1.0)

    def margin(one: Index, two: Index) -> Floats:
        return np.asarray(np.sign(ranks[two] - ranks[one]) @ weights)

    order = np.lexsort((-start, lists.list_index)).astype(np.int64)
    width = 1
    while width < int(lists.lengths.max()):
        order = _merged(order, lists.offsets, width, margin)
        width *= 2
    scores = np.repeat(lists.offsets[1:], lists.lengths) - np.arange(lists.n_items, dtype=np.float64)
    one, two = order[:-1], order[1:]
    new = np.append(True, (margin(one, two) != 0) | (start[one] != start[two]))
    new[lists.offsets[:-1]] = True
    out = np.empty(lists.n_items)
    out[order] = means_of_ties(scores, np.flatnonzero(new))
    return out


def _merged(order: Index, offsets: Index, width: int, margin: Margin) -> Index:
    """Merge neighbouring sorted pieces of ``width`` items of each list, all merges step by step together."""
    lengths = np.diff(offsets)
    n_merges = np.maximum((lengths - width + 2 * width - 1) // (2 * width), 0)
    number = np.arange(n_merges.sum()) - np.repeat(np.cumsum(n_merges) - n_merges, n_merges)
    out = np.repeat(offsets[:-1], n_merges) + 2 * width * number
    left, left_end, right = out.copy(), out + width, out + width
    right_end = np.minimum(out + 2 * width, np.repeat(offsets[1:], n_merges))
    new = order.copy()
    while len(out):
        first = margin(order[left], order[right]) >= 0
        new[out] = order[np.where(first, left, right)]
        left, right, out = left + first, right + ~first, out + 1
        done = (left == left_end) | (right == right_end)
        if done.any():
            rest = np.where(done, left_end - left, 0)  # of the left piece; that of the right one is in place
            within = np.arange(rest.sum()) - np.repeat(np.cumsum(rest) - rest, rest)
            new[np.repeat(out, rest) + within] = order[np.repeat(left, rest) + within]
            left, left_end, right, right_end, out = (
                array[~done] for array in (left, left_end, right, right_end, out)
            )
    return new
