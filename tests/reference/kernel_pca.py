"""Kernel PCA of one list and of other items in plain loops: explicit centring, whole walk matrices."""

import math

import numpy as np


def distance(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def value(kernel, form, x, y):
    """The value of a kernel that is no diffusion kernel."""
    product = sum(a * b for a, b in zip(x, y, strict=True))
    if kernel == "linear":
        return product
    if kernel.startswith("poly"):
        return product ** int(kernel.removeprefix("poly"))
    s = float(kernel.removeprefix("gaussian:"))
    d = distance(x, y)
    return math.exp(-(d**2) / (2 * s**2)) if form == "squared" else math.exp(-d / (2 * s))


def nearest(distances, k):
    """The places of the k smallest distances, and of those as small as the last of them."""
    last = sorted(distances)[min(k, len(distances)) - 1]
    return [j for j, d in enumerate(distances) if d <= last * (1 + 1e-9)]


def weights(X, k):
    """The weights of the edges of the graph of k nearest neighbours."""
    m = len(X)
    edges = set()
    for i in range(m):
        others = [j for j in range(m) if j != i]
        for at in nearest([distance(X[i], X[j]) for j in others], k):
            edges |= {(i, others[at]), (others[at], i)}
    lengths = [distance(X[i], X[j]) for i, j in edges if distance(X[i], X[j]) > 0]
    shortest = 0.01 * sum(lengths) / len(lengths) if lengths else 1.0
    W = np.zeros((m, m))
    for i, j in edges:
        W[i, j] = 1 / max(distance(X[i], X[j]), shortest)
    return W


def diffusion(X, k, steps):
    """D^1/2 P^steps D^-1/2 for the lazy walk P = (I + D^-1 W) / 2, its mean over equal items."""
    m = len(X)
    if m == 1:
        return np.ones((1, 1))
    W = weights(X, k)
    D = W.sum(axis=1)
    P = np.array([[0.5 * (i == j) + 0.5 * W[i, j] / D[i] for j in range(m)] for i in range(m)])
    walk = np.eye(m)
    for _ in range(steps):
        walk = walk @ P
    K = np.array([[math.sqrt(D[i] / D[j]) * walk[i, j] for j in range(m)] for i in range(m)])
    equal = [[j for j in range(m) if distance(X[i], X[j]) == 0] for i in range(m)]
    return np.array([[K[np.ix_(equal[i], equal[j])].mean() for j in range(m)] for i in range(m)])


def gram(X, kernel, form="squared", k=10):
    if kernel.startswith("diffusion:"):
        return diffusion(X, k, int(kernel.removeprefix("diffusion:")))
    return np.array([[value(kernel, form, x, y) for y in X] for x in X], dtype=float)


def components(K, X, c):
    """(eigenvalues, unit eigenvectors (m, c)) of the centred matrix, signs by the sum of features."""
    m = len(K)
    H = np.eye(m) - np.ones((m, m)) / m
    values, vectors = np.linalg.eigh(H @ K @ H)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = [j for j in range(min(c, m)) if values[j] > 10 * m * 2.3e-16 * np.abs(K).max()]
    sums = X.sum(axis=1)
    signs = [-1.0 if vectors[:, j] @ (sums - sums.mean()) < 0 else 1.0 for j in kept]
    return values[kept], vectors[:, kept] * signs


def columns(test, items, kernel, c, form="squared", k=10):
    """The components of the test list for ``items``, (n, c); absent ones are 0."""
    test, items = np.asarray(test, dtype=float), np.asarray(items, dtype=float)
    K = gram(test, kernel, form, k)
    values, vectors = components(K, test, c)
    own = (K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()) @ vectors / np.sqrt(values)
    out = np.zeros((len(items), c))
    for i, x in enumerate(items):
        if kernel.startswith("diffusion:"):
            distances = [distance(x, y) for y in test]
            if min(distances) == 0:
                chosen = {j: 1.0 for j, d in enumerate(distances) if d == 0}
            else:
                chosen = {j: 1 / distances[j] for j in nearest(distances, k)}
            found = sum(weight * own[j] for j, weight in chosen.items()) / sum(chosen.values())
        else:
            row = np.array([value(kernel, form, x, y) for y in test])
            centred = [row[j] - row.mean() - K[:, j].mean() + K.mean() for j in range(len(test))]
            found = centred @ vectors / np.sqrt(values)
        out[i, : len(values)] = found
    return out
