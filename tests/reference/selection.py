"""Selective reranking, list by list: slow and plain."""

import itertools
import math

import numpy as np


def confidences(lists, scores, baseline):
    """Margin, gap, evenness of the softmax and the baseline's lead, of each list."""
    rows = []
    for low, high in itertools.pairwise(lists.offsets.tolist()):
        own, other = scores[low:high].tolist(), baseline[low:high].tolist()
        top = sorted(own, reverse=True)
        gap = top[0] - top[1] if len(top) > 1 else math.inf
        theirs = sorted(other, reverse=True)
        lead = theirs[0] - theirs[1] if len(theirs) > 1 else math.inf
        margin = max(own) - own[other.index(max(other))]
        deviation = float(np.std(own))
        powers = [math.exp((x - float(np.mean(own))) / (deviation or 1.0)) for x in own]
        entropy = -sum(x / sum(powers) * math.log(x / sum(powers)) for x in powers)
        rows.append((margin, gap, 1 - entropy / math.log(max(len(own), 2)), -lead))
    return np.array(rows)


def curve(value, baseline, system, confidence):
    """The mean value over all orders of lists of equal confidence, with the system on 0, 1, ... lists.

    value : returns the metric of the statistics of all lists.
    """
    n = len(confidence)
    orders = [
        order
        for order in itertools.permutations(range(n))
        if all(confidence[a] >= confidence[b] for a, b in itertools.pairwise(order))
    ]
    found = []
    for k in range(n + 1):
        values = []
        for order in orders:
            rows = [system[i] if i in order[:k] else baseline[i] for i in range(n)]
            values.append(value(rows))
        found.append(sum(values) / len(values))
    return found


def controlled(confidence, losses, alpha):
    """How many lists can use the system: of the surest, groups of equal confidence being whole."""
    n, most = len(losses), 0
    for least in sorted(set(confidence), reverse=True):
        some = [loss for sure, loss in zip(confidence, losses, strict=True) if sure >= least]
        if (sum(some) + 1) / (n + 1) <= alpha + 1e-12:
            most = max(most, len(some))
    return most
