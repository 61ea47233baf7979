"""chrF by the book: n-grams of characters and of words in Counters."""

import string
from collections import Counter

from reference.everything import chosen, plain


def words(text):
    """Words, punctuation at one of their ends apart."""
    out = []
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            out += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in string.punctuation:
            out += [word[0], word[1:]]
        else:
            out.append(word)
    return out


def grams(tokens, n):
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def statistics(metric, text, reference):
    """[n-grams of the text, of the reference, matches] of each order."""
    if metric.lc:
        text, reference = text.lower(), reference.lower()
    out = []
    for count, tokens in (
        (metric.nc, lambda s: list(s if metric.space else "".join(s.split()))),
        (metric.nw, words),
    ):
        for n in range(1, count + 1):
            ours, theirs = grams(tokens(text), n), grams(tokens(reference), n)
            # sacrebleu: no n-gram of a reference, no n-gram of the text
            out.append([ours.total() if theirs else 0, theirs.total(), (ours & theirs).total()])
    return out


def f_score(sums, beta):
    both = [(ours, theirs, match) for ours, theirs, match in sums if ours and theirs]
    if not both:
        return 0.0
    precision = recall = 0.0
    for ours, theirs, match in both:  # one after the other, as sacrebleu adds them
        precision += match / ours
        recall += match / theirs
    precision /= len(both)
    recall /= len(both)
    below = beta**2 * precision + recall
    return 100 * ((1 + beta**2) * precision * recall / below) if below else 0.0


def chosen_statistics(metric, text, references):
    """The statistics of the reference with the largest F-score, the first on ties."""
    of_references = [statistics(metric, text, reference) for reference in references]
    return max(of_references, key=lambda row: f_score(row, metric.beta))


def value(metric, lists, scores, ties):
    """The corpus value of chrF."""
    rows = []
    for part in plain(lists, scores):
        text = part.texts[chosen(part)]
        rows.append(chosen_statistics(metric, text, part.references))
    sums = [[sum(numbers) for numbers in zip(*of_order, strict=True)] for of_order in zip(*rows, strict=True)]
    return f_score(sums, metric.beta)
