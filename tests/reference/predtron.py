"""Predtron for rankings by its definition: by enumeration for short lists, by scipy for longer ones."""

import itertools
import math

import numpy as np
from scipy.optimize import linear_sum_assignment


def gain(learner, label):
    """The gain of a label."""
    label = max(label, 0.0)
    return 2.0**label - 1.0 if learner.gain == "exponential" else label


def discount(learner, place):
    """The discount of a place from 1."""
    return 0.0 if learner.cutoff is not None and place > learner.cutoff else 1.0 / math.log2(1 + place)


def vector(learner, ranking):
    """The unit vector of a ranking, which has the place (from 1) of each item."""
    if learner.positions == "reciprocal":
        values = np.array([1.0 / place for place in ranking])
    else:
        values = np.array([-(float(place) ** learner.exponent) for place in ranking])
    return values / np.linalg.norm(values)


def loss(learner, ranking, gains):
    """1 - nDCG."""
    best = sum(g * discount(learner, i + 1) for i, g in enumerate(sorted(gains, reverse=True)))
    return 1.0 - sum(g * discount(learner, place) for g, place in zip(gains, ranking, strict=True)) / best


def is_correct(learner, ranking, gains):
    """Whether the gains at the places that count are the largest ones."""
    depth = len(gains) if learner.cutoff is None else learner.cutoff
    placed = [g for _, g in sorted(zip(ranking, gains, strict=True))]
    return placed[:depth] == sorted(gains, reverse=True)[:depth]


def places_of(order):
    """The place of each item from the item at each place."""
    places = np.empty(len(order), dtype=int)
    places[list(order)] = np.arange(1, len(order) + 1)
    return places


def predicted(t, gains):
    """The ranking by falling scores, on ties by rising gains, then the first item."""
    return places_of(sorted(range(len(t)), key=lambda i: (-t[i], gains[i], i)))


def nearest_correct(learner, t, gains):
    """The ranking without loss that has the largest product with t, on ties the first item."""
    order = sorted(range(len(t)), key=lambda i: (-gains[i], i if learner.ties == "index" else (-t[i], i)))
    depth = len(t) if learner.cutoff is None else learner.cutoff
    if learner.ties == "score":
        order[depth:] = sorted(order[depth:], key=lambda i: (-t[i], gains[i], i))
    return places_of(order)


def in_score_order(ranking, t, gains):
    """Whether items of one gain are ranked by their scores, on ties the first item first."""
    pairs = itertools.permutations(range(len(t)), 2)
    return all(ranking[i] < ranking[j] for i, j in pairs if gains[i] == gains[j] and (-t[i], i) < (-t[j], j))


def worst(learner, t, gains):
    """The ranking of the largest loss plus product with t."""
    m = len(t)
    if m <= 6:
        rankings = [np.array(p) for p in itertools.permutations(range(1, m + 1))]
        rankings = [ranking for ranking in rankings if in_score_order(ranking, t, gains)]
        return max(rankings, key=lambda r: loss(learner, r, gains) + vector(learner, r) @ t)
    best = sum(g * discount(learner, i + 1) for i, g in enumerate(sorted(gains, reverse=True)))
    f = vector(learner, range(1, m + 1))
    profit = [[t[i] * f[p] - gains[i] * discount(learner, p + 1) / best for p in range(m)] for i in range(m)]
    places = linear_sum_assignment(np.array(profit), maximize=True)[1] + 1
    for g in set(gains):
        same = [i for i in range(m) if gains[i] == g]
        places[sorted(same, key=lambda i: (-t[i], i))] = sorted(places[same])
    return places


def update(learner, t, gains):
    """The loss of the prediction, and what is added to each item's coefficient for a step of 1."""
    guess = predicted(t, gains)
    if is_correct(learner, guess, gains):
        return None
    made = loss(learner, guess, gains)
    driven = learner.variant == "loss-driven"
    wrong = guess if driven else worst(learner, t, gains)
    difference = vector(learner, nearest_correct(learner, t, gains)) - vector(learner, wrong)
    return made, difference * (made if driven else 1.0)


def link(theta, q):
    """The gradient of half the squared q-norm, by its formula."""
    norm = np.linalg.norm(theta, q)
    return np.zeros_like(theta) if norm == 0 else np.sign(theta) * np.abs(theta) ** (q - 1) / norm ** (q - 2)


def used_lists(learner, lists):
    """The rows and gains of each list that has two gains, unjudged items left out; its number."""
    for i, (first, last) in enumerate(itertools.pairwise(lists.offsets.tolist())):
        rows = [j for j in range(first, last) if not math.isnan(lists.labels[j])]
        gains = [gain(learner, lists.labels[j]) for j in rows]
        if len(set(gains)) > 1:
            yield i, rows, gains


def fit(learner, lists, eta, start=None, list_weights=None, gram=None):
    """The weights, and (updates, mean loss) of each round; with a Gram matrix the coefficients of items."""
    X = lists.features.to_dense().astype(float)
    used = list(used_lists(learner, lists))
    w = np.zeros(X.shape[1] if gram is None else len(X)) if start is None else start.copy()
    q = math.log(len(w)) if learner.norm == "p" else None
    theta = w if q is None else link(w, q / (q - 1))
    rng = np.random.default_rng(learner.seed)
    after, curve = [], []
    for _ in range(learner.epochs):
        order = rng.permutation(len(used)) if learner.shuffle else range(len(used))
        updates, losses = 0, 0.0
        for v in order:
            i, rows, gains = used[v]
            step = eta * (1.0 if list_weights is None else list_weights[i])
            if step == 0:
                continue
            found = update(learner, X[rows] @ w if gram is None else gram[rows] @ w, gains)
            if found is not None:
                updates += 1
                losses += found[0]
                theta = theta.copy()
                if gram is None:
                    theta += step * X[rows].T @ found[1]
                else:
                    theta[rows] += step * found[1]
                w = theta if q is None else link(theta, q)
            after.append(w)
        curve.append((updates, losses / len(used)))
        if updates == 0:
            break
    return (np.mean(after, axis=0) if learner.average == "average" else w), curve
