"""Similarities of vectors, straight from their definitions: slow and obviously correct."""

import math


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y, strict=True))


def cosine(x, y):
    lengths = math.sqrt(dot(x, x)) * math.sqrt(dot(y, y))
    return dot(x, y) / lengths if lengths else 0.0


def similarities(sizes, items, queries=None):
    """A dictionary of features for each item."""
    out, start = [], 0
    for i, size in enumerate(sizes):
        own = items[start : start + size]
        for k, x in enumerate(own):
            f = {}
            if queries is not None:
                f["cosine"], f["dot"] = cosine(x, queries[i]), dot(x, queries[i])
                f["distance"] = math.dist(x, queries[i])
            others = [cosine(x, y) for j, y in enumerate(own) if j != k]
            f["centrality"] = sum(others) / len(others) if others else 0.0
            out.append(f)
        start += size
    return out
