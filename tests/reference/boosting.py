"""Boosting straight from the paper: every sum anew in every round (Collins & Koo 2005, Figure 3)."""

import math

import numpy as np
from reference.pairs import ranks

UNITS = 2.0**40


def best_item(labels, base):
    """The item with the largest label; on ties the larger base score, then the first."""
    judged = [j for j, label in enumerate(labels) if not math.isnan(label)]
    if not judged:
        return None
    return max(judged, key=lambda j: (labels[j], 0.0 if base is None else base[j], -j))


def pairs_of(lists, weighted):
    """(list, winner, loser, S) of every pair."""
    out = []
    for i in range(lists.n_lists):
        first, last = lists.offsets[i : i + 2].tolist()
        labels = lists.labels[first:last].tolist()
        base = None if lists.base_scores is None else lists.base_scores[first:last].tolist()
        best = best_item(labels, base)
        for j, label in enumerate(labels):
            if best is not None and label < labels[best]:
                out.append((i, first + best, first + j, labels[best] - label if weighted else 1.0))
    return out


def stumps_of(X):
    """(feature, threshold) of every value but the smallest, where 0 counts as a value."""
    out = []
    for f in range(X.shape[1]):
        out += [(f, t) for t in sorted({0.0, *map(float, X[:, f])})[1:]]
    return out


def differences(X, stumps, pairs):
    """h(winner) - h(loser) of each pair and stump; an item None has the features 0."""

    def h(item, f, t):
        return float((0.0 if item is None else X[item, f]) >= t)

    return [[h(a, f, t) - h(b, f, t) for f, t in stumps] for _, a, b, _ in pairs]


def costs_of(lists, pairs, tau, margin, power=1.0):
    """tau * g of every pair."""
    out = []
    for i, a, b, _ in pairs:
        first, last = lists.offsets[i : i + 2].tolist()
        labels = [label for label in lists.labels[first:last].tolist() if not math.isnan(label)]
        place = dict(zip(labels, ranks(labels), strict=True))
        p, q = (place[lists.labels[item]] for item in (a, b))
        g = {
            "even": 1.0,
            "uneven": p**-power - q**-power,
            "label": lists.labels[a] - lists.labels[b],
        }[margin]
        out.append(tau * g)
    return out


def scanned_weight(base, pairs, costs=None):
    """The best alpha_0 of 0.001, 0.002, ..., 10."""
    costs = costs or [0.0] * len(pairs)

    def loss(alpha):
        return sum(
            s * math.exp(c - alpha * (base[a] - base[b]))
            for c, (_, a, b, s) in zip(costs, pairs, strict=True)
        )

    return min((step / 1000 for step in range(1, 10_001)), key=loss)


def first_largest(gains, total):
    """The first of the largest gains; gains that differ by 1e-10 of the root of the loss are equal."""
    most = max(gains)
    return next(k for k, gain in enumerate(gains) if gain >= most - 1e-10 * math.sqrt(total))


def step_of(up, down):
    """The step, a multiple of 2^-40."""
    return round(0.5 * math.log(up / down) * UNITS) / UNITS


def best_step(g, weight, total, epsilon):
    """The stump with the largest gain and its step, which is 0 if no gain is left.

    g[p][k] is the difference of stump k on pair p, weight[p] the pair's weight, and total their sum.
    """
    stumps = range(len(g[0]))
    up = [math.fsum(w for w, row in zip(weight, g, strict=True) if row[k] > 0) for k in stumps]
    down = [math.fsum(w for w, row in zip(weight, g, strict=True) if row[k] < 0) for k in stumps]
    gains = [abs(math.sqrt(a) - math.sqrt(b)) for a, b in zip(up, down, strict=True)]
    k = first_largest(gains, total)
    if gains[k] ** 2 <= np.finfo(float).eps * total:
        return k, 0.0
    return k, step_of(up[k] + epsilon * total, down[k] + epsilon * total)


