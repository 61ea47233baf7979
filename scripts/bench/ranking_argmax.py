#!/usr/bin/env python3
"""Predtron's argmax over rankings: CPU microseconds a list, beside scipy and rerank's own general assignment.

    python scripts/bench/ranking_argmax.py [--quick]

Grades as in LETOR (five, most items with the lowest), of two and of three; gains 2^grade - 1. Scores are
random, those of a trained model (grade + noise, divided by 2), the same divided by 20 and 100, at which loss
and margin compete, and zero as before the first update. f is -i, -i^1.1, -i^2 and 1/i. scipy and ``assign``
get the matrix of profits of some of the lists, whose making is not counted, and the totals must be equal.
--quick uses a tenth of the lists.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import arguments, cpu_seconds
from scipy.optimize import linear_sum_assignment

from rerank.core.types import Floats, Ints
from rerank.native.learners import _ranking_argmax
from rerank.similarity import assign

LENGTHS = {30: 2000, 100: 500, 300: 100, 1000: 20}
F = ("-i", "-i^1.1", "-i^2", "1/i")
GRADES = {"five": (0.55, 0.3, 0.1, 0.04, 0.01), "three": (0.6, 0.3, 0.1), "two": (0.7, 0.3)}
SCORES = ("random", "trained", "trained/20", "trained/100", "zero")


def falling(name: str, m: int) -> Floats:
    """Return f at places 1 to m."""
    i = np.arange(1.0, m + 1)
    return 1 / i if name == "1/i" else -(i ** float(name[3:] or 1))


def drawn(rng: np.random.Generator, name: str, grades: Floats) -> Floats:
    """Return scores of items of these grades."""
    if name == "random":
        return rng.standard_normal(grades.shape)
    if name == "zero":
        return np.zeros(grades.shape)
    divisor = float(name.partition("/")[2] or 1) * 2
    return (grades + rng.standard_normal(grades.shape)) / divisor


def rank(scores: Floats, gains: Floats, by_position: Floats, scales: Floats) -> Ints:
    """Return the positions of items (b, m)."""
    b, m = scores.shape
    found = np.empty((2, b * m), dtype=np.int32)
    offsets = np.arange(b + 1) * m
    _ranking_argmax.argmax(offsets, scores.ravel(), gains.ravel(), by_position, scales, found[0], found[1])
    return found[0].reshape(b, m)


def row(rng: np.random.Generator, m: int, b: int, f: str, grades: str, scores: str) -> tuple[float, ...]:
    """Return microseconds a list, and those of scipy and assign."""
    drawn_grades = rng.choice(len(GRADES[grades]), (b, m), p=GRADES[grades]).astype(np.float64)
    gains: Floats = np.exp2(drawn_grades) - 1
    by_position = np.array([1 / np.log2(1 + np.arange(1.0, m + 1)), falling(f, m)])
    ideal = -np.sort(-gains, axis=1) @ by_position[0]
    scales = np.column_stack(
        [1 / np.where(ideal, ideal, 1.0), np.full(b, 1 / np.linalg.norm(by_position[1]))]
    )
    t = drawn(rng, scores, drawn_grades)
    few = max(300 // m, 1)  # lists for the peers
    profits = (
        t[:few, :, None] * (by_position[1] * scales[0, 1])
        - (gains * scales[:, :1])[:few, :, None] * by_position[0]
    )

    def total(columns: Ints) -> float:
        return float(np.take_along_axis(profits, columns.astype(np.int64)[:, :, None], 2).sum())

    def scipy_loop() -> Ints:
        return np.array([linear_sum_assignment(profit, maximize=True)[1] for profit in profits])

    best = total(scipy_loop())
    near = 1e-12 * np.abs(profits).max() * profits[:, 0].size
    assert abs(best - total(rank(t, gains, by_position, scales)[:few])) <= near, "another total than scipy's"
    assert abs(best - total(assign(profits, maximize=True))) <= near, "another total of assign"
    taken = cpu_seconds(partial(rank, t, gains, by_position, scales), 3) / b
    peers = (cpu_seconds(scipy_loop, 1), cpu_seconds(partial(assign, profits, maximize=True), 1))
    return tuple(1e6 * seconds for seconds in (taken, *(peer / len(profits) for peer in peers)))


def main() -> None:
    """Print a row for each length, f and kind of grades: a column for each kind of scores."""
    quick = arguments(__doc__ or "", quick="a tenth of the lists").parse_args().quick
    rng = np.random.default_rng(0)
    print(f"{'items':>5} {'f':7}{'grades':7}" + "".join(f"{name:>13}" for name in SCORES))
    for m, lists in LENGTHS.items():
        b = max(lists // 10, 10) if quick else lists
        found = []
        for f in F:
            for grades in GRADES:
                rows = [row(rng, m, b, f, grades, scores) for scores in SCORES]
                found += rows
                print(f"{m:5} {f:7}{grades:7}" + "".join(f"{own:10.1f} µs" for own, *_ in rows))
        own, scipy, general = np.array(found).T
        print(
            f"{m:5} median {np.median(own):.1f} µs, mean {own.mean():.1f} µs, largest {own.max():.1f} µs; "
            f"scipy {scipy.sum() / own.sum():.0f} x, assign {general.sum() / own.sum():.0f} x"
        )


if __name__ == "__main__":
    main()
