"""Kernels on lists in plain loops: covariances and eigh, scipy's assignment, numpy's determinants."""

import itertools
import math

import numpy as np
from scipy.optimize import linear_sum_assignment


def axes(X, m):
    """Eigenvalues and eigenvectors of the covariance of items (n, d), largest first, at most m above 0."""
    X = np.asarray(X, dtype=float)
    centred = X - X.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(X))
    found = [
        (value, vectors[:, k]) for k, value in enumerate(values) if value > 1e-12 * max(values.max(), 1e-300)
    ]
    return sorted(found, key=lambda pair: -pair[0])[:m]


def cosine(u, v):
    return abs(sum(a * b for a, b in zip(u, v, strict=True)))


def list_kernel(X, Y, m):
    mine, theirs = axes(X, m), axes(Y, m)
    if not mine or not theirs:
        return 0.0
    weights = np.zeros((m, m))
    for i, (a, u) in enumerate(mine):
        for j, (b, v) in enumerate(theirs):
            weights[i, j] = a * b * cosine(u, v)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    norms = [math.sqrt(sum(value**2 for value, _ in some)) for some in (mine, theirs)]
    return weights[rows, columns].sum() / (norms[0] * norms[1])


def list_kernel_by_enumeration(X, Y, m):
    mine, theirs = axes(X, m), axes(Y, m)
    if not mine or not theirs:
        return 0.0
    few, many = sorted((mine, theirs), key=len)
    best = max(
        sum(a * b * cosine(u, v) for (a, u), (b, v) in zip(few, order, strict=True))
        for order in itertools.permutations(many, len(few))
    )
    norms = [math.sqrt(sum(value**2 for value, _ in some)) for some in (mine, theirs)]
    return best / (norms[0] * norms[1])


def angles(X, Y, m):
    return max((cosine(u, v) for _, u in axes(X, m) for _, v in axes(Y, m)), default=0.0)


def subspace_angles(X, Y, m):
    mine, theirs = axes(X, m), axes(Y, m)
    if not mine or not theirs:
        return 0.0
    U, V = (np.array([u for _, u in some]) for some in (mine, theirs))
    return np.linalg.svd(U @ V.T, compute_uv=False)[0]


def bhattacharyya(X, Y, ridge):
    means, covariances = [], []
    for Z in (np.asarray(X, dtype=float), np.asarray(Y, dtype=float)):
        mean = Z.mean(axis=0)
        covariance = ridge * np.eye(Z.shape[1])
        for z in Z:
            covariance += np.outer(z - mean, z - mean) / len(Z)
        means.append(mean)
        covariances.append(covariance)
    joint = 0.5 * (covariances[0] + covariances[1])
    apart = means[0] - means[1]
    logs = [np.linalg.slogdet(c)[1] for c in (joint, *covariances)]
    distance = apart @ np.linalg.solve(joint, apart) / 8 + 0.5 * (logs[0] - 0.5 * (logs[1] + logs[2]))
    return math.exp(-distance)
