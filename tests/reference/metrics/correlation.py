"""Correlations from their definitions: values, mean ranks, and signs of all pairs."""

import itertools
import math

from reference.everything import mean, plain


def ranks(values):
    """Ranks from 1, tied values share their mean rank."""
    return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]


def pearson(x, y):
    x, y = ([v - sum(values) / len(values) for v in values] for values in (x, y))
    squares = sum(a * a for a in x) * sum(b * b for b in y)
    return sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(squares) if squares else 0.0


def signs(values):
    """-1, 0 or 1 for each pair: Kendall's tau-b is the cosine of two such vectors."""
    return [(a > b) - (a < b) for a, b in itertools.combinations(values, 2)]


def cosine(x, y):
    squares = sum(a * a for a in x) * sum(b * b for b in y)
    return sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(squares) if squares else 0.0


def value(metric, lists, scores, ties):
    """The corpus value of Spearman, Kendall or Pearson."""
    ways = {"Spearman": (pearson, ranks), "Kendall": (cosine, signs), "Pearson": (pearson, list)}
    of, numbers = ways[metric.family]
    found = []
    for part in plain(lists, scores):
        judged = [j for j, label in enumerate(part.labels) if not math.isnan(label)]
        labels, own = [part.labels[j] for j in judged], [part.scores[j] for j in judged]
        if len(set(labels)) > 1:
            found.append(of(numbers(own), numbers(labels)))
    return mean(found)
