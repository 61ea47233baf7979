"""The perceptron in its dual form, on a table of all kernel values; the mean by adding up all visits."""

import math

import numpy as np
from reference.pairs import pairs_of_list
from reference.perceptron import h_of, violated, worst_pair


def kernel_perceptron(lists, K, relation, function, *, tau, epochs, orders, rivals, budget=None, rule=""):
    """Returns (every version of the coefficients with its visits, [(updates, violated)] an epoch).

    A version begins with each update; the first one is 0. ``orders`` are the visits of each epoch among the
    lists that have a pair. Without a budget the mean of the versions is that of the learner; with one, items
    that left are 0 in all versions before, and with rule "merge" these versions move as the last one does.
    """
    blocks = []
    for first, last in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        labels = lists.labels[first:last]
        pairs = pairs_of_list(relation, function, labels.tolist())
        if pairs:
            place = {j: at for at, j in enumerate(np.lexsort((np.arange(len(labels)), -labels)))}
            ordered = sorted(pairs, key=lambda jl, place=place: (place[jl[0]], place[jl[1]]))
            blocks.append((first, last, ordered, labels))
    versions = [[np.zeros(lists.n_items), 0]]
    came, history = [], []
    for order in orders[:epochs]:
        updates = mistakes = 0
        for v in order:
            first, last, ordered, labels = blocks[v]
            now = versions[-1][0]
            s, h = [math.fsum(row * now) for row in K[first:last]], h_of(function, labels)
            if rivals == "top":
                found = worst_pair(ordered, s, h, tau, labels, "first")
            else:
                found = [(j, l) for j, l in ordered if violated(tau, s, h, j, l)]
            if found:
                new = now.copy()
                for j, l in found:
                    g = 1.0 if rivals == "top" else h[0][j] - h[0][l] + h[1]
                    new[first + j] += g
                    new[first + l] -= g
                changed = np.flatnonzero(new != now).tolist()
                came += [i for i in changed if i not in came]
                versions.append([new, 0])
                while budget is not None and len(came) > budget:
                    remove(versions, K, came, rule)
                updates += 1
                mistakes += len(found)
            versions[-1][1] += 1
        history.append((updates, mistakes))
        if updates == 0:
            break
    return versions, history


def remove(versions, K, came, rule):
    """Take one item out of all versions."""
    now = versions[-1][0]
    out = came[0] if rule == "oldest" else min(came, key=lambda i: abs(now[i]))
    came.remove(out)
    near, share = None, 0.0
    if rule == "merge":
        usable = [j for j in came if K[j, j] > 0 and K[out, j] != 0]
        if usable:
            near = max(usable, key=lambda j: abs(K[out, j]) / np.sqrt(K[j, j]))
            share = K[out, near] / K[near, near]
    for version, _ in versions:
        if near is not None:
            version[near] += share * version[out]
        version[out] = 0.0


def mean(versions):
    """The mean of the coefficients over all visits."""
    return sum(c * n for c, n in versions) / sum(n for _, n in versions)
