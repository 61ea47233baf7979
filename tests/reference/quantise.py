"""Quantised labels of one list, straight from their definitions; k-means by every clustering there is."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

NAN = float("nan")


def best(labels: Sequence[float]) -> list[float]:
    judged = [y for y in labels if not math.isnan(y)]
    return [y if math.isnan(y) else float(y == max(judged)) for y in labels]


def above(labels: Sequence[float], least: float) -> list[float]:
    return [y if math.isnan(y) else float(y > least) for y in labels]


def top(labels: Sequence[float], percent: float) -> list[float]:
    judged = [y for y in labels if not math.isnan(y)]
    larger = [sum(other > y for other in judged) for y in labels]
    share = Fraction(percent) / 100
    return [
        y if math.isnan(y) else float(Fraction(n, len(judged)) < share)
        for y, n in zip(labels, larger, strict=True)
    ]


def chosen(labels: Sequence[float], scores: Sequence[float]) -> list[float]:
    own = labels[scores.index(max(scores))]
    if math.isnan(own):
        own = min((y for y in labels if not math.isnan(y)), default=NAN)
    return above(labels, own)


def spread(cluster: Sequence[float]) -> Fraction:
    """Sum of squared distances to the mean, exactly."""
    values = [Fraction(y) for y in cluster]
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((y - mean) ** 2 for y in values), Fraction(0))


def least_spread(labels: Sequence[float], k: int) -> Fraction:
    """The least total spread of ``k`` clusters that may be empty: every way of cutting the sorted labels."""
    values = sorted(labels)
    cuts = itertools.combinations_with_replacement(range(len(values) + 1), k - 1)
    return min(
        sum(
            (spread(values[a:b]) for a, b in itertools.pairwise((0, *cut, len(values))) if a < b), Fraction(0)
        )
        for cut in cuts
    )
