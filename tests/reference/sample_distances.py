"""Distances of two samples by loops over their items."""

import math

import numpy as np


def width2(a, b):
    """The square of the median distance of two different items."""
    both = [*a, *b]
    every = sorted(
        math.dist(x, y) ** 2 for i, x in enumerate(both) for y in both[i + 1 :] if math.dist(x, y) > 1e-9
    )
    middle = len(every) // 2
    return every[middle] if len(every) % 2 else (every[middle - 1] + every[middle]) / 2


def squared_mmd(a, b):
    w2 = width2(a, b)

    def k(x, y):
        return math.exp(-(math.dist(x, y) ** 2) / (2 * w2))

    def within(sample):
        n = len(sample)
        return math.fsum(k(x, y) for i, x in enumerate(sample) for j, y in enumerate(sample) if i != j) / (
            n * (n - 1)
        )

    across = math.fsum(k(x, y) for x in a for y in b) / (len(a) * len(b))
    return within(a) + within(b) - 2 * across


def proxy_a_distance(a, b, rng, folds):
    """2 (1 - 2 e): every fold is left out, the others minimise squares and the penalty by least squares."""
    n = min(len(a), len(b))
    items = [(x, 1.0, i % folds) for i, x in enumerate(a[rng.permutation(len(a))[:n]])]
    items += [(x, -1.0, i % folds) for i, x in enumerate(b[rng.permutation(len(b))[:n]])]
    errors = 0.0
    for k in range(folds):
        seen = [(x, y) for x, y, fold in items if fold != k]
        d, mean = len(seen[0][0]), sum(x for x, _ in seen) / len(seen)
        spread = sum(float((x - mean) @ (x - mean)) for x, _ in seen) / d
        rows = [x - mean for x, _ in seen] + list(math.sqrt(1e-3 * spread) * np.eye(d))
        w = np.linalg.lstsq(np.array(rows), np.array([y for _, y in seen] + [0.0] * d), rcond=None)[0]
        for x, y, fold in items:
            if fold == k:
                score = float((x - mean) @ w)
                errors += 0.5 if score == 0 else float(score * y < 0)
    return 2 * (1 - 2 * errors / len(items))
