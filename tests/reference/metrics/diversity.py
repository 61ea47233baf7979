"""Measures of diversity of one list, straight from their definitions and from ndeval's description."""

import math

import numpy as np
from reference.everything import mean, plain
from reference.metrics.ranking import orders


def judgements_of(lists, i, rel):
    """Documents relevant to each subtopic of list ``i``, if there are any, and whether it is judged."""
    lines = [line.split("\t") for line in lists.subtopics[i].splitlines()]
    found = {}
    for subtopic, document, grade in lines:
        if float(grade) >= rel:
            found.setdefault(subtopic, set()).add(document)
    return found, bool(lines)


def gains(documents, relevant, alpha):
    """The gain of each document from the top down, which falls with the relevant ones above."""
    seen = dict.fromkeys(relevant, 0)
    out = []
    for document in documents:
        own = [subtopic for subtopic, good in relevant.items() if document in good]
        out.append(sum((1 - alpha) ** seen[subtopic] for subtopic in own))
        for subtopic in own:
            seen[subtopic] += 1
    return out


def greedy(documents, relevant, alpha):
    """The order in which each document has the largest gain, on ties the larger id."""
    left, order = sorted(documents, key=str.encode, reverse=True), []
    while left:
        best = max(left, key=lambda one: gains([*order, one], relevant, alpha)[-1])  # the first on ties
        order.append(best)
        left.remove(best)
    return order


def of_order(metric, relevant, documents):
    """The metric of documents from the top down."""
    if not relevant:
        return 0.0
    family, k = metric.family, getattr(metric, "cutoff", None)
    n = len(relevant)
    top = documents[:k]
    if family == "strec":
        return sum(any(document in good for document in top) for good in relevant.values()) / n
    if family == "P-IA":
        return sum(document in good for good in relevant.values() for document in top) / (n * k)
    if family == "AP-IA":
        total = 0.0
        for good in relevant.values():
            places = [place for place, document in enumerate(documents, 1) if document in good]
            total += sum(hit / place for hit, place in enumerate(places, 1)) / len(good)
        return total / n
    alpha = metric.alpha

    def weight(place):
        if family in ("NRBP", "nNRBP"):
            return metric.beta ** (place - 1)
        return 1 / place if "ERR" in family else 1 / math.log2(1 + place)

    def summed(order):
        return sum(gain * weight(place) for place, gain in enumerate(gains(order[:k], relevant, alpha), 1))

    if family == "NRBP":
        return summed(documents) * (1 - (1 - alpha) * metric.beta) / n
    if family in ("ERR-IA", "alpha-DCG"):
        return summed(documents) / sum(n * (1 - alpha) ** i * weight(i + 1) for i in range(k))
    known = set().union(*relevant.values())
    return summed(documents) / summed(greedy(known, relevant, alpha))


def value(metric, lists, scores, ties):
    """The corpus value, a mean over the lists with a judgement."""
    found = []
    for i, part in enumerate(plain(lists, scores)):
        relevant, judged = judgements_of(lists, i, metric.rel)
        if not judged:
            continue
        if ties == "trec":
            allowed = [
                sorted(
                    range(len(part.ids)),
                    key=lambda j: (np.float32(part.scores[j]), part.ids[j].encode()),
                    reverse=True,
                )
            ]
        elif ties == "input":
            allowed = [sorted(range(len(part.ids)), key=lambda j: -part.scores[j])]
        else:
            allowed = list(orders(part.scores))
        values = [of_order(metric, relevant, [part.ids[j] for j in order]) for order in allowed]
        found.append(math.fsum(values) / len(values))
    return mean(found)
