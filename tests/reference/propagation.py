"""Ranker propagation by dense linear algebra: rankers, Gram matrix, graph, solution, scores."""

from collections import deque

import numpy as np
from reference import consensus, list_kernels
from reference.graphs import neighbour_graph, neighbours_of
from reference.rankers import all_rankers


def items(lists, columns=None):
    """The features of each list, (n_items, n_features)."""
    X = np.asarray(lists.features.to_dense(), dtype=float)
    parts = [X[lists.offsets[i] : lists.offsets[i + 1]] for i in range(lists.n_lists)]
    return parts if columns is None else [part[:, columns] for part in parts]


def gram(mine, theirs, settings):
    """The similarity of lists given as arrays of their items."""

    def similarity(X, Y):
        if settings.kernel == "bhattacharyya":
            return list_kernels.bhattacharyya(X, Y, settings.ridge)
        name = {"list": "list_kernel", "angles": "angles", "angles-subspace": "subspace_angles"}
        return getattr(list_kernels, name[settings.kernel])(X, Y, settings.components)

    return np.array([[similarity(X, Y) for Y in theirs] for X in mine])


def solved(graph, labelled, rankers):
    """W_u = -L_uu^-1 L_ul W_l, NaN for nodes that no labelled one reaches."""
    n = len(graph)
    reached = np.zeros(n, dtype=bool)
    queue = deque(np.flatnonzero(labelled).tolist())
    while queue:
        i = queue.popleft()
        if not reached[i]:
            reached[i] = True
            queue.extend(np.flatnonzero(graph[i] > 0).tolist())
    W = np.full((n, rankers.shape[1]), np.nan)
    W[labelled] = rankers
    u = reached & ~labelled
    L = np.diag(graph.sum(axis=1)) - graph
    if u.any():
        W[u] = -np.linalg.inv(L[np.ix_(u, u)]) @ L[np.ix_(u, labelled)] @ rankers
    return W


def smoothness_parts(graph, W):
    """The sum over j of K_ij |w_i - w_j|^2 for each i, of nodes that have a ranker; NaN for others."""
    known = np.flatnonzero(~np.isnan(W).any(axis=1))
    out = np.full(len(W), np.nan)
    for i in known:
        out[i] = sum(graph[i, j] * float(((W[i] - W[j]) ** 2).sum()) for j in known)
    return out


def transductive(train, test, settings, columns=None):
    """Scores (n_items of test), the rankers of the test lists (NaN if not reached), and parts of smoothness.

    ``train`` and ``test`` are scaled, ``columns`` those that the kernel reads.
    """
    given = all_rankers(settings.base_learner, train, settings.normalise)
    trained = ~np.isnan(given).any(axis=1)
    lists = items(train, columns) + items(test, columns)
    K = gram(lists, lists, settings)
    k = len(K) if settings.neighbours == "all" else settings.neighbours
    graph = neighbour_graph(K, k, settings.graph == "mutual")
    labelled = np.append(trained, np.zeros(test.n_lists, dtype=bool))
    W = solved(graph, labelled, given[trained])
    own = W[train.n_lists :]
    used = np.where(np.isnan(own), given[trained].mean(axis=0), own)
    scores = np.concatenate([X @ w for X, w in zip(items(test), used, strict=True)])
    return scores, own, smoothness_parts(graph, W)


def inductive(train, test, settings, columns=None):
    """Scores by the merged rankings of the rankers of the nearest training lists."""
    given = all_rankers(settings.base_learner, train, settings.normalise)
    trained = ~np.isnan(given).any(axis=1)
    K = gram(items(train, columns), items(train, columns), settings)
    k = len(K) if settings.neighbours == "all" else settings.neighbours
    W = solved(neighbour_graph(K, k, settings.graph == "mutual"), trained, given[trained])
    nodes = np.flatnonzero(~np.isnan(W).any(axis=1))
    near = gram(items(test, columns), [items(train, columns)[i] for i in nodes], settings)
    scores = []
    for X, row in zip(items(test), near, strict=True):
        chosen = neighbours_of(row, min(k, len(nodes)))
        if chosen:
            rows = [(X @ W[nodes[j]]).tolist() for j in chosen]
            scores += getattr(consensus, settings.merge)(rows, [row[j] for j in chosen])
        else:
            scores += (X @ given[trained].mean(axis=0)).tolist()
    return np.array(scores)