def exp_rounds(g, importance, margins, epsilon, rounds, costs=None):
    """The rounds of Figure 3 as (stump, step, loss, errors); fewer if no gain is left.

    g[p][k] is the difference of stump k on pair p; ``costs`` is by how much a pair should be right.
    """
    margins = list(margins)
    costs = costs or [0.0] * len(margins)
    importance = [s * math.exp(c) for s, c in zip(importance, costs, strict=True)]
    out = []
    for _ in range(rounds):
        weight = [s * math.exp(-m) for s, m in zip(importance, margins, strict=True)]
        total = math.fsum(weight)
        k, step = best_step(g, weight, total, epsilon)
        if step == 0:
            break
        margins = [m + step * row[k] for m, row in zip(margins, g, strict=True)]
        loss = math.fsum(s * math.exp(-m) for s, m in zip(importance, margins, strict=True))
        out.append((k, step, loss, sum(m <= 0 for m in margins)))
    return out


def shares_of(groups, margins):
    """q of each pair (equation B.1), and the loss."""
    q, loss = [], 0.0
    for first, last in groups:
        terms = [math.exp(-m) for m in margins[first:last]]
        norm = 1.0 + math.fsum(terms)
        q += [term / norm for term in terms]
        loss += math.log(norm)
    return q, loss


def log_rounds(g, groups, margins, epsilon, rounds, costs=None):
    """The rounds of Appendix B as (stump, step, loss); ``costs`` is by how much a pair should be right."""
    margins = list(margins) if costs is None else [m - c for m, c in zip(margins, costs, strict=True)]
    out = []
    for _ in range(rounds):
        q, _ = shares_of(groups, margins)
        total = math.fsum(q)
        k, step = best_step(g, q, total, epsilon)
        if step == 0:
            break
        margins = [m + step * row[k] for m, row in zip(margins, g, strict=True)]
        out.append((k, step, shares_of(groups, margins)[1]))
    return out


def scaled_step(k, h, lists, scores):
    """BestWt by iterative scaling (4.6), None if the best items lack the stump, and the loss after it.

    h[item][k] is the value of stump k; lists are (best, others) of items, whose scores are given.
    """
    count = sum(h[best][k] for best, _ in lists)

    def expected(step):
        total = 0.0
        for best, others in lists:
            terms = [math.exp(scores[j] + step * h[j][k]) for j in (best, *others)]
            total += sum(t * h[j][k] for t, j in zip(terms, (best, *others), strict=True)) / sum(terms)
        return total

    def loss(step):
        total = 0.0
        for best, others in lists:
            margins = [scores[best] - scores[j] + step * (h[best][k] - h[j][k]) for j in others]
            total += math.log(1.0 + sum(math.exp(-m) for m in margins))
        return total

    if count == 0:
        return None
    step = 0.0
    for _ in range(100):
        change = math.log(count / expected(step))
        step += change
        if abs(change) < 1e-9:
            break
    step = round(step * UNITS) / UNITS
    return step, loss(step)


def scaling_rounds(h, lists, scores, rounds):
    """The rounds of section 4.6 as (stump, step, loss)."""
    scores = list(scores)
    out = []
    for _ in range(rounds):
        found = [scaled_step(k, h, lists, scores) for k in range(len(h[0]))]
        now = log_loss(lists, scores)
        gains = [0.0 if f is None else math.sqrt(max(now - f[1], 0.0)) for f in found]
        k = first_largest(gains, now)
        if gains[k] ** 2 <= np.finfo(float).eps * now:
            break
        step, loss = found[k]
        scores = [s + step * h[j][k] for j, s in enumerate(scores)]
        out.append((k, step, loss))
    return out


def log_loss(lists, scores):
    """The logistic loss of scores."""
    return sum(
        math.log(1.0 + sum(math.exp(scores[j] - scores[best]) for j in others)) for best, others in lists
    )
