"""PARSEVAL counts straight from their definition; slow and meant to be obviously right.

Trees are pairs of a label and children, as in reference.trees.
"""

import re
from collections import Counter

from reference.everything import chosen, mean, plain

PUNCTUATION = {",", ":", "``", "''", "."}
DELETED = {"TOP", "S1", "-NONE-", *PUNCTUATION}


def tagged(tree, tag=None):
    """(tag, word) of every word; the tag is None of one that has brothers or sisters."""
    out = []
    for child in tree[1]:
        alone = len(tree[1]) == 1
        out += [(tree[0] if alone else None, child)] if isinstance(child, str) else tagged(child)
    return out


def words(tree):
    """(tag, word) without traces."""
    return [] if tree is None else [pair for pair in tagged(tree) if pair[0] != "-NONE-"]


def brackets(tree, kept):
    """(label, first word, end) of every bracket; ``kept`` marks the words that are counted."""
    found = []

    def walk(node, place):
        """The place after the node in words that are not traces."""
        if isinstance(node, str):
            return place + 1
        label, children = node
        if len(children) == 1 and isinstance(children[0], str):
            return place + (label != "-NONE-")
        end = place
        for child in children:
            end = walk(child, end)
        bare = re.sub("(?s)[-=].*", "", label)
        span = sum(kept[:place]), sum(kept[:end])
        if label and bare not in DELETED and span[0] < span[1]:
            found.append(({"PRT": "ADVP"}.get(bare, bare), *span))
        return end

    if tree is not None:
        walk(tree, 0)
    return found


def cross(a, b):
    shared = max(a[1], b[1]) < min(a[2], b[2])
    a_in_b = b[1] <= a[1] and a[2] <= b[2]
    b_in_a = a[1] <= b[1] and b[2] <= a[2]
    return shared and not a_in_b and not b_in_a


def counts(gold, parse):
    """[matched, gold, test, crossing, length]; ValueError if the numbers of words differ."""
    kept = [tag not in DELETED for tag, _ in words(gold)]
    if parse is not None and len(words(parse)) != len(kept):
        raise ValueError
    right, found = brackets(gold, kept), brackets(parse, kept)
    matched = (Counter(right) & Counter(found)).total()
    crossing = sum(any(cross(bracket, other) for other in right) for bracket in found)
    return [matched, len(right), len(found), crossing, len(kept)]


def value(metric, lists, scores, ties):
    """The corpus value of one of PARSEVAL's measures."""
    rows = [counts(part.gold, part.trees[chosen(part)]) for part in plain(lists, scores)]
    rows = [row for row in rows if metric.max is None or row[4] <= metric.max]
    matched, gold, test = (sum(row[i] for row in rows) for i in range(3))
    ratios = {
        "PARSEVAL": (2 * matched, gold + test),
        "PARSEVAL.LR": (matched, gold),
        "PARSEVAL.LP": (matched, test),
    }
    if metric.family in ratios:
        top, bottom = ratios[metric.family]
        return 100 * top / bottom if bottom else 0.0
    of_sentence = {
        "PARSEVAL.EX": lambda row: 100.0 * (row[0] == row[1] == row[2]),
        "PARSEVAL.CB": lambda row: row[3],
        "PARSEVAL.0CB": lambda row: 100.0 * (row[3] == 0),
        "PARSEVAL.2CB": lambda row: 100.0 * (row[3] <= 2),
        "PARSEVAL.score": lambda row: 2 * row[0] * row[1] / max(1, row[1] + row[2]),
    }[metric.family]
    return mean(map(of_sentence, rows))
