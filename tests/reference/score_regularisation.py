"""Slow and obviously correct: scores smoothed over a graph of a list's items, in loops."""

import math
import re


def words_of(text):
    return re.findall(r"\w+", text.casefold())


def text_affinity(texts, i, j):
    """The cosine of sublinear tf-idf vectors of two texts."""
    n = len(texts)

    def vector(text):
        words = words_of(text)
        out = {}
        for word in set(words):
            d = sum(word in words_of(other) for other in texts)
            out[word] = (1 + math.log(words.count(word))) * (1 + math.log((1 + n) / (1 + d)))
        return out

    a, b = vector(texts[i]), vector(texts[j])
    norms = math.sqrt(sum(x * x for x in a.values())) * math.sqrt(sum(x * x for x in b.values()))
    return sum(a[word] * b[word] for word in a if word in b) / norms if norms else 0.0


def feature_affinity(rows, i, j):
    """A Gaussian whose width is the median distance of different items."""
    every = sorted(math.dist(x, y) for k, x in enumerate(rows) for y in rows[k + 1 :] if math.dist(x, y) > 0)
    if not every:
        return 1.0
    middle = len(every) // 2
    width = every[middle] if len(every) % 2 else (every[middle - 1] + every[middle]) / 2
    return math.exp(-(math.dist(rows[i], rows[j]) ** 2) / (2 * width**2))


def edges_of(affinity, n, k):
    """The weights of the edges between items, of which one is among the k nearest of the other."""

    def near(i, j):
        if k is None:
            return True
        others = sorted((affinity(i, m) for m in range(n) if m != i), reverse=True)
        return affinity(i, j) >= others[min(k, len(others)) - 1] * (1 - 1e-9)

    return [
        [affinity(i, j) if i != j and (near(i, j) or near(j, i)) else 0.0 for j in range(n)] for i in range(n)
    ]


def smoothed(scores, edges, alpha, steps=2000):
    """z <- alpha S z + (1 - alpha) z_0 until it rests, in units of the scores."""
    n = len(scores)
    mean = sum(scores) / n
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / n)
    if deviation == 0 or alpha == 0:
        return list(scores)
    degrees = [sum(row) for row in edges]
    start = [(score - mean) / deviation for score in scores]
    z = start
    for _ in range(steps):
        z = [
            alpha
            * sum(
                edges[i][j] / math.sqrt(degrees[i] * degrees[j]) * z[j] for j in range(n) if edges[i][j] > 0
            )
            + (1 - alpha) * start[i]
            for i in range(n)
        ]
    return [mean + deviation * value for value in z]


def objective(z, start, edges, alpha):
    """What the solution minimises (Zhou et al. 2003, eq. 4), for items that all have an edge."""
    n = len(z)
    degrees = [sum(row) for row in edges]
    rough = sum(
        edges[i][j] * (z[i] / math.sqrt(degrees[i]) - z[j] / math.sqrt(degrees[j])) ** 2
        for i in range(n)
        for j in range(n)
    )
    return rough / 2 + (1 / alpha - 1) * sum((a - b) ** 2 for a, b in zip(z, start, strict=True))
