"""Greedy orders by relevance and diversity, straight from the papers: slow, obviously right."""

import math

import numpy as np


def relevance_of(scores):
    low, high = min(scores), max(scores)
    return [0.0 if high == low else (one - low) / (high - low) for one in scores]


def order_of(method, share, scores, table, depth=None):
    """The items in order, on ties the more relevant one next.

    ``table`` are similarities, or aspects and, in a last row, their weights.
    """
    relevance, n = relevance_of(scores), len(scores)
    falling = sorted(range(n), key=lambda i: (-scores[i], i))
    chosen = []
    while len(chosen) < (n if depth is None else min(depth, n)):
        left = [i for i in falling if i not in chosen]
        gains = [GAINS[method](i, chosen, share, relevance, table) for i in left]
        if max(gains) == -math.inf:
            break
        chosen.append(left[gains.index(max(gains))])
    return chosen + [i for i in falling if i not in chosen]


def mmr(i, chosen, share, relevance, similar):
    """Carbonell & Goldstein 1998, equation 1."""
    return share * relevance[i] - (1 - share) * max((similar[i][j] for j in chosen), default=0.0)


def dpp(i, chosen, share, relevance, similar):
    """Chen et al. 2018, equation 9: the gain of the logarithm of the determinant, from determinants alone."""
    minor = np.array(similar)[np.ix_([*chosen, i], [*chosen, i])]
    before = np.array(similar)[np.ix_(chosen, chosen)]
    ratio = np.linalg.det(minor) / (np.linalg.det(before) if chosen else 1.0)
    return share * relevance[i] + (1 - share) * math.log(ratio) if ratio > 1e-10 else -math.inf


def xquad(i, chosen, share, relevance, aspects):
    """Santos et al. 2010, equations 1 and 5."""
    likely = aspects[-1]
    diversity = sum(
        p * aspects[i][a] * math.prod(1 - aspects[j][a] for j in chosen) for a, p in enumerate(likely)
    )
    return (1 - share) * relevance[i] + share * diversity


def pm2(i, chosen, share, relevance, aspects):
    """Dang & Croft 2012, algorithm 2; without a value above 0 it ends."""
    likely, m = aspects[-1], len(aspects[0])
    seats = [sum(aspects[j][a] / sum(aspects[j]) for j in chosen) for a in range(m)]
    quotients = [p / (2 * one + 1) for p, one in zip(likely, seats, strict=True)]
    turn = quotients.index(max(quotients))
    gain = sum((share if a == turn else 1 - share) * quotients[a] * aspects[i][a] for a in range(m))
    return gain if gain > 0 else -math.inf


GAINS = {"mmr": mmr, "dpp": dpp, "xquad": xquad, "pm2": pm2}
