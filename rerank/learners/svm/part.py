"""A part of the lists, whose minimum is near that of all of them."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats
from rerank.data.pairs import Pairs
from rerank.learners.vectors import inner

_STEP = 16  # one of so many lists is in it
_LISTS = 16  # at least: a smaller part costs more than it saves
_ITEMS = 20  # for each feature at least: with fewer its minimum may be far away


def part_of(pairs: Pairs, weight: Floats, n_features: int) -> tuple[Pairs, Floats] | None:
    """Return the pairs of evenly spaced lists, and their weights of sum 1; None if there are too few.

    Parameters
    ----------
    pairs
        Of all lists.
    weight
        float64 (pairs.n_lists): the weight of each pair of a list.
    n_features
        The number of weights to learn.
    """
    chosen = np.arange(0, pairs.n_lists, _STEP)
    if len(chosen) < _LISTS:
        return None
    part = pairs.subset(chosen)
    total = inner(weight[chosen], part.counts.astype(np.float64))
    if len(part.items) < _ITEMS * n_features or not total > 0:
        return None
    return part, weight[chosen] / total
