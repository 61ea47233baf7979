"""The scale that turns scores into probabilities of being the best item of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rerank.core.errors import DataError, FitError
from rerank.core.types import Floats, Index, Mask
from rerank.data.folds import folds
from rerank.data.overlap import copy_groups
from rerank.data.pairs import Pairs
from rerank.learners.preference.fits import Fits

_GRID = 121  # scales from 0.001 to 1000 times the inverse of the scores' deviation within lists
_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 60  # of golden sections, each of which shortens an interval to 0.618 of it


class Scale(NamedTuple):
    """A scale, the mean of -log P(best) over lists with it, and whether a larger one would be better."""

    scale: float
    loss: float
    at_end: bool


def learnt_scale(fits: Fits, pairs: Pairs, list_weights: Floats, strength: float, k: int) -> Scale:
    """Return the scale of the largest likelihood of the best items, by scores of models of other lists.

    The lists with pairs are divided into ``k`` folds; copies of a list stay together. The lists of a fold are
    scored by the minimum over the pairs of all others, under the same C.

    Raises
    ------
    FitError
        If there are fewer lists than folds.
    """
    every = copy_groups(fits.lists)
    copies = [every[i] for i in pairs.lists.tolist()]
    try:
        parts = folds(pairs.n_lists, k, key=copies if len(set(copies)) < len(copies) else None)
    except DataError as error:
        raise FitError(f"{fits.lists.source}: probability=true: {error}") from None
    limits, numbers = fits.limits(strength), fits.pairs.numbers[pairs.items]
    fold_of_list = np.full(fits.lists.n_lists, -1)
    for number, part in enumerate(parts):
        fold_of_list[pairs.lists[part.test]] = number
    fold_of = fold_of_list[fits.pairs.of_list]
    fold_of_item = np.repeat(fold_of_list[pairs.lists], np.diff(pairs.offsets))
    scores = np.empty(len(numbers))
    for number in range(k):
        found = fits.solution(np.where(fold_of == number, 0.0, limits))
        rows = np.flatnonzero(fold_of_item == number)
        scores[rows] = found.scores[numbers[rows]]
    return best_scale(scores, pairs.rank == 1, pairs.offsets, list_weights[pairs.lists])


def best_scale(scores: Floats, best: Mask, offsets: Index, weights: Floats) -> Scale:
    """Return the scale s of the largest sum over lists of log P, in which P is the softmax of s * scores.

    With several best items P is the sum of theirs.

    Parameters
    ----------
    scores
        float64 (n_items).
    best
        bool (n_items), one or more of each list.
    offsets
        int64 (n_lists + 1).
    weights
        float64 (n_lists).
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    away = scores - np.repeat(np.add.reduceat(scores, starts) / lengths, lengths)
    unit = float(np.sqrt(np.mean(away**2)))

    def value(scale: float) -> float:
        every = _log_sums(scale * away, starts, lengths)
        good = _log_sums(np.where(best, scale * away, -np.inf), starts, lengths)
        return float(np.sum(weights * (every - good)) / weights.sum())

    if not unit > 0.0:
        return Scale(0.0, value(0.0), False)
    grid = np.concatenate([[0.0], 10.0 ** np.linspace(-3.0, 3.0, _GRID) / unit])
    losses = [value(scale) for scale in grid.tolist()]
    at = int(np.argmin(losses))
    at_end = losses[-1] == losses[at]  # without errors the loss falls to 0, and remains there
    if at == 0 or at_end:
        return Scale(float(grid[at]), losses[at], at_end and at > 0)
    scale = _least(value, float(grid[at - 1]), float(grid[at + 1]))
    return Scale(scale, value(scale), False)


def _log_sums(values: Floats, starts: Index, lengths: Index) -> Floats:
    """The logarithm of the sum of exp(values) of each list."""
    tops = np.maximum.reduceat(values, starts)
    with np.errstate(under="ignore"):
        sums: Floats = tops + np.log(np.add.reduceat(np.exp(values - np.repeat(tops, lengths)), starts))
    return sums


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The place of a minimum between two bounds, by golden sections."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = value(a), value(b)
    for _ in range(_STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = value(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = value(b)
    return 0.5 * (low + high)
