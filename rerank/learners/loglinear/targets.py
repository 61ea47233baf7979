"""The probability that each item of a list should have."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.first_best import best_items
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.base import checked_list_weights
from rerank.learners.loglinear.likelihood import TargetLists

Targets = Literal["best", "tied", "any", "soft"]


def target_lists(
    lists: CandidateLists, targets: Targets, sharpness: float, list_weights: Floats | None
) -> TargetLists:
    """Return the judged items of the lists that have two different labels, with their targets.

    Parameters
    ----------
    lists
        Lists with labels.
    targets
        best: the item with the largest label, among several the one with the largest base score, then the
        first one, has probability 1. tied: all items with the largest label share it. any: they may share
        it in any way. soft: it is proportional to exp(sharpness * label).
    sharpness
        Of soft targets.
    list_weights
        float64 (n_lists), None = 1.

    Raises
    ------
    FitError
        If no list has two different labels, or the weights are not finite numbers of 0 or more.
    """
    pairs = make_pairs(lists, PairRelation())
    if pairs.n_lists == 0:
        raise FitError(f"{lists.source}: no list has two different labels")
    assert lists.labels is not None
    starts, sizes = pairs.offsets[:-1], np.diff(pairs.offsets)
    if targets == "soft":
        labels = lists.labels[pairs.items]  # the largest ones come first
        with np.errstate(over="ignore"):  # a gap of labels that overflows has no share
            target = np.exp(sharpness * (labels - np.repeat(labels[starts], sizes)))
    elif targets == "best":
        best = best_items(lists)[pairs.lists]
        target = (pairs.items == np.repeat(best, sizes)).astype(np.float64)
    else:
        target = (pairs.rank == 1).astype(np.float64)
    if targets != "any":
        target /= np.repeat(np.add.reduceat(target, starts), sizes)
    weight = checked_list_weights(list_weights, lists)[pairs.lists]
    if not weight.any():
        raise FitError(f"{lists.source}: every list with two different labels has weight 0")
    return TargetLists(pairs.offsets, pairs.items, target, weight, targets == "any")
