"""RankBoost straight from the paper: every pair and every weak ranker in every round (Freund et al. 2003)."""

import math
import sys

import numpy as np
from reference.pairs import pairs_of_list

from rerank.data.pairs import Margin

LOWEST = -sys.float_info.max
UNIT = 2.0**30


def pairs_of(lists, relation):
    """(list, better item, worse item) of every pair."""
    out = []
    for i in range(lists.n_lists):
        first, last = lists.offsets[i : i + 2].tolist()
        found = pairs_of_list(relation, Margin(), lists.labels[first:last].tolist())
        out += [(i, first + a, first + b) for a, b in found]
    return out


def margins_of(lists, relation, margin):
    """g of every pair (better, worse)."""
    out = {}
    for first, last in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True):
        found = pairs_of_list(relation, margin, lists.labels[first:last].tolist())
        out |= {(first + a, first + b): g for (a, b), g in found.items()}
    return out


def cuts(values, number, spacing):
    """Thresholds of a feature with these values, rising; NaN does not count."""
    known = sorted(v for v in values if not math.isnan(v))
    different = sorted(set(known))
    if len(different) < 2:
        return []
    if spacing == "width" and number is not None:
        low, high = different[0], different[-1]
        width, at, found = (high - low) / number, high, []
        for _ in range(number - 1):
            at -= width
            found.append(math.nextafter(at, math.inf))
        return sorted(t for t in set(found) if t > low)
    if number is None or len(different) - 1 <= number:
        return different[1:]
    above = [v for v in known if v > different[0]]
    return sorted({above[k * len(above) // number] for k in range(number)})


def weak_rankers(X, judged, paired, number, spacing, weak):
    """(feature, threshold or None for the feature itself, h of a missing value) in the order of ties."""
    out = []
    for f in range(X.shape[1]):
        values = [X[i, f] for i in judged]
        defaults = [0, 1] if any(math.isnan(X[i, f]) for i in paired) else [0]
        known = [v for v in values if not math.isnan(v)]
        if weak != "stumps" and known and min(known) < max(known):
            out += [(f, None, q) for q in defaults]
        if weak != "raw":
            at = cuts(values, number, spacing)[::-1]
            if len(defaults) == 2:
                at.append(LOWEST)
            out += [(f, t, q) for t in at for q in defaults]
    return out


def h_of(X, judged, ranker):
    """h of every item."""
    f, t, q = ranker
    known = [X[i, f] for i in judged if not math.isnan(X[i, f])]

    def h(v):
        if math.isnan(v):
            return float(q)
        if t is None:
            return (v - min(known)) / (max(known) - min(known))
        return float(v >= t)

    return [h(v) for v in X[:, f].tolist()]


def chosen(learner, rankers, values, D):
    """The number of the weak ranker of a round and its step, None if there is no further round.

    D: the pairs (better, worse, share).
    """
    gains = [math.fsum(d * (h[a] - h[b]) for a, b, d in D) for h in values]
    worth = [abs(r) for r in gains] if learner.directions == "both" else gains
    if not worth or max(worth) <= 2.0**-26:
        return None
    k = next(k for k, gain in enumerate(worth) if gain >= max(worth) - 1e-10)
    h, r = values[k], max(-1 + 2.0**-20, min(1 - 2.0**-20, gains[k]))
    step = 0.5 * math.log((1 + r) / (1 - r))
    if learner.step == "exact" and rankers[k][1] is not None:
        epsilon = 0.0025 if learner.epsilon is None else learner.epsilon
        right = math.fsum(d for a, b, d in D if h[a] > h[b])
        wrong = math.fsum(d for a, b, d in D if h[a] < h[b])
        step = 0.5 * math.log((right + epsilon) / (wrong + epsilon))
    step = round(learner.learning_rate * step * UNIT) / UNIT
    return None if step == 0 else (k, step)


def rounds(lists, relation, learner, list_weights=None, pair_weights=None, costs=None):
    """The rounds (ranker, step, loss) of a learner's settings, and the scores of all items at the end.

    costs: those of a pair (better, worse) that a round puts right, and puts wrong.
    """
    X = lists.features.to_dense().astype(float)
    pairs = pairs_of(lists, relation)
    paired = {i for _, a, b in pairs for i in (a, b)}
    judged = [i for i, label in enumerate(lists.labels.tolist()) if not math.isnan(label)]
    number = None if learner.thresholds == "all" else learner.thresholds
    rankers = weak_rankers(X, judged, paired, number, learner.spacing, learner.weak)
    values = [h_of(X, judged, ranker) for ranker in rankers]
    weights = [1.0] * len(pairs) if pair_weights is None else list(pair_weights)
    sums = [sum(w for w, (j, *_) in zip(weights, pairs, strict=True) if j == i) for i in range(lists.n_lists)]
    if learner.list_balance:
        weights = [w / (sums[i] or 1.0) for w, (i, *_) in zip(weights, pairs, strict=True)]
    if learner.tau:
        g = margins_of(lists, relation, Margin(learner.margin, learner.margin_power))
        weights = [w * math.exp(learner.tau * g[a, b]) for w, (_, a, b) in zip(weights, pairs, strict=True)]
    if list_weights is not None:
        weights = [w * list_weights[i] for w, (i, *_) in zip(weights, pairs, strict=True)]
    start = math.fsum(weights)
    scores = np.zeros(lists.n_items)
    now = list(weights)
    out = []
    for _ in range(learner.rounds):
        total = math.fsum(now)
        found = chosen(
            learner, rankers, values, [(a, b, w / total) for w, (_, a, b) in zip(now, pairs, strict=True)]
        )
        if found is None:
            break
        k, step = found
        h = values[k]
        scores += step * np.array(h)
        for p, (_, a, b) in enumerate(pairs):
            change = step * (h[a] - h[b])
            right, wrong = (1.0, 1.0) if costs is None else costs[a, b]
            now[p] *= math.exp(-change * (right if change > 0 else wrong))
        out.append((rankers[k], step, math.fsum(now) / start))
    return out, scores
