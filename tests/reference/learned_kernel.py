"""A list kernel learnt from rankers, by plain loops; axes by numpy's decomposition of each covariance."""

import math

import numpy as np


def unlike(items, rankers):
    """How unlike the rankers of lists are: one less the mean correlation on the items of both lists."""

    def correlation(X, a, b):
        u, v = X @ a, X @ b
        u, v = u - u.mean(), v - v.mean()
        norm = math.sqrt(float(u @ u)) * math.sqrt(float(v @ v))
        return float(u @ v) / norm if norm > 0 else 0.0

    n = len(items)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                found = [correlation(items[k], rankers[i], rankers[j]) for k in (i, j)]
                out[i, j] = 1.0 - sum(found) / 2
    return out


def axes(X, k):
    """The first principal axes of a list, as rows; 0 for those that it does not have."""
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    out = np.zeros((k, X.shape[1]))
    kept = [m for m in np.argsort(-values) if values[m] > 1e-12 * values.max()][: min(k, len(X) - 1)]
    for row, m in enumerate(kept):
        out[row] = vectors[:, m]
    return out


def differences(X, Y, k):
    """How two lists differ by each axis and by the scale of each feature."""
    by_axes = [1.0 - abs(float(a @ b)) for a, b in zip(axes(X, k), axes(Y, k), strict=True)]
    scales = [
        math.log(0.01 + x) - math.log(0.01 + y) for x, y in zip(X.std(axis=0), Y.std(axis=0), strict=True)
    ]
    return [*by_axes, *map(abs, scales)]


def similarity(X, Y, weights, k):
    """exp(-sum of weights times differences)."""
    return math.exp(-math.fsum(w * d for w, d in zip(weights, differences(X, Y, k), strict=True)))


def ridge(A, y, strength, rounds=20_000):
    """Weights and a constant, 0 or more, of least mean squared error plus strength * |weights|^2.

    By cyclic coordinate descent, which converges for this convex problem.
    """
    rows = np.hstack([A, np.ones((len(A), 1))])
    penalty = np.array([strength] * A.shape[1] + [1e-12])
    w = np.zeros(rows.shape[1])
    for _ in range(rounds):
        before = w.copy()
        for m in range(len(w)):
            rest = y - rows @ w + rows[:, m] * w[m]
            w[m] = max(
                0.0,
                float(rows[:, m] @ rest) / len(y) / (float(rows[:, m] @ rows[:, m]) / len(y) + penalty[m]),
            )
        if np.abs(w - before).max() < 1e-13:
            break
    return w
