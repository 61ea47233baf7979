"""BLEU as the papers write it: n-grams as tuples in Counters, one list after the other."""

from __future__ import annotations

import itertools
import math
from collections import Counter


def ngrams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def statistics(text, references):
    """4 matches, 4 totals, tokens, tokens of the closest reference (of two as close, the shorter)."""
    tokens = text.split()
    others = [reference.split() for reference in references]
    matches, totals = [], []
    for n in (1, 2, 3, 4):
        limits = Counter()
        for other in others:
            limits |= ngrams(other, n)  # the larger of two counts
        matches.append((ngrams(tokens, n) & limits).total())  # the smaller of two counts
        totals.append(max(0, len(tokens) - n + 1))
    closest = min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
    return [*matches, *totals, len(tokens), closest]


def bleu(sums, smooth="exp", value=None):
    """Corpus BLEU, 0 to 100; add-k adds to n > 1, each to all n."""
    matches, totals, length, reference = list(sums[:4]), list(sums[4:8]), sums[8], sums[9]
    if length == 0 or (smooth != "each" and not any(matches)):
        return 0.0
    value = {"floor": 0.1, "add-k": 1.0, "each": 1.0}.get(smooth) if value is None else value
    product, halved = 1.0, 1.0
    for n, (match, total) in enumerate(zip(matches, totals, strict=True), 1):
        if smooth == "each" or (smooth == "add-k" and n > 1):
            match, total = match + value, total + value
        if total == 0:
            return 0.0
        if match == 0 and smooth == "exp":
            halved /= 2
            match = halved
        elif match == 0 and smooth == "floor":
            match = value
        product *= match / total
    return 100 * min(1.0, math.exp(1 - reference / length)) * product ** (1 / 4)


def best_choice(lists, smooth="exp"):
    """The largest corpus BLEU of one row of statistics a list, every choice tried."""
    return max(
        bleu([sum(column) for column in zip(*choice, strict=True)], smooth)
        for choice in itertools.product(*lists)
    )
