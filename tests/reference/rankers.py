"""A ranker for each list by its definition: a set of this list alone, a fit, a division."""

import math

import numpy as np

from rerank.metrics.base import parse


def ranker(base, lists, i, normalise):
    """The weights of list ``i`` as a list of numbers, None if it trains none."""
    one = lists.subset([i])
    judged = [label for label in one.labels.tolist() if not math.isnan(label)]
    if len(set(judged)) < 2:
        return None
    weights = base.fit(one, judge=parse("label@1").prepare(one)).weights.tolist()
    if not any(weights):
        return None
    if normalise == "none":
        return weights
    largest = max(abs(weight) for weight in weights)
    small = [weight / largest for weight in weights]
    norm = math.hypot(*small) if normalise == "l2" else math.fsum(abs(weight) for weight in small)
    return [weight / norm for weight in small]


def all_rankers(base, lists, normalise):
    """Rankers (n_lists, n_features), NaN for lists that train none."""
    none = [math.nan] * lists.n_features
    return np.array([ranker(base, lists, i, normalise) or none for i in range(lists.n_lists)])
