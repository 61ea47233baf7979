"""Best of k and pass@k, by going through all subsets of k samples."""

import itertools
import math

from reference.everything import mean, plain


def draws(metric, part):
    """The positions that each draw has, None if the list is left out."""
    n = len(part.labels)
    if all(math.isnan(label) for label in part.labels):
        return None
    k = metric.cutoff or n
    if n < k:
        if metric.short == "skip":
            return None
        k = n
    return [range(k)] if metric.draw == "first" else list(itertools.combinations(range(n), k))


def filled(part):
    """The labels, unjudged ones as the lowest or 0."""
    floor = min(0.0, *(label for label in part.labels if not math.isnan(label)))
    return [floor if math.isnan(label) else label for label in part.labels]


def over_draws(metric, lists, scores, measure):
    """The mean over lists of the mean over draws of ``measure(part, labels, draw)``."""
    found = []
    for part in plain(lists, scores):
        drawn = draws(metric, part)
        if drawn is not None:
            found.append(mean([measure(part, filled(part), draw) for draw in drawn]))
    return mean(found)


def value(metric, lists, scores, ties):
    """The corpus value of best@k or pass@k."""

    def best(part, labels, draw):
        top = max(part.scores[i] for i in draw)
        return mean([labels[i] for i in draw if part.scores[i] == top])

    def passed(part, labels, draw):
        return float(any(labels[i] >= metric.rel and labels[i] > 0 for i in draw))

    return over_draws(metric, lists, scores, best if metric.family == "best" else passed)
