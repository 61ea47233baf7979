"""The first ranking of a list as coordinates of its items, beside their features, for KLIEP.

References
----------
Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009, footnote 5 of
chapter 6: KLIEP with "ranking-specific features derived from the initial list". It does not name them.
"""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.extensions.transductive.space import Points


def ranking_points(lists: CandidateLists, scores: Floats, weight: float) -> Points:
    """Return items as points with two coordinates: score and place in the ranking of their list by scores.

    Both run from 0 to 1 in a list, as features do after list-minmax, and are multiplied by ``weight``. The
    place is 1 for the best item; tied items have the mean of their places. Both are 0 if all scores are
    equal.

    scores : float64 (n_items).
    """
    out = np.zeros((lists.n_items, 2))
    for first, last in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
        own = scores[first:last]
        low, high = own.min(), own.max()
        if high > low:
            order = np.sort(own)
            below, within = (np.searchsorted(order, own, side=side) for side in ("left", "right"))
            out[first:last, 0] = (own - low) / (high - low)
            out[first:last, 1] = 0.5 * (below + within - 1) / (len(own) - 1)
    return Points(CandidateLists(lists.offsets, Dense(weight * out)))
