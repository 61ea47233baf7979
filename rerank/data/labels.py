"""Quantised labels, as Duh (2009, section 4.3) uses them for reranking.

Equal labels are never a pair, so fewer levels give fewer pairs: differences too small to matter are not
learnt from. The alternative, pairs whose labels differ by more than a threshold, is pairs=all, label_gap=t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import number
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists

Scheme = Literal["best", "above", "model", "top", "kmeans", "list-kmeans"]


class Quantiser(Struct, frozen=True):
    """Quantisation of labels; str() gives the text that ``parse_quantiser`` reads.

    best           1 for the items with the best label of their list, 0 for the others
    above=T        1 for labels above T
    model=FILE     1 for labels above that of the item that the model in FILE chooses in the list
    top=P%         1 if less than P % of the list's items have a larger label
    kmeans=K       0 to K - 1, exact k-means of the labels of all lists together
    list-kmeans=K  the same for each list by itself
    """

    scheme: Scheme
    value: float = 0.0
    path: str = ""

    def __str__(self) -> str:
        if self.scheme == "best":
            return "best"
        if self.scheme == "model":
            return f"model={self.path}"
        value = int(self.value) if self.value.is_integer() else self.value
        return f"{self.scheme}={value}" + ("%" if self.scheme == "top" else "")


def parse_quantiser(text: str) -> Quantiser:
    """Return the quantiser that ``text`` describes, such as "top=30%"; raise ConfigError if malformed."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in get_args(Scheme):
        raise ConfigError(
            f"quantise {text!r}: unknown scheme {name!r}; {did_you_mean(name, get_args(Scheme))}"
        )
    expected = {
        "best": "best, without a value",
        "above": "above=T, a number",
        "model": "model=FILE",
        "top": "top=P%, P above 0 and below 100",
        "kmeans": "kmeans=K, a whole number, at least 2",
        "list-kmeans": "list-kmeans=K, a whole number, at least 2",
    }[name]
    error = ConfigError(f"quantise: found {text!r}, expected {expected}")
    if name == "best" or (name == "model" and value):
        if (name == "best") == ("=" in text):
            raise error
        return Quantiser("best") if name == "best" else Quantiser("model", path=value)
    if name == "top" and not value.endswith("%"):
        raise error
    threshold = number(value.removesuffix("%") if name == "top" else value)
    if threshold is None:
        raise error
    if name == "top":
        fits = 0 < threshold < 100
    else:
        fits = name == "above" or (threshold.is_integer() and 2 <= threshold < 2**31)
    if not fits:
        raise error
    return Quantiser(name, threshold)  # type: ignore[arg-type]  # one of Scheme, checked above


def quantised(lists: CandidateLists, quantiser: Quantiser, chosen: Index | None = None) -> CandidateLists:
    """Return the same lists with labels 0, 1, ...; unjudged items (NaN) stay unjudged.

    Raises DataError if the lists have no labels; ConfigError if the quantiser is "model" and ``chosen`` is
    missing.

    lists : lists with labels.
    quantiser : how labels are quantised.
    chosen : int64 (n_lists), for "model", the item of each list that the model chooses. If it has no label it
        counts as the lowest judged item of its list.
    """
    if lists.labels is None:
        raise DataError(f"{lists.source}: no labels to quantise")
    if quantiser.scheme == "model":
        if chosen is None:
            raise ConfigError(f"quantise {quantiser}: needs the items that the model chooses")
        own, lowest = lists.labels[chosen], np.fmin.reduceat(lists.labels, lists.offsets[:-1])
        least = np.repeat(np.where(np.isnan(own), lowest, own), lists.lengths)
        labels = (lists.labels > least).astype(np.float64)
    else:
        labels = _SCHEMES[quantiser.scheme](lists, lists.labels, quantiser.value)
    return lists.replace_labels(np.where(np.isnan(lists.labels), np.nan, labels))


def _best(lists: CandidateLists, labels: Floats, _: float) -> Floats:
    best = np.fmax.reduceat(labels, lists.offsets[:-1])
    return np.asarray(labels == np.repeat(best, lists.lengths), dtype=np.float64)


def _top(lists: CandidateLists, labels: Floats, percent: float) -> Floats:
    from rerank.data.pairs import competition_ranks

    judged = np.flatnonzero(~np.isnan(labels))
    of_list = lists.list_index[judged]
    items = judged[np.lexsort((-labels[judged], of_list))]  # by decreasing label within each list
    sizes = np.bincount(of_list, minlength=lists.n_lists)
    sizes = sizes[sizes > 0]
    offsets = offsets_of(sizes)
    rank = competition_ranks(labels[items], offsets)
    out = np.zeros(len(labels))
    out[items] = 100.0 * (rank - 1.0) < percent * np.repeat(sizes, sizes)
    return out


def _levels(labels: Floats, group: Index, k: int) -> Floats:
    """The cluster of each label (n) among those of its group (n), 0 for the smallest; 0 for NaN."""
    from rerank.native.data import _kmeans

    out = np.zeros(len(labels))
    items = np.flatnonzero(~np.isnan(labels))
    items = items[np.lexsort((labels[items], group[items]))]
    if len(items) == 0:
        return out
    of, value = group[items], labels[items]
    if not np.isfinite(value).all():
        raise DataError("k-means needs finite labels")
    starts_group = np.diff(of, prepend=-1) != 0
    # Equal labels are one value with more weight, so that they share a cluster.
    is_new = starts_group | (np.diff(value, prepend=np.nan) != 0)
    places = np.flatnonzero(is_new)
    weights = np.diff(places, append=len(items)).astype(np.float64)
    offsets = np.append(np.flatnonzero(starts_group[places]), len(places)).astype(np.int64)
    longest = int(np.diff(offsets).max())
    k = min(k, longest)
    what = f"{k:,} clusters of {longest:,} labels"
    memory.require(4 * k * (longest + 1), what, "fewer clusters need less (--quantise)")
    levels = np.empty(len(places), dtype=np.int32)
    _kmeans.nearest_means(
        np.ascontiguousarray(value[places]),
        weights,
        offsets,
        np.empty((3, longest + 1)),
        np.empty((2, longest + 1)),
        np.empty((k, longest + 1), dtype=np.int32),
        levels,
    )
    out[items] = levels[np.cumsum(is_new) - 1]
    return out


_SCHEMES: dict[str, Callable[[CandidateLists, Floats, float], Floats]] = {
    "best": _best,
    "above": lambda _, labels, least: (labels > least).astype(np.float64),
    "top": _top,
    "kmeans": lambda _, labels, k: _levels(labels, np.zeros(len(labels), dtype=np.int64), int(k)),
    "list-kmeans": lambda lists, labels, k: _levels(labels, lists.list_index, int(k)),
}
