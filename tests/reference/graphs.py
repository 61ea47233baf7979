"""Graphs of lists from the whole Gram matrix."""

from __future__ import annotations

import numpy as np


def neighbours_of(row, k, without=None):
    """The columns of the k largest values above 0, the first one on ties."""
    found = [j for j in range(len(row)) if j != without and row[j] > 0]
    return sorted(found, key=lambda j: (-row[j], j))[:k]


def neighbour_graph(K, k, mutual=False):
    """The edges between each list and its k nearest, dense."""
    n = len(K)
    near = [set(neighbours_of(K[i], k, i)) for i in range(n)]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            sides = (j in near[i]) + (i in near[j])
            if sides == 2 or (sides == 1 and not mutual):
                out[i, j] = K[i, j]
    return out
