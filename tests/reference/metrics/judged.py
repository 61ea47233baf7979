"""bpref, inferred AP and Judged@k of the labels from the top down, as trec_eval and ir_measures have them."""

import math

import numpy as np
from reference.metrics.ranking import over_lists

EPSILON = 0.00001


def bpref(labels, rel, known):
    """``known``: labels of all judged items of the list, retrieved or not."""
    relevant = sum(label >= rel for label in known)
    others = sum(0 <= label < rel for label in known)
    total, above = 0.0, 0
    for label in labels:
        if label >= rel:
            total += 1.0 - min(above, relevant) / min(others, relevant) if above else 1.0
        elif label >= 0:
            above += 1
    return total / relevant if relevant else 0.0


def inferred_ap(labels, rel, known):
    relevant = sum(label >= rel for label in known)
    total = 0.0
    for j, label in enumerate(labels):
        if label >= rel:
            seen = [other for other in labels[:j] if not math.isnan(other)]
            judged = sum(other >= 0 for other in seen)
            good = sum(other >= rel for other in seen)
            precision = (len(seen) / j) * (good + EPSILON) / (judged + 2 * EPSILON) if j else 0.0
            total += 1.0 / (j + 1) + j / (j + 1) * precision
    return total / relevant if relevant else 0.0


def tied_inferred(above, size, seen, group):
    """Precision inferred at a relevant item of ``size`` tied ones, expected over orders, in quadratic time.

    ``seen`` and ``group``: relevant, not relevant and sampled-out items above the group and in it. chance[x]
    is the probability that x of the t items before this one are judged.
    """
    judged, rest = group[0] - 1 + group[1], size - group[0] - group[1]
    x, chance, total = np.arange(judged + 1), np.eye(1, judged + 1)[0], 0.0
    for t in range(size):
        drawn = seen[0] + seen[1] + x
        good = seen[0] + x * (group[0] - 1) / max(judged, 1)
        pooled = drawn + seen[2] + np.maximum(t - x, 0) * group[2] / max(rest, 1)
        part = (chance * pooled * (good + EPSILON) / (drawn + 2 * EPSILON)).sum()
        total += (1 + part) / (above + t + 1)
        more = chance * (judged - x) / max(size - 1 - t, 1)
        chance = chance * np.clip(rest - (t - x), 0, None) / max(size - 1 - t, 1)
        chance[1:] += more[:-1]
    return total / size


def judged_rate(labels, cutoff):
    top = labels[:cutoff]
    return sum(not math.isnan(label) for label in top) / len(top)


def measure_of(metric):
    """The metric as a function of the labels from the top down, of a list that has no others."""
    if metric.family == "Judged":
        return lambda labels: judged_rate(labels, metric.cutoff)
    kind = {"bpref": bpref, "infAP": inferred_ap}[metric.family]
    return lambda labels: kind(labels, metric.rel, labels)


def value(metric, lists, scores, ties):
    """The corpus value of bpref, infAP or Judged@k."""
    return over_lists(measure_of(metric), lists, scores, ties)
