"""Pseudo-margins with every pair and every weak ranker in every round (Duh 2009, chapter 7)."""

import itertools
import math

import numpy as np
from reference.rankboost import chosen, h_of, pairs_of, weak_rankers

TIE = 1e-10


def unlabelled_pairs(method, scores, labels):
    """Pairs (i, j), i < j, of one list with unadapted scores and, for oracle pairs, labels."""
    every = list(itertools.combinations(range(len(scores)), 2))
    if method.pairs == "all":
        return every
    if method.pairs == "halves":
        order = sorted(scores)
        n = len(order)
        low, high = order[(n - 1) // 2], order[n // 2]
        top = {i for i in range(n) if (scores[i] >= high if high > low else scores[i] > high)}
        bottom = {i for i in range(n) if (scores[i] <= low if high > low else scores[i] < low)}
        return [(i, j) for i, j in every if (i in top and j in bottom) or (j in top and i in bottom)]
    gap = method.base_learner.label_gap
    return [(i, j) for i, j in every if abs(labels[i] - labels[j]) > gap]


def losses(method, labelled, unlabelled, F, G):
    """The labelled and the unlabelled part of the loss: F of the labelled items, G of the list's."""
    weights, gamma = [w for *_, w in labelled], method.gamma
    first = math.fsum(w * math.exp(F[b] - F[a]) for a, b, w in labelled)
    each = [abs(G[i] - G[j]) for i, j in unlabelled]
    if method.direction == "maximise":
        second = math.fsum(math.exp(-d) for d in each)
    else:
        second = math.fsum(2 * math.cosh(d) for d in each)
    return first, gamma * math.fsum(weights) / len(unlabelled) * second


def signed(method, factor, unlabelled, G):
    """The unlabelled pairs of a round as (better, worse, weight) of items of the list."""
    out = []
    for i, j in unlabelled:
        if method.direction == "minimise":
            out += [(i, j, factor * math.exp(G[j] - G[i])), (j, i, factor * math.exp(G[i] - G[j]))]
        elif abs(G[i] - G[j]) > TIE:
            a, b = (i, j) if G[i] > G[j] else (j, i)
            out.append((a, b, factor * math.exp(G[b] - G[a])))
    return out


def rounds(method, lists, relation, X_list, unlabelled, signed=signed, losses=losses):
    """The rounds (ranker, step, sum of both losses) of pairs of a list with features X_list."""
    learner = method.base_learner
    X = np.vstack([lists.features.to_dense().astype(float), X_list])
    n = lists.n_items
    pairs = pairs_of(lists, relation)
    counts = {i: sum(j == i for j, *_ in pairs) for i in range(lists.n_lists)}
    labelled = [(a, b, 1.0 / counts[i] if learner.list_balance else 1.0) for i, a, b in pairs]
    of_list = list(range(n, len(X)))
    judged = [i for i, label in enumerate(lists.labels.tolist()) if not math.isnan(label)] + of_list
    of_labelled = {i for a, b, _ in labelled for i in (a, b)}
    paired = of_labelled | {n + i for pair in unlabelled for i in pair}
    number = None if learner.thresholds == "all" else learner.thresholds
    rankers = weak_rankers(X, judged, paired, number, learner.spacing, learner.weak)
    values = [np.array(h_of(X, judged, ranker)) for ranker in rankers]
    factor = method.gamma * math.fsum(w for *_, w in labelled) / len(unlabelled)
    F, out = np.zeros(len(X)), []
    for _ in range(learner.rounds):
        now = [(a, b, w * math.exp(F[b] - F[a])) for a, b, w in labelled]
        now += [(n + a, n + b, w) for a, b, w in signed(method, factor, unlabelled, F[n:])]
        total = math.fsum(w for *_, w in now)
        found = chosen(learner, rankers, values, [(a, b, w / total) for a, b, w in now])
        if found is None:
            break
        k, step = found
        F = F + step * values[k]
        out.append((rankers[k], step, sum(losses(method, labelled, unlabelled, F[:n], F[n:]))))
    return out, F
