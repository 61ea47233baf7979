"""Pairwise accuracy as loops over pairs."""

from reference.everything import NAN, mean, plain
from reference.metrics.ranking import pair_accuracy


def value(metric, lists, scores, ties):
    """The corpus value of PairAcc."""
    counts = [pair_accuracy(part.labels, part.scores) for part in plain(lists, scores)]
    counts = [(right, pairs) for right, pairs in counts if pairs]
    if metric.over == "lists":
        return mean(right / pairs for right, pairs in counts)
    pairs = sum(pairs for _, pairs in counts)
    return sum(right for right, _ in counts) / pairs if pairs else NAN
