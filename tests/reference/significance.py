"""The paired bootstrap and approximate randomisation as loops over lists."""

from collections.abc import Callable

import numpy as np


def resampled(per_list: np.ndarray, samples: int, seed: int) -> np.ndarray:
    n, width = per_list.shape
    draws = np.random.Generator(np.random.PCG64(seed)).integers(n, size=(samples, n), dtype=np.int32)
    out = np.zeros((samples, width))
    for b in range(samples):
        for t in draws[b]:
            for c in range(width):
                out[b, c] += per_list[t, c]
    return out


def swapped(a: np.ndarray, b: np.ndarray, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n, width = a.shape
    coins = np.random.Generator(np.random.PCG64(seed)).integers(2, size=(samples, n), dtype=np.int32)
    in_a, in_b = np.zeros((samples, width)), np.zeros((samples, width))
    for s in range(samples):
        for t in range(n):
            first, second = (b[t], a[t]) if coins[s, t] else (a[t], b[t])
            in_a[s] += first
            in_b[s] += second
    return in_a, in_b


def shift_p(
    a: np.ndarray, b: np.ndarray, value: Callable[[np.ndarray], float], samples: int, seed: int
) -> float:
    """Two-sided p of the difference value(a) − value(b), each a function of summed statistics."""
    both = resampled(np.concatenate([a, b], axis=1), samples, seed)
    k = a.shape[1]
    d = [value(row[:k]) - value(row[k:]) for row in both]
    mean = sum(d) / len(d)
    real = abs(value(a.sum(axis=0)) - value(b.sum(axis=0)))
    as_extreme = sum(abs(x - mean) >= real for x in d)
    return (as_extreme + 1) / (samples + 1)
