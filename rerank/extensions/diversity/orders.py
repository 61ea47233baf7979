"""Greedy orders of lists by relevance and diversity: MMR, xQuAD, PM-2 and determinantal point processes.

Relevance is a score between 0 and 1: those of a list are shifted and divided so that the smallest one is 0
and the largest one 1. A method is written ``NAME:SHARE``, with the paper's parameter from 0 to 1.

References
----------
Carbonell & Goldstein: The use of MMR, diversity-based reranking for reordering documents and producing
summaries. SIGIR 1998.
Santos, Macdonald & Ounis: Exploiting query reformulations for web search result diversification. WWW 2010.
Dang & Croft: Diversity by proportionality: an election-based approach to search result diversification.
SIGIR 2012.
Chen, Zhang & Zhou: Fast greedy MAP inference for determinantal point process to improve recommendation
diversity. NeurIPS 2018.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats, Index
from rerank.extensions.diversity.native import _greedy

Method = Literal["mmr", "dpp", "xquad", "pm2"]
METHODS: tuple[Method, ...] = get_args(Method)
OF_ITEMS = ("mmr", "dpp")  # by similarities of items; the others by aspects
# The share that leaves the order of the scores as it is, if there is one.
NEUTRAL = {"mmr": 1.0, "dpp": 1.0, "xquad": 0.0}
# Similarities of the items of a list, or their aspects, or these and the weights of the aspects.
Table = Floats | tuple[Floats, Floats]
_LEAST = 1e-10  # of a factor of the determinant, below which an item is like the chosen ones


def parsed(text: str) -> tuple[Method, float | None]:
    """Return the method and the share that ``NAME:SHARE`` names; None = no share is given.

    Raises ConfigError if there is no such method, or the share is not a number from 0 to 1.
    """
    typed, colon, rest = text.partition(":")
    name = next((one for one in METHODS if one == typed), None)
    if name is None:
        raise ConfigError(f"diversify: found {text!r}; {did_you_mean(typed, METHODS)}")
    if not colon:
        return name, None
    try:
        share = float(rest)
    except ValueError:
        share = np.nan
    if not 0 <= share <= 1:
        raise ConfigError(f"diversify: found {text!r}, expected {name} and a number from 0 to 1 ({name}:0.5)")
    return name, share


def order_of(method: str, share: float, scores: Floats, table: Table, depth: int | None = None) -> Index:
    """Return the items of one list in diversified order, int64 (n).

    Parameters
    ----------
    method : {"mmr", "dpp", "xquad", "pm2"}
    share : float
        0 to 1; for mmr and dpp the share of relevance, for xquad that of diversity, for pm2 that of the
        aspect whose turn it is.
    scores : float64 (n)
        Of the list's items, larger is better. On ties the first item is the more relevant one.
    table : float64 (n, n) or (n, n_aspects)
        Similarities of the items for mmr and dpp, otherwise their aspects, 0 to 1. Or a pair of aspects and
        their weights, float64 (n_aspects), with the sum 1; without weights aspects are equally likely.
    depth : int, optional
        So many places are filled by the method, and the others by the scores; None = all.
    """
    table, weights = table if isinstance(table, tuple) else (table, None)
    n = len(scores)
    falling = np.argsort(-scores, kind="stable")
    if share == NEUTRAL.get(method) or n < 2 or not table.shape[1]:
        return falling.astype(np.int64, copy=False)
    depth = n if depth is None else min(depth, n)
    with np.errstate(over="ignore"):
        half = 1.0 if np.isfinite(scores[falling[0]] - scores[falling[-1]]) else 0.5  # of huge scores
    above = scores[falling] * half - scores[falling[-1]] * half
    relevance = np.ascontiguousarray(above / above[0] if above[0] > 0 else above, dtype=np.float64)
    order, taken = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.uint8)
    if method in OF_ITEMS:
        similar = np.ascontiguousarray(table[np.ix_(falling, falling)], dtype=np.float64)
        if method == "mmr":
            filled = _greedy.mmr(similar, relevance, share, np.zeros(n), taken, order, depth)
        else:
            left = similar.diagonal().copy()
            factors = np.empty((n, depth))
            filled = _greedy.dpp(similar, relevance, share, _LEAST, factors, left, taken, order, depth)
    else:
        aspects = np.ascontiguousarray(table[falling], dtype=np.float64)
        m = aspects.shape[1]
        weights = np.full(m, 1.0 / m) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if method == "xquad":
            filled = _greedy.xquad(relevance, aspects, weights, share, np.ones(m), taken, order, depth)
        else:
            filled = _greedy.pm2(aspects, weights, share, np.zeros(m), np.empty(m), taken, order, depth)
    order[filled:] = np.flatnonzero(taken == 0)
    return falling[order].astype(np.int64, copy=False)


def diversified(
    method: str,
    share: float,
    scores: Floats,
    offsets: Index,
    tables: Iterable[Table],
    depth: int | None = None,
) -> Floats:
    """Return scores of items in the diversified order of their lists, float64 (n_items).

    The score of an item is the number of items of its list from it on: the last one has 1.

    Parameters
    ----------
    method, share, depth
        As for ``order_of``.
    scores : float64 (n_items)
    offsets : int64 (n_lists + 1)
        The bounds of the lists.
    tables : iterable of array
        A table for each list, as for ``order_of``.
    """
    out = np.empty(len(scores))
    for start, stop, table in zip(offsets[:-1].tolist(), offsets[1:].tolist(), tables, strict=True):
        order = order_of(method, share, scores[start:stop], table, depth)
        out[start + order] = np.arange(stop - start, 0, -1.0)
    return out
