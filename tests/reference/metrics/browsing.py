"""A user who reads down one list: ERR and rank-biased precision, from their definitions."""

import math

import numpy as np
from reference.metrics.ranking import over_lists


def expected_reciprocal_rank(labels, most):
    """Chapelle et al. 2009, algorithm 1."""
    reads, total = 1.0, 0.0
    for place, label in enumerate(labels, start=1):
        stops = (2.0**label - 1.0) / 2.0**most if label > 0 else 0.0
        total += reads * stops / place
        reads *= 1.0 - stops
    return total


def tied_reciprocal_rank(stops, size, above, depth):
    """Expected over the orders of ``size`` tied items below ``above`` others, in quadratic time.

    ``stops``: of the items at which a user may stop. stopped[t]: the chance to stop among the first t, from
    that of one item less, which is among the first t of n items with probability t / n.
    """
    stopped = np.zeros(size + 1)
    for n, stop in enumerate(stops, start=size - len(stops) + 1):
        t = np.arange(1, n + 1)
        stopped[1 : n + 1] = (stopped[1 : n + 1] * (n - t) + (stop + (1 - stop) * stopped[:n]) * t) / n
    return float((np.diff(stopped)[:depth] / (above + np.arange(1, depth + 1))).sum())


def rank_biased_precision(gains, p):
    """Moffat & Zobel 2008, equation 3."""
    return (1.0 - p) * sum(gain * p**i for i, gain in enumerate(gains))


def measure_of(metric, lists):
    """The metric as a function of the labels from the top down."""
    judged = [label for label in lists.labels.tolist() if label > 0]
    most = getattr(metric, "max", None) or max(judged, default=1.0)

    def gain(label):
        if metric.family == "RBP.residual":
            return 0.0 if math.isnan(label) else 1.0
        if metric.graded:
            return label / most if label > 0 else 0.0
        return 1.0 if label >= metric.rel else 0.0

    def measure(labels):
        top = labels[: metric.cutoff]
        if metric.family == "ERR":
            return expected_reciprocal_rank(top, most)
        seen = rank_biased_precision([gain(label) for label in top], metric.p)
        return 1.0 - seen if metric.family == "RBP.residual" else seen

    return measure


def value(metric, lists, scores, ties):
    """The corpus value of ERR, RBP or RBP.residual."""
    return over_lists(measure_of(metric, lists), lists, scores, ties)
