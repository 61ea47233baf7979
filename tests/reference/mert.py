"""The line search of MERT by definition: exact fractions, every crossing of any two lines of a list."""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np


def chosen_at(gamma, scores, slopes, offsets):
    """The item of each list that is highest at gamma, the earliest on ties."""
    out = []
    for start, stop in pairwise(offsets):
        out.append(max(range(start, stop), key=lambda j: (scores[j] + gamma * slopes[j], -j)))
    return out


def intervals(scores, slopes, offsets, stats):
    """(lower, upper, sums) of all intervals between crossings at which the statistics change."""
    scores = [Fraction(float(s)) for s in scores]
    slopes = [Fraction(float(s)) for s in slopes]
    crossings = set()
    for start, stop in pairwise(offsets):
        for i, j in combinations(range(start, stop), 2):
            if slopes[i] != slopes[j]:
                crossings.add((scores[i] - scores[j]) / (slopes[j] - slopes[i]))
    ends = [None, *sorted(crossings), None]
    found = []
    for lower, upper in pairwise(ends):
        inside = _inside(lower, upper)
        rows = [tuple(stats[j]) for j in chosen_at(inside, scores, slopes, offsets)]
        if found and found[-1][2] == rows:
            found[-1] = (found[-1][0], upper, rows)
        else:
            found.append((lower, upper, rows))
    return [
        (
            -math.inf if lower is None else float(lower),
            math.inf if upper is None else float(upper),
            np.array(rows, dtype=float).sum(axis=0),
        )
        for lower, upper, rows in found
    ]


def _inside(lower, upper):
    if lower is None:
        return Fraction(0) if upper is None else upper - 1
    return lower + 1 if upper is None else (lower + upper) / 2


def best_interval(found, score_from_sums, better):
    """(objective, lower, upper) of the best interval: on ties nearest to 0, then widest."""
    best = None
    for lower, upper, sums in found:
        value = better * float(score_from_sums(sums))
        if math.isnan(value):
            continue
        gap = max(lower, -upper, 0.0)
        key = (value, -gap, upper - lower)
        if best is None or key > best[0]:
            best = (key, (value, lower, upper))
    return best and best[1]
