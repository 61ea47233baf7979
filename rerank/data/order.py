"""Whether scores fall in the order of places, as those of a ranked list should."""

from __future__ import annotations

import numpy as np

from rerank.core.types import Floats, Index, Mask
from rerank.data.columns.offsets import places_of
from rerank.native.data import _order


def rises(offsets: Index, places: Floats, scores: Floats) -> tuple[Mask, Mask]:
    """Return for each list whether a score is above that of the place before.

    Parameters
    ----------
    offsets : int64 (n_lists + 1)
    places, scores : float64 (n_items), no NaN
        Larger places come later.

    Returns
    -------
    by_score, by_line : bool (n_lists)
        With the items of one place sorted by their scores, largest first, and in their order.
    """
    out = np.empty((3, len(offsets) - 1), dtype=np.uint8)
    places = np.ascontiguousarray(places, dtype=np.float64)
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    _order.rises(offsets, places, scores, *out)
    which = np.flatnonzero(out[2])
    if len(which):
        items, bounds = places_of(offsets, which)
        lists = np.repeat(np.arange(len(which)), np.diff(bounds))
        for row, second in ((0, -scores[items]), (1, np.arange(len(items)))):
            ordered = items[np.lexsort((second, places[items], lists))]
            marked = (np.diff(scores[ordered]) > 0) & (np.diff(lists) == 0)
            out[row, which] = np.bincount(lists[1:][marked], minlength=len(which)) > 0
    return out[0].view(np.bool_), out[1].view(np.bool_)
