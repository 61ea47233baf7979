"""BLEU straight from its definitions (Papineni et al. 2002); slow and meant to be obviously right."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from reference.everything import chosen, mean, plain

ORDERS = (1, 2, 3, 4)
Row = list[int]
# What a smoothing adds by default.
USUAL = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}


def ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def statistics(text: str, references: Sequence[str]) -> Row:
    """Matches and totals of n = 1..4, tokens, tokens of the closest reference (the shorter of two)."""
    tokens, others = text.split(), [reference.split() for reference in references]
    matches, totals = [], []
    for n in ORDERS:
        found = ngrams(tokens, n)
        most: Counter[tuple[str, ...]] = Counter()
        for other in others:
            most |= ngrams(other, n)  # the larger count of each
        matches.append((found & most).total())  # the smaller count of each
        totals.append(found.total())
    closest = min((abs(len(other) - len(tokens)), len(other)) for other in others)[1]
    return [*matches, *totals, len(tokens), closest]


def summed(rows: Iterable[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)]


def brevity(length: float, reference: float) -> float:
    if length == 0:
        return 0.0
    return 1.0 if length >= reference else math.exp(1 - reference / length)


def corpus_bleu(sums: Sequence[float], smooth: str = "exp", value: float = 0.0) -> float:
    """0 to 100 of summed statistics; ``value`` is what floor and add-k use."""
    if not any(sums[:4]):
        return 0.0
    logs, halves = 0.0, 0
    for n, matches, total in zip(ORDERS, sums[:4], sums[4:8], strict=True):
        if smooth == "add-k" and n > 1:
            matches, total = matches + value, total + value
        if matches == 0 and smooth == "floor":
            matches = value
        elif matches == 0 and smooth == "exp":
            halves += 1
            matches = 1 / 2**halves
        if matches == 0 or total == 0:
            return 0.0
        logs += math.log(matches / total)
    return 100 * brevity(sums[8], sums[9]) * math.exp(logs / 4)


def bleu_plus_one(row: Row, first: int = 1) -> float:
    """BLEU+1 of one candidate, 0 to 100: orders from ``first`` on are smoothed, by one match more of one
    n-gram more; 0 if an order that is not smoothed has no match."""
    product = Fraction(1)
    for n, matches, total in zip(ORDERS, row[:4], row[4:8], strict=True):
        one = int(n >= first)
        if matches + one == 0:
            return 0.0
        product *= Fraction(matches + one, total + one)
    return 100 * brevity(row[8], row[9]) * float(product) ** 0.25


def best_choice(lists: Sequence[Sequence[Row]], smooth: str = "exp", value: float = 0.0) -> float:
    """The largest corpus BLEU of any choice of one row a list: every choice is tried."""
    return max(corpus_bleu(summed(choice), smooth, value) for choice in itertools.product(*lists))


def value(metric, lists, scores, ties):
    """The corpus value of BLEU or sBLEU."""
    rows = []
    for part in plain(lists, scores):
        text, references = part.texts[chosen(part)], part.references
        if metric.lc:
            text, references = text.lower(), [reference.lower() for reference in references]
        rows.append(statistics(text, references))
    if metric.family == "sBLEU":
        return mean(bleu_plus_one(row, 2 if metric.smooth == "higher" else 1) for row in rows)
    return corpus_bleu(summed(rows), metric.smooth, metric.value or USUAL[metric.smooth])
