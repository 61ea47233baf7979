"""Discriminants by their definitions: one list, label and pair of labels after the other."""

from itertools import combinations

import numpy as np
from scipy.linalg import eigh


def by_label(lists, i):
    """The judged items of list i, an array for each label that it has."""
    X = lists.features.to_dense().astype(np.float64)
    rows = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
    labels = sorted({lists.labels[j] for j in rows if not np.isnan(lists.labels[j])})
    return {y: np.array([X[j] for j in rows if lists.labels[j] == y]) for y in labels}


def around(groups):
    """Equation 5.1: the means of groups around the mean of all their items; nothing for one group."""
    if len(groups) < 2:
        return 0.0
    mean = np.concatenate(groups).mean(axis=0)
    return sum(np.outer(group.mean(axis=0) - mean, group.mean(axis=0) - mean) for group in groups)


def scatters(lists, ridge, weights=None):
    """W with its ridge, B, B_ij by pair of labels, and the weight of the lists that have both."""
    d = lists.n_features
    W, T, B, of_pairs, count = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d)), {}, {}
    for i in range(lists.n_lists):
        weight = 1.0 if weights is None else weights[i]
        groups = by_label(lists, i)
        if not groups or weight == 0:
            continue
        for group in groups.values():
            apart = group - group.mean(axis=0)
            W += weight * apart.T @ apart
        everything = np.concatenate(list(groups.values()))
        T += weight * (everything - everything.mean(axis=0)).T @ (everything - everything.mean(axis=0))
        B += weight * around(list(groups.values()))
        for a, b in combinations(groups, 2):
            of_pairs[a, b] = of_pairs.get((a, b), 0.0) + weight * around([groups[a], groups[b]])
            count[a, b] = count.get((a, b), 0.0) + weight
    return W + ridge * np.diag(np.diag(T)), B, of_pairs, count


def fisher(lists, ridge, weights=None):
    """The largest ratios aᵀBa / aᵀWa, falling, and their vectors with aᵀWa = 1; features must vary."""
    W, B, _, _ = scatters(lists, ridge, weights)
    values, vectors = eigh(B, W)
    return values[::-1], vectors[:, ::-1]


def criterion(lists, ridge, beta, a, weights=None):
    """Algorithm 5, line 3, of a vector, which is scaled to aᵀWa = 1 first."""
    W, _, of_pairs, count = scatters(lists, ridge, weights)
    a = a / np.sqrt(a @ W @ a)
    value = sum(a @ B @ a for B in of_pairs.values())
    most = max(count.values())
    for (i, j), outer in of_pairs.items():
        for (r, z), inner in of_pairs.items():
            if (i <= r < z < j) or (i < r < z <= j):
                violation = most / count[r, z] * (a @ inner @ a) - most / count[i, j] * (a @ outer @ a)
                value -= beta * max(0.0, violation)
    return value
