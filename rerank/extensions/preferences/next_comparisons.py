"""Comparisons to ask for next: those that make differences of strengths more certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rerank.core.types import Floats
from rerank.extensions.preferences.models import chances_of


class Next(NamedTuple):
    """A comparison to ask for, and by which share it lowers the mean variance of differences."""

    first: str
    second: str
    reduction: float


def next_comparisons(
    covariance: Floats, strengths: Floats, items: Sequence[str], n: int, tie: float | None = None
) -> list[Next]:
    """Return comparisons that lower the expected mean variance of differences of strengths most, one by one.

    A comparison of i and j adds the information w = p (1 - p) (with ties: the variance of a score) to
    c = e_i - e_j, so that the covariance S loses S c c' S w / (1 + w c' S c). Each is chosen with those
    before it asked for.

    Parameters
    ----------
    covariance : float64 (n_items, n_items)
    strengths : float64 (n_items)
    """
    size = len(strengths)
    p1, _, p2, _ = chances_of(strengths[:, None] - strengths[None, :], tie)
    weight = (p1 + p2 - (p1 - p2) ** 2) / 4
    centre = np.eye(size) - 1 / size
    s = centre @ covariance @ centre
    found = []
    for _ in range(n if size > 1 else 0):
        square = s @ s
        d, e = np.diag(s), np.diag(square)
        spread = d[:, None] + d[None, :] - 2 * s
        drop = weight * (e[:, None] + e[None, :] - 2 * square) / (1 + weight * spread)
        drop[np.tril_indices(size)] = -np.inf
        i, j = divmod(int(np.argmax(drop)), size)
        trace = float(np.trace(s))
        found.append(Next(items[i], items[j], float(drop[i, j]) / trace if trace > 0 else 0.0))
        c = s[:, i] - s[:, j]
        s = s - np.outer(c, c) * (weight[i, j] / (1 + weight[i, j] * spread[i, j]))
    return found
