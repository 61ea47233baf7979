"""The quantities of Theorems 1 and 2 of Shen & Joshi, pair by pair."""

import numpy as np
from reference.pairs import pairs_of_list, ranks


def bounds(lists, w, relation, function, tau, dimension=0.0):
    """R, largest difference, lambda, k, gamma, mistakes, pairs within the margin, separated lists, pairs.

    ``dimension`` is the value of a column for each item of a list with a pair, in which the weights are 0; a
    vector in them alone that falls by the rank is the other one whose margin is looked at.
    """
    X = lists.features.to_dense().astype(float)
    blocks = []
    for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        judged = first + np.flatnonzero(~np.isnan(lists.labels[first:last]))
        pairs = pairs_of_list(relation, function, lists.labels[judged].tolist())
        if pairs:
            blocks.append((judged, ranks(lists.labels[judged].tolist()), pairs))
    items = np.concatenate([judged for judged, _, _ in blocks])
    X = np.hstack([X[items], dimension * np.eye(len(items))])
    u = np.append(w / max(np.linalg.norm(w), 1e-300), np.zeros(len(items)))
    v = np.append(np.zeros(len(w)), -np.concatenate([rank for _, rank, _ in blocks]))
    v /= np.linalg.norm(v)
    found = [(x, y, g, i) for i, x, y, g in _all_pairs(blocks, X)]
    margins = [min(one @ (x - y) / g for x, y, g, _ in found) for one in (u, v)[: 1 + (dimension > 0)]]
    wrong = [i for x, y, _, i in found if u @ (x - y) <= 0]
    short = sum(0 < u @ (x - y) <= g * tau / max(np.linalg.norm(w), 1e-300) for x, y, g, _ in found)
    return (
        max(np.linalg.norm(x) for x in X),
        max(np.linalg.norm(x - y) for x, y, _, _ in found),
        min(g for _, _, g, _ in found),
        max(len(judged) for judged, _, _ in blocks),
        max(margins),
        len(wrong),
        short,
        len(blocks) - len(set(wrong)),
        len(found),
    )


def _all_pairs(blocks, X):
    first = 0
    for i, (judged, _, pairs) in enumerate(blocks):
        for (j, l), g in pairs.items():
            yield i, X[first + j], X[first + l], g
        first += len(judged)
