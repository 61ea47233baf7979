"""The first-best ranking, and by how much another item leads the first stage's own choice.

With a keep margin m >= 0 the first-best stays chosen unless another item's score leads its own by more than
m. An item that leads by exactly m does not replace it.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, DataError
from rerank.core.text import number
from rerank.core.types import Floats, Index, Mask, NDArray
from rerank.data.columns.offsets import places_of
from rerank.data.lists import CandidateLists
from rerank.native.data import _order


def rises(offsets: Index, places: Floats, scores: Floats) -> tuple[Mask, Mask]:
    """Return for each list whether a score is above that of the place before.

    Parameters
    ----------
    offsets : int64 (n_lists + 1)
    places, scores : float64 (n_items), no NaN, larger places come later.

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


_LARGEST = np.finfo(np.float64).max


def ranks_in(offsets: Index, order: Floats) -> Index:
    """Return ranks from 1 in each list by ``order``, largest first, ties by position: int64 (n_items)."""
    lengths = np.diff(offsets)
    index = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.lexsort((places, -order, index))] = places - offsets[:-1][index] + 1
    return ranks


def first_largest(values: NDArray[np.floating], offsets: Index) -> Index:
    """Return the place of the largest value of each segment, the first on ties: int64 (n_segments).

    values : (n), without NaN.
    offsets : int64 (n_segments + 1), strictly increasing from 0 to n.
    """
    largest = np.maximum.reduceat(values, offsets[:-1])
    places = np.flatnonzero(values == np.repeat(largest, np.diff(offsets)))
    return places[np.searchsorted(places, offsets[:-1])].astype(np.int64, copy=False)


def first_best_items(lists: CandidateLists) -> Index:
    """Return the item of each list that the first stage chose, int64 (n_lists); DataError if unknown."""
    if lists.first_best is None:
        raise DataError(
            f"{lists.source}: a keep margin needs the first stage's order; give --first-best input|FEATURE"
        )
    return first_largest(lists.first_best, lists.offsets)


def best_items(lists: CandidateLists) -> Index:
    """Return the item with the largest label of each list, int64 (n_lists), -1 if none is judged.

    On ties the largest base score wins, then the first item.
    """
    assert lists.labels is not None
    starts = lists.offsets[:-1]
    labels = np.where(np.isnan(lists.labels), -np.inf, lists.labels)
    ahead = np.isfinite(labels) & (labels == np.repeat(np.maximum.reduceat(labels, starts), lists.lengths))
    if lists.base_scores is not None:
        base = np.where(ahead & ~np.isnan(lists.base_scores), lists.base_scores, -np.inf)
        ahead &= base == np.repeat(np.maximum.reduceat(base, starts), lists.lengths)
    items = np.where(ahead, np.arange(lists.n_items), lists.n_items)
    first = np.minimum.reduceat(items, starts)
    return np.where(first < lists.n_items, first, -1)


class ScoreGap(Struct, frozen=True, eq=False):
    """Each list's first-best and the item that leads it; three columns (n_lists).

    Attributes
    ----------
    first : int64, the item that the first stage chose.
    rival : int64, the item with the largest score, the first on ties; ``first`` if none is above it.
    lead : float64, the rival's score minus the first-best's: 0 if they are the same item, else positive.
    """

    first: Index
    rival: Index
    lead: Floats


def leads_of(lists: CandidateLists, scores: Floats) -> ScoreGap:
    """Return the leads over first-best under ``scores`` (n_items).

    Raises DataError if a score is NaN or the lists have no first-best.
    """
    if np.isnan(scores).any():
        raise DataError(f"{lists.source}: item {int(np.argmax(np.isnan(scores))) + 1} has the score NaN")
    first = first_best_items(lists)
    top = first_largest(scores, lists.offsets)
    rival = np.where(scores[top] > scores[first], top, first)
    with np.errstate(over="ignore"):
        lead = scores[rival] - scores[first]
    return ScoreGap(first, rival, lead)


def differ(lists: CandidateLists, a: Index, b: Index) -> Mask:
    """Return whether two choices of an item for each list (n_lists) differ: bool (n_lists).

    If the items have texts, the texts must differ: which of two equal lines was chosen does not matter.

    lists : the lists.
    a, b : int64 (n_lists), the chosen item of each list.
    """
    different: Mask = a != b
    if lists.texts is not None:
        pairs = np.stack([a, b], axis=1).ravel()
        bounds = np.arange(0, len(pairs) + 1, 2, dtype=np.int64)
        different &= ~lists.texts.take(pairs).repeated(bounds)[1::2]
    return different


def switched(lists: CandidateLists, scores: Floats) -> Mask:
    """Return whether ``scores`` (n_items) choose another item than the first stage: bool (n_lists)."""
    return differ(lists, first_largest(scores, lists.offsets), first_best_items(lists))


def checked_margin(margin: float) -> float:
    """Return the margin as a plain float; raise ConfigError if it is not a number, negative or NaN."""
    known = isinstance(margin, int | float | np.number) and not isinstance(margin, bool)
    if not known or not margin >= 0:
        raise _no_margin(margin)
    return float(margin)


def _no_margin(found: object) -> ConfigError:
    return ConfigError(f"keep margin: found {found!r}, expected a number of at least 0, inf or none")


def margin_of(text: str) -> float | None:
    """Return a margin as typed, None for "none"; raise ConfigError if it is anything else."""
    if text == "none":
        return None
    margin = math.inf if text == "inf" else number(text)
    if margin is None:
        raise _no_margin(text)
    return checked_margin(margin)


def with_margin(lists: CandidateLists, scores: Floats, margin: float) -> Floats:
    """Return scores (n_items) whose best item is the first-best unless another leads by more than ``margin``.

    The margin is added to the score of each first-best, in units of the scores; nothing else changes. If that
    sum would tie with an item that does not lead by more, it becomes the next number above; if rounding would
    lift it to one that does, the next below. With an infinite margin each first-best gets its list's best
    score plus 1. All scores stay finite. Raises ConfigError if the margin is negative or NaN; DataError if a
    score is NaN or the lists have no first-best.

    lists : lists with a first-best.
    scores : float64 (n_items), larger is better.
    margin : in units of the scores; at least 0, or inf.
    """
    checked_margin(margin)
    leads = leads_of(lists, scores)
    first, top = leads.first, scores[leads.rival]
    others = scores.copy()
    others[first] = -np.inf
    highest = np.maximum.reduceat(others, lists.offsets[:-1])
    with np.errstate(over="ignore"):
        raised = top + 1.0 if np.isinf(margin) else scores[first] + margin
    above = np.where(highest >= raised, np.nextafter(highest, np.inf), raised)
    below = np.minimum(raised, np.nextafter(top, -np.inf))
    others[first] = np.minimum(np.where(leads.lead <= margin, above, below), _LARGEST)
    return others


def sorted_by_label(lists: CandidateLists, labels: Floats, first_best: Floats) -> int:
    """Return how many lists have several labels, if these never rise in the first-best order; otherwise 0."""
    for n in (min(100, lists.n_lists), lists.n_lists):  # nearly always the first lists show a rise
        number = np.repeat(np.arange(n), lists.lengths[:n])
        change = np.diff(labels[: len(number)][np.lexsort((-first_best[: len(number)], number))])
        change[lists.offsets[1:n] - 1] = 0.0
        if np.any(change > 0):
            return 0
    return len(np.unique(number[1:][change < 0]))
