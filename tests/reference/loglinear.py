"""Log-linear models by their definition: one list after the other, exact fractions of probability."""

import math

import numpy as np


def targets_of(labels, base, targets, sharpness):
    """The target of each judged item of a list; None if no two labels differ."""
    if len(set(labels)) < 2:
        return None
    top = max(labels)
    tied = [label == top for label in labels]
    if targets == "best":
        scores = [0.0 if b is None or math.isnan(b) else b for b in base]
        absent = [b is None or math.isnan(b) for b in base]
        best = min((j for j, t in enumerate(tied) if t), key=lambda j: (absent[j], -scores[j], j))
        return [float(j == best) for j in range(len(labels))]
    if targets == "tied":
        return [t / sum(tied) for t in tied]
    if targets == "any":
        return [float(t) for t in tied]
    shares = [math.exp(sharpness * (label - top)) for label in labels]
    return [share / sum(shares) for share in shares]


def cost_of(labels, margin, tau, power=1.0):
    """tau * g of the best item and each item that is not best."""
    ranks = [1 + sum(other > label for other in labels) for label in labels]
    g = {
        "even": lambda label, rank: 1.0,
        "uneven": lambda label, rank: 1.0 - rank**-power,
        "label": lambda label, rank: max(labels) - label,
    }[margin]
    return [tau * g(*one) if one[1] > 1 else 0.0 for one in zip(labels, ranks, strict=True)]


def loss(lists, w, targets="best", sharpness=0.0, list_weights=None, margin="even", tau=0.0):
    """The sum over lists of weight * -log P(target)."""
    X = lists.features.to_dense().astype(np.float64)
    total = 0.0
    for i in range(lists.n_lists):
        items = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
        items = [j for j in items if not math.isnan(lists.labels[j])]
        base = [None if lists.base_scores is None else lists.base_scores[j] for j in items]
        target = targets_of([lists.labels[j] for j in items], base, targets, sharpness)
        if target is None:
            continue
        costs = cost_of([lists.labels[j] for j in items], margin, tau)
        scores = [float(X[j] @ w) + cost for j, cost in zip(items, costs, strict=True)]
        most = max(scores)
        log_z = most + math.log(sum(math.exp(s - most) for s in scores))
        weight = 1.0 if list_weights is None else list_weights[i]
        if targets == "any":
            total -= weight * math.log(
                sum(math.exp(s - log_z) for s, t in zip(scores, target, strict=True) if t)
            )
        else:
            total -= weight * sum(t * (s - log_z) for s, t in zip(scores, target, strict=True) if t)
    return total


def gradient(lists, w, **how):
    """The gradient of ``loss`` by central differences."""
    out = np.zeros(len(w))
    for k in range(len(w)):
        step = np.zeros(len(w))
        step[k] = 1e-5
        out[k] = (loss(lists, w + step, **how) - loss(lists, w - step, **how)) / 2e-5
    return out
