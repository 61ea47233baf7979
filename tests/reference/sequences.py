"""Slow twins of the alignment of sequences: all alignments of short ones, and Gotoh's recursion."""

import functools
import itertools

from rerank.extensions.proteins.matching import BLOSUM62

FIRST, FURTHER = 12, 1
PAIR, ALONE_A, ALONE_B = range(3)


def cost(gap):
    """What a gap of so many letters costs."""
    return FIRST + FURTHER * (gap - 1) if gap else 0


def score_of(a, b, partners):
    """The score of one alignment, given as the place in b of each letter of a, -1 = a gap.

    At each end one of the two may stick out at no cost, the longer one of two that do.
    """
    pairs = [(i, j) for i, j in enumerate(partners) if j >= 0]
    if not pairs:
        return 0
    total = sum(int(BLOSUM62[a[i], b[j]]) for i, j in pairs)
    for (i, j), (k, m) in itertools.pairwise(pairs):
        total -= cost(k - i - 1) + cost(m - j - 1)
    i, j = pairs[-1]
    return total - cost(min(pairs[0])) - cost(min(len(a) - 1 - i, len(b) - 1 - j))


def best_score(a, b):
    """The best score of all alignments of two short sequences."""
    places = itertools.product(range(-1, len(b)), repeat=len(a))
    rising = (one for one in places if (used := [j for j in one if j >= 0]) == sorted(set(used)))
    return max(score_of(a, b, one) for one in rising)


def align(a, b):
    """The score and the partners with the kernel's rules for ties, from the matrices written out in full."""
    m, n = len(a), len(b)

    @functools.cache
    def gap(i, j, kind):
        """(score, longer) of the best alignment of prefixes that ends with a letter alone."""
        before = (i - 1, j) if kind == ALONE_A else (i, j - 1)
        if (kind == ALONE_A and i == 0) or (kind == ALONE_B and j == 0) or i == 0 or j == 0:
            return float("-inf"), False
        opened, longer = best(*before)[0] - FIRST, gap(*before, kind)[0] - FURTHER
        return (longer, True) if longer > opened else (opened, False)

    @functools.cache
    def best(i, j):
        """(score, kind) of the best alignment of prefixes."""
        if i == 0 or j == 0:
            return 0, None
        found = [(best(i - 1, j - 1)[0] + int(BLOSUM62[a[i - 1], b[j - 1]]), PAIR)]
        found += [(gap(i, j, kind)[0], kind) for kind in (ALONE_A, ALONE_B)]
        return max(found, key=lambda one: (one[0], -one[1]))

    ends = [(i, n) for i in range(1, m + 1)] + [(m, j) for j in range(n)]
    i, j = max(ends, key=lambda end: (best(*end)[0], sum(end), end[1] == n))
    score, partners = best(i, j)[0], [-1] * m
    while i and j:
        kind = best(i, j)[1]
        if kind == PAIR:
            i, j = i - 1, j - 1
            partners[i] = j
            continue
        longer = True
        while longer:
            longer = gap(i, j, kind)[1]
            i, j = (i - 1, j) if kind == ALONE_A else (i, j - 1)
    return score, partners
