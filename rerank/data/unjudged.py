"""The unjudged items of judged lists, and the label that they get if they count as not relevant."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.types import Mask
from rerank.data.lists import CandidateLists

Unjudged = Literal["skip", "negative", "error"]


def unjudged_items(lists: CandidateLists) -> Mask:
    """Return which items are unjudged although their list has a judged item, bool (n_items)."""
    if lists.labels is None:
        return np.zeros(lists.n_items, dtype=bool)
    return np.isnan(lists.labels) & np.repeat(lists.judged_lists(), lists.lengths)


def level_of_unjudged(lists: CandidateLists) -> float:
    """Return the largest judged label that is 0 or below; 0 if all are above.

    That is the label of judged items that are not relevant: 0 as in TREC's judgements, also if junk has -1
    or -2 there, and -1 if labels are -1 and 1.
    """
    assert lists.labels is not None
    return (
        float(np.max(lists.labels, initial=-np.inf, where=lists.labels <= 0)) if has_negative(lists) else 0.0
    )


def has_negative(lists: CandidateLists) -> bool:
    """Return whether an item is judged as not relevant, with a label of 0 or below."""
    return lists.labels is not None and bool(np.any(lists.labels <= 0))


def has_order(lists: CandidateLists) -> bool:
    """Return whether a list has two different labels."""
    if lists.labels is None:
        return False
    starts = lists.offsets[:-1]
    return bool(np.any(np.fmax.reduceat(lists.labels, starts) > np.fmin.reduceat(lists.labels, starts)))


def with_level(lists: CandidateLists, level: float) -> CandidateLists:
    """Return the same lists with the label ``level`` for the unjudged items of judged lists."""
    if lists.labels is None:
        return lists
    return lists.replace_labels(np.where(unjudged_items(lists), level, lists.labels))
