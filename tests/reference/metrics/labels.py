"""The mean label, loss and z-score of the chosen items, one list after the other."""

from __future__ import annotations

import math
import statistics

from reference.everything import chosen, mean, plain


def value(metric, lists, scores, ties):
    """The corpus value of label@1, loss@1 or z@1."""
    found = []
    for part in plain(lists, scores):
        judged = [label for label in part.labels if not math.isnan(label)]
        if not judged:
            continue
        label = part.labels[chosen(part)]
        if math.isnan(label):
            label = min(judged) if metric.family == "z" else min(*judged, 0.0)
        if metric.family == "label":
            found.append(label)
        elif metric.family == "loss":
            found.append(max(judged) - label)
        elif len(set(judged)) == 1:
            found.append(0.0)
        else:
            deviation = statistics.stdev if metric.deviation == "sample" else statistics.pstdev
            found.append((label - statistics.mean(judged)) / deviation(judged))
    return mean(found)
