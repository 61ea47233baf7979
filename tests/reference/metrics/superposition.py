"""Superpositions of two CA traces by numpy's singular values, tried one after the other."""

from itertools import combinations

import numpy as np

CUTOFFS = (0.5, 1.0, 2.0, 4.0, 8.0)
TIED = 1e-6  # Å², of squared distances


def superposed(a, b, chosen):
    """``a`` turned and shifted so that its chosen points are nearest to those of ``b`` (Kabsch 1976)."""
    middle_a, middle_b = a[chosen].mean(axis=0), b[chosen].mean(axis=0)
    u, _, v = np.linalg.svd((a[chosen] - middle_a).T @ (b[chosen] - middle_b))
    no_mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ v)) or 1.0])
    return (a - middle_a) @ (u @ no_mirror @ v) + middle_b


def squares(a, b, chosen):
    return ((superposed(a, b, chosen) - b) ** 2).sum(axis=1)


def rmsd(a, b):
    return float(np.sqrt(squares(a, b, list(range(len(a)))).mean()))


def d0_of(length):
    return max(0.5, 1.24 * np.cbrt(length - 15) - 1.8)


def counts_of(d2):
    return [int((d2 <= cutoff**2 + TIED).sum()) for cutoff in CUTOFFS]


def subsets(n):
    """Every choice of three and more of n points, or of all if there are fewer."""
    return [list(which) for size in range(min(3, n), n + 1) for which in combinations(range(n), size)]


def fragments(n):
    """Every run of three and more of n points."""
    return [list(range(start, stop)) for start in range(n) for stop in range(start + min(3, n), n + 1)]


def best_of(a, b, length, starts, rounds=20):
    """Largest counts (5) and TM-score over superpositions of ``starts``, refined at each cutoff."""
    best, highest = [0] * 5, 0.0
    for start in starts:
        for cutoff in (*CUTOFFS, 6.0):
            chosen = start
            for _ in range(rounds):
                d2 = squares(a, b, chosen)
                best = [max(pair) for pair in zip(best, counts_of(d2), strict=True)]
                highest = max(highest, float((1 / (1 + d2 / d0_of(length) ** 2)).sum()) / length)
                before, chosen = chosen, [i for i in range(len(a)) if d2[i] <= cutoff**2 + TIED]
                if len(chosen) < 3 or chosen == before:
                    break
    return best, highest
