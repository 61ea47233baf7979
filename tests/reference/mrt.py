"""Minimum risk by its definition: one list, one item, one sum at a time."""

import math

import numpy as np


def posterior(scores, gamma):
    """The softmax of gamma * the scores of one list."""
    most = max(scores)
    shares = [math.exp(gamma * (score - most)) for score in scores]
    return [share / sum(shares) for share in shares]


def expected_value(lists, judge, v, gamma, list_weights=None):
    """The metric of the expected statistics of all lists, negated if less is better."""
    X = lists.features.to_dense()
    sums = [0.0] * judge.per_item.shape[1]
    for i in range(lists.n_lists):
        rows = range(lists.offsets[i], lists.offsets[i + 1])
        scores = [sum(x * w for x, w in zip(X[row], v, strict=True)) for row in rows]
        weight = 1.0 if list_weights is None else list_weights[i]
        for row, chance in zip(rows, posterior(scores, gamma), strict=True):
            for k, statistic in enumerate(judge.per_item[row]):
                sums[k] += weight * chance * statistic
    return judge.better * float(judge.score_from_sums(np.array(sums)))


def slopes(function, v, step=1e-5):
    """The gradient of a function of a list of numbers, by central differences."""
    found = []
    for j in range(len(v)):
        ends = []
        for sign in (1, -1):
            moved = list(v)
            moved[j] += sign * step
            ends.append(function(moved))
        found.append((ends[0] - ends[1]) / (2 * step))
    return found
