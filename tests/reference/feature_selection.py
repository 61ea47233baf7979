"""Feature selection by loops over pairs, items and refits."""

import math

import numpy as np


def evidence(lists):
    """Lists within which a feature varies, pairs in order and out of order, squares and products."""
    X = lists.features.to_dense()
    out = np.zeros((5, lists.n_features))
    for i in range(lists.n_lists):
        rows = [r for r in range(*lists.offsets[i : i + 2]) if not math.isnan(lists.labels[r])]
        labels = [lists.labels[r] for r in rows]
        if len(set(labels)) < 2:
            continue
        for f in range(lists.n_features):
            values = [float(X[r, f]) for r in rows]
            out[0, f] += len(set(values)) > 1
            for a, label in zip(values, labels, strict=True):
                for b, other in zip(values, labels, strict=True):
                    out[1, f] += label > other and a > b
                    out[2, f] += label > other and a < b
            mean, middle = math.fsum(values) / len(rows), math.fsum(labels) / len(rows)
            out[3, f] += math.fsum((v - mean) ** 2 for v in values)
            out[4, f] += math.fsum((v - mean) * (y - middle) for v, y in zip(values, labels, strict=True))
    return out


def information_gain(right, wrong, n_pairs):
    """The mutual information, in bits, of which item of a pair is better and how its values compare.

    Both orders of a pair count, so that either item is the better one with probability 1/2.
    """
    joint = {}
    for better in (0, 1):
        joint[better, "larger"] = (right if better == 0 else wrong) / (2 * n_pairs)
        joint[better, "smaller"] = (wrong if better == 0 else right) / (2 * n_pairs)
        joint[better, "equal"] = (n_pairs - right - wrong) / (2 * n_pairs)
    total = 0.0
    for (_, value), p in joint.items():
        of_value = joint[0, value] + joint[1, value]
        total += p * math.log2(p / (0.5 * of_value)) if p > 0 else 0.0
    return total


def backward(learner, lists, n, step, narrowed):
    """The columns that are left, rising: one fit after the other, each on what the one before left."""
    squares = evidence(lists)[3]
    left = [f for f in range(lists.n_features) if squares[f] > 0]
    while len(left) > n:
        size = max(n, min(len(left) - 1, int(len(left) * (1 - step))))
        weights = learner.fit(narrowed(lists, np.array(left))).weights
        worth = [abs(w) * math.sqrt(squares[f]) for w, f in zip(weights, left, strict=True)]
        order = sorted(range(len(left)), key=lambda k: (-worth[k], left[k]))
        left = sorted(left[k] for k in order[:size])
    return left
