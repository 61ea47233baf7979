"""Pair relations and margins, written to be obviously right: every pair is looked at."""

import math


def ranks(labels):
    """1 + number of items with a larger label."""
    return [1 + sum(other > label for other in labels) for label in labels]


def related(relation, labels, rank, j, l):
    """Whether item j must beat item l of one list."""
    p, q = rank[j], rank[l]
    if relation.pairs == "all":
        return labels[j] > labels[l] + relation.label_gap
    if relation.pairs == "ordinal":
        return relation.ordinal_factor * p < q and p + relation.ordinal_gap < q
    if relation.pairs == "neighbours":
        return p < q and not any(p < r < q for r in rank)
    if relation.pairs == "best-rest":
        return j == rank.index(1) and q > 1
    top = 1 if relation.split_top == "best" else relation.split_top
    if relation.split_bottom is None:
        return p <= top < q
    return p <= top and q >= relation.split_bottom


def margin(function, labels, rank, j, l):
    """g of a pair."""
    if function.margin == "even":
        return 1.0
    if function.margin == "uneven":
        return rank[j] ** -function.margin_power - rank[l] ** -function.margin_power
    return labels[j] - labels[l]


def pairs_of_list(relation, function, labels):
    """{(j, l): g} over the judged items of one list."""
    judged = [j for j, label in enumerate(labels) if not math.isnan(label)]
    kept = [labels[j] for j in judged]
    rank = ranks(kept)
    return {
        (judged[a], judged[b]): margin(function, kept, rank, a, b)
        for a in range(len(kept))
        for b in range(len(kept))
        if related(relation, kept, rank, a, b)
    }
