"""Minimum Bayes risk, pair by pair and item by item."""

import math

import numpy as np

from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse


def metric_of_pair(name, candidate, other):
    """The metric of a text or tree with another one as the only reference; errors are negated."""
    lists = CandidateLists.from_arrays(np.zeros((1, 1)))
    if candidate[:1] == "(":
        columns = {"trees": Forest.from_strings([candidate]), "gold": Forest.from_strings([other])}
    else:
        texts, references = StringColumn.from_strings([candidate]), StringColumn.from_strings([other])
        columns = {"texts": texts, "references": (references,)}
    judge = parse(name).prepare(CandidateLists(lists.offsets, lists.features, **columns))
    return judge.better * float(judge.item_values()[0])


def softmax(scores, temperature):
    """The probabilities of scores / temperature; 0 and inf are the limits, the first item wins ties at 0."""
    if temperature == 0:
        first = scores.index(max(scores))
        return [float(k == first) for k in range(len(scores))]
    if math.isinf(temperature):
        return [1.0 / len(scores)] * len(scores)
    weights = [math.exp((score - max(scores)) / temperature) for score in scores]
    return [weight / sum(weights) for weight in weights]


def gains(table, probabilities):
    """The expected utility of each candidate."""
    return [math.fsum(p * u for p, u in zip(probabilities, row, strict=True)) for row in table]


def choice(gained):
    """The place of the largest gain, the first on ties."""
    return max(range(len(gained)), key=lambda k: (gained[k], -k))


def win_shares(values, samples):
    """The share of samples of the columns in which a row's sum is at least that of the best row."""
    sums = [math.fsum(row) for row in values]
    best = choice(sums)
    won = [0] * len(values)
    for times in samples:
        total = [math.fsum(n * v for n, v in zip(times, row, strict=True)) for row in values]
        for k, one in enumerate(total):
            won[k] += one >= total[best]
    return [n / len(samples) for n in won]
