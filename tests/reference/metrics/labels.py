"""The mean label, loss and z-score of the chosen items, one list after the other."""

import math
import statistics

from reference.everything import chosen, mean, plain


def value(metric, lists, scores, ties):
    """The corpus value of label@1, loss@1, z@1 or casp-z@1."""
    found = []
    for part in plain(lists, scores):
        judged = [label for label in part.labels if not math.isnan(label)]
        if not judged:
            continue
        label = part.labels[chosen(part)]
        if math.isnan(label):
            label = min(judged) if metric.family in ("z", "casp-z") else min(*judged, 0.0)
        if metric.family == "label":
            found.append(label)
        elif metric.family == "loss":
            found.append(max(judged) - label)
        elif metric.family == "casp-z":
            found.append(casp_z(label, judged, metric))
        elif len(set(judged)) == 1:
            found.append(0.0)
        else:
            found.append(z_score(label, judged, metric))
    return mean(found)


def z_score(label, labels, metric):
    """The z-score of a label among labels that differ."""
    deviation = statistics.stdev if metric.deviation == "sample" else statistics.pstdev
    return (label - statistics.mean(labels)) / deviation(labels)


def casp_z(label, labels, metric):
    """The z-score without the labels that are more than two deviations below the mean, with a floor."""
    kept = labels
    if len(set(labels)) > 1:
        kept = [one for one in labels if z_score(one, labels, metric) >= -2 - 1e-9]
    if len(set(kept)) > 1:
        return max(z_score(label, kept, metric), metric.floor)
    return 0.0 if label in kept else metric.floor
