"""A grid of weights by its definition: every point is judged, in plain Python."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rerank.data.lists import CandidateLists


def scales(text: str) -> list[tuple[str, list[float]]]:
    """The values of each feature."""
    out = []
    for part in text.split(","):
        name, given = part.split("=")
        numbers = [Fraction(one) for one in given.split(":")]
        values = numbers[:1]
        if len(numbers) == 3:
            while values[-1] + numbers[2] <= numbers[1]:
                values.append(values[-1] + numbers[2])
        out.append((name, [float(value) for value in values]))
    return out


def value(lists: CandidateLists, judge: Any, weights: Sequence[float], of_lists: Sequence[float]) -> float:
    """The metric, larger is better: the first of a list's largest scores is chosen."""
    X, sums = lists.features.to_dense(), 0
    for i in range(lists.n_lists):
        rows = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        best = max(rows, key=lambda row: (float(X[row] @ weights), -row))
        sums = sums + of_lists[i] * judge.per_item[best].astype(float)
    return float(judge.better * judge.score_from_sums(sums))


def best(
    lists: CandidateLists, judge: Any, text: str, start: Sequence[float], of_lists: Sequence[float]
) -> tuple[float, list[float], int, int]:
    """The best value, its weights, how many points there are and how many have that value."""
    named = scales(text)
    found = []
    for at in itertools.product(*(range(len(values)) for _, values in named)):
        weights = list(start)
        away = Fraction(0)
        for (name, values), i in zip(named, at, strict=True):
            weights[lists.names().index(name)] = values[i]
            away += Fraction(2 * i - (len(values) - 1), len(values)) ** 2
        reached = value(lists, judge, np.array(weights), of_lists)
        found.append((-reached, away, len(found), weights))
    found.sort(key=lambda one: one[:3])
    return -found[0][0], found[0][3], len(found), sum(one[0] == found[0][0] for one in found)
