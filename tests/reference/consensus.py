"""Consensus rankings in plain loops; Kemeny's by enumeration of all orders, or by sets of items.

Sums are exact if the weights are multiples of 1/8, say.
"""

import itertools
import math
from functools import cache


def borda(scores, weights):
    n = len(scores[0])
    total = [0.0] * n
    for row, weight in zip(scores, weights, strict=True):
        for a in range(n):
            for b in range(n):
                if a != b:
                    total[a] += weight * points(row[a], row[b])
    return [value / sum(weights) for value in total]


def points(own, other):
    return 1.0 if own > other else 0.5 if own == other else 0.0


def mean(scores, weights):
    total = [0.0] * len(scores[0])
    for row, weight in zip(scores, weights, strict=True):
        middle = math.fsum(row) / len(row)
        deviation = math.sqrt(math.fsum((value - middle) ** 2 for value in row) / len(row))
        if min(row) < max(row):
            total = [t + weight * (value - middle) / deviation for t, value in zip(total, row, strict=True)]
    return [value / sum(weights) for value in total]


def distance(found, scores, weights):
    """The weighted Kendall distance between scores found and rankings; 1/2 for a pair that either ties."""
    total = 0.0
    for row, weight in zip(scores, weights, strict=True):
        for a, b in itertools.combinations(range(len(row)), 2):
            product = (points(row[a], row[b]) - 0.5) * (points(found[a], found[b]) - 0.5)
            total += weight * (0.5 - 2 * product)
    return total


def least_distance(scores, weights):
    """The least distance of all strict orders."""
    n = len(scores[0])
    return min(distance(order, scores, weights) for order in itertools.permutations(range(n)))


def least_distance_by_sets(scores, weights):
    """The same for more items: the cost of the best order of a set follows from those of smaller sets."""
    n = len(scores[0])

    def cost(a, b):  # of a above b
        return sum(weight * (1 - points(row[a], row[b])) for row, weight in zip(scores, weights, strict=True))

    costs = [[cost(a, b) if a != b else 0 for b in range(n)] for a in range(n)]

    @cache
    def least(left):
        if not left:
            return 0.0
        return min(sum(costs[a][b] for b in left) + least(left - {a}) for a in left)

    return least(frozenset(range(n)))
