"""Keep margins, list by list and margin by margin: the slow twin of data.leads and learners.keep_first."""

import itertools
import math

import numpy as np


def first_best(lists):
    """The first stage's item of each list."""
    return [
        max(range(lists.offsets[i], lists.offsets[i + 1]), key=lambda j: (lists.first_best[j], -j))
        for i in range(lists.n_lists)
    ]


def chosen(lists, scores, margin):
    """The item of each list that a margin leaves or puts on top."""
    out = []
    scores = scores.tolist()
    for i, first in enumerate(first_best(lists)):
        best = max(range(lists.offsets[i], lists.offsets[i + 1]), key=lambda j: (scores[j], -j))
        out.append(best if scores[best] - scores[first] > margin else first)
    return out


def leads(lists, scores):
    """How far the best item of each list leads the first-best."""
    best = chosen(lists, scores, 0.0)
    return [scores[j] - scores[f] for j, f in zip(best, first_best(lists), strict=True)]


def switched(lists, scores, margin):
    """Lists where another item is chosen than the first stage's, and another text if there are texts."""
    pairs = zip(chosen(lists, scores, margin), first_best(lists), strict=True)
    if lists.texts is None:
        return sum(a != b for a, b in pairs)
    return sum(lists.texts[a] != lists.texts[b] for a, b in pairs)


def best_margin(lists, judge, scores):
    """(margin, value): every margin between two leads tried, from infinite down; the first of the best."""
    steps = sorted({0.0, *leads(lists, scores)}, reverse=True)
    margins = [math.inf, *((a + b) / 2 for a, b in itertools.pairwise(steps))]
    tried = []
    for margin in margins:
        sums = sum(np.array(judge.per_item[j]) for j in chosen(lists, scores, margin))
        value = float(judge.score_from_sums(sums))
        tried.append((-math.inf if math.isnan(value) else judge.better * value, margin))
    best = max(value for value, _ in tried)
    return next(
        (margin, judge.better * value) for value, margin in tried if value >= best - 1e-12 * abs(best)
    )
