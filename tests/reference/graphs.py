"""Graphs of lists from the whole Gram matrix, and harmonic functions on them by exact or dense algebra."""

from fractions import Fraction

import numpy as np


def neighbours_of(row, k, without=None, least=0.0):
    """The columns of the k largest values above one, the first one on ties."""
    found = [j for j in range(len(row)) if j != without and row[j] > least]
    return sorted(found, key=lambda j: (-row[j], j))[:k]


def neighbour_graph(K, k, mutual=False):
    """The edges between each list and its k nearest, dense."""
    n = len(K)
    near = [set(neighbours_of(K[i], k, i, 1e-280)) for i in range(n)]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            sides = (j in near[i]) + (i in near[j])
            if sides == 2 or (sides == 1 and not mutual):
                out[i, j] = K[i, j]
    return out


def reached(K, labelled):
    """Whether a path of edges leads to a labelled node."""
    found = labelled.copy()
    for _ in range(len(K)):
        found |= (K[found] > 0).any(axis=0)
    return found


def harmonic(K, labelled, values):
    """-L_uu^-1 L_ul W_l with L = D - K, by a dense solver; NaN for nodes that are not reached."""
    u = reached(K, labelled) & ~labelled
    L = np.diag(K.sum(axis=1)) - K
    out = np.full((len(K), values.shape[1]), np.nan)
    out[labelled] = values
    out[u] = -np.linalg.solve(L[np.ix_(u, u)], L[np.ix_(u, labelled)] @ values)
    return out


def exact_harmonic(K, labelled, values):
    """The same in fractions, by Gauss' elimination: exact for weights of any magnitude."""
    u = np.flatnonzero(reached(K, labelled) & ~labelled).tolist()
    given = dict(zip(np.flatnonzero(labelled).tolist(), values.tolist(), strict=True))
    rows = []
    for i in u:
        row = [-Fraction(K[i, j]) for j in u]
        row[len(rows)] += sum(map(Fraction, K[i]))
        rows.append(row + [sum(Fraction(K[i, l]) * Fraction(w[c]) for l, w in given.items())
                           for c in range(values.shape[1])])  # fmt: skip
    n = len(u)
    for k in range(n):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    out = np.full((len(K), values.shape[1]), np.nan)
    out[labelled] = values
    for k, i in enumerate(u):
        out[i] = [float(x) for x in rows[k][n:]]
    return out


def smoothness(K, values):
    """The sum of K_ij |w_i - w_j|^2 over pairs of nodes with values (eq. 8.3)."""
    known = [i for i in range(len(K)) if not np.isnan(values[i]).any()]
    return sum(K[i, j] * np.sum((values[i] - values[j]) ** 2) for i in known for j in known)
