"""Shen & Joshi's Algorithms 1 and 2, by their pseudo-code, with means taken after each list."""

from __future__ import annotations

import numpy as np
from reference.pairs import pairs_of_list


def violated(tau, s, h_and_c, j, l):
    """z_j <= z_l + c * tau, with z = s - tau * h."""
    h, c = h_and_c
    return s[j] - tau * h[j] <= s[l] - tau * h[l] + c * tau


def h_of(function, labels):
    """h of each item and c, so that g(j, l) = h[j] - h[l] + c."""
    judged = labels[~np.isnan(labels)]
    rank = np.array([1 + np.sum(judged > label) for label in labels], dtype=float)
    if function.margin == "even":
        return np.zeros(len(labels)), 1.0
    if function.margin == "uneven":
        return rank**-function.margin_power, 0.0
    return labels, 0.0


def perceptron(lists, relation, function, *, algorithm, tau, rounds, dimension=0.0, orders=None):
    """Returns (last w, mean w, [(updates, violated)] a round). ``orders`` are the visits of each round
    among the lists that have a pair; default in order."""
    X = lists.features.to_dense().astype(float)
    blocks = []
    for i in range(lists.n_lists):
        rows = slice(lists.offsets[i], lists.offsets[i + 1])
        labels = lists.labels[rows]
        pairs = pairs_of_list(relation, function, labels.tolist())
        if pairs:
            # As the kernels do: pairs by falling label of j, then of l.
            place = {j: at for at, j in enumerate(np.lexsort((np.arange(len(labels)), -labels)))}
            ordered = sorted(pairs, key=lambda jl: (place[jl[0]], place[jl[1]]))
            blocks.append((X[rows], ordered, pairs, h_of(function, labels), np.zeros(len(labels))))
    w = np.zeros(X.shape[1])
    total = np.zeros_like(w)
    visited = 0
    history = []
    for r in range(rounds):
        updates = mistakes = 0
        for v in range(len(blocks)) if orders is None else orders[r]:
            x, ordered, pairs, h, own = blocks[v]
            before = mistakes
            if algorithm == 1:
                for j, l in ordered:
                    s = x @ w + dimension * own
                    if violated(tau, s, h, j, l):
                        g = pairs[j, l]
                        w = w + g * (x[j] - x[l])
                        own[j] += g
                        own[l] -= g
                        mistakes += 1
            else:
                s = x @ w + dimension * own
                u = np.zeros(len(s))
                for j, l in ordered:
                    if violated(tau, s, h, j, l):
                        u[j] += pairs[j, l]
                        u[l] -= pairs[j, l]
                        mistakes += 1
                w = w + u @ x
                own += u
            updates += mistakes > before
            total += w
            visited += 1
        history.append((updates, mistakes))
        if updates == 0:
            break
    return w, total / visited, history
