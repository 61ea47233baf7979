"""Edits by the book: the whole matrix, bags as Counters, references one after another."""

from collections import Counter

from reference.everything import chosen, plain


def distance(a, b):
    """Levenshtein's distance of two sequences."""
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j - 1] + (x != y), above[j] + 1, row[j - 1] + 1))
        above = row
    return above[-1]


def bag_edits(a, b):
    """max(len(a), len(b)) less what the bags share."""
    return max(len(a), len(b)) - sum((Counter(a) & Counter(b)).values())


def tokens(text, kind):
    return text.strip() if kind == "CER" else text.split()


def statistics(kind, text, references):
    """[edits, tokens of the reference] of WER, CER or PER: the fewest edits, on ties the longest."""
    edits = bag_edits if kind == "PER" else distance
    candidate = tokens(text, kind)
    known = [tokens(reference, kind) for reference in references]
    best = min(known, key=lambda reference: (edits(candidate, reference), -len(reference)))
    return [edits(candidate, best), len(best)]


def rate(edits, length):
    """Percent; over no tokens 0 without an edit and 100 with any."""
    return 100.0 * (edits / length) if length else 100.0 * (edits > 0)


def value(metric, lists, scores, ties):
    """The corpus value of WER, CER or PER."""
    total = [0, 0]
    for part in plain(lists, scores):
        text, references = part.texts[chosen(part)], part.references
        if metric.lc:
            text, references = text.lower(), [reference.lower() for reference in references]
        row = statistics(metric.family, text, references)
        total = [total[0] + row[0], total[1] + row[1]]
    return rate(*total)
