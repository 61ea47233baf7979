"""Coordinate ascent by its definition: all intervals between crossings, the metric of every one."""

import itertools

import numpy as np


def intervals(scores, column, pairs):
    """A point in each interval between the crossings of the pairs, and one beyond either end."""
    found = set()
    for a, b in zip(*pairs, strict=True):
        slope = column[a] - column[b]
        if slope != 0:
            found.add(float((scores[b] - scores[a]) / slope) + 0.0)
    crossings = sorted(found)
    if not crossings:
        return []
    reach = float(np.median(np.abs(crossings))) or 1.0
    middles = [low / 2 + high / 2 for low, high in itertools.pairwise(crossings)]
    return [crossings[0] - reach, *middles, crossings[-1] + reach]


def best_of(judge, scores, column, pairs):
    """The largest metric over all intervals, and the point nearest to 0 that has it."""

    def metric(gamma):
        return judge.better * float(
            judge.score_from_sums(judge.per_list(scores + gamma * column).sum(axis=0))
        )

    points = [(metric(gamma), -abs(gamma), gamma) for gamma in intervals(scores, column, pairs)]
    return max(points, default=None)
