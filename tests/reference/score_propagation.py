"""Propagation of rankers of any kind: the harmonic score vectors of each list, by dense linear algebra."""

import math

import numpy as np
from reference.propagation import gram, items, solved


def graph_of(X, kernel, neighbours):
    """Edges of lists of which one is among the nearest of the other, by similarity."""

    class Settings:
        components = 5
        ridge = 0.01

    Settings.kernel = kernel
    K = gram(X, X, Settings)
    n = len(X)
    k = n - 1 if neighbours == "all" else min(neighbours, n - 1)
    out = np.zeros((n, n))
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j: (-K[i, j], j))
        for j in order[:k]:
            if K[i, j] > 0:
                out[i, j] = out[j, i] = K[i, j]
    return out


def standardised(scores):
    """Scores with mean 0 and deviation 1, or 0 if all are equal."""
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [0.0 if deviation == 0 else (score - mean) / deviation for score in scores]


def scores_of(base, train, test, kernel, neighbours):
    """For each test list: the score vectors of all nodes on its items, harmonic but for those of rankers."""
    graph = graph_of([*items(train), *items(test)], kernel, neighbours)
    models = {i: base.fit(train.subset([i])) for i in range(train.n_lists) if _has_pair(train, i)}
    labelled = np.zeros(len(graph), dtype=bool)
    labelled[list(models)] = True
    out = []
    for u in range(test.n_lists):
        one = test.subset([u])
        known = np.array([standardised(model.score(one).tolist()) for model in models.values()])
        found = solved(graph, labelled, known)[train.n_lists + u]
        out.append(known.mean(axis=0) if np.isnan(found).any() else found)
    return np.concatenate(out)


def _has_pair(lists, i):
    labels = lists.labels[lists.offsets[i] : lists.offsets[i + 1]]
    return len(set(labels[~np.isnan(labels)].tolist())) > 1
