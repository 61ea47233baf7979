"""Ranking SVMs by their definition: every pair stored, and a minimum by coordinate descent of the dual.

Hsieh, Chang, Lin, Keerthi, Sundararajan: A dual coordinate descent method for large-scale linear SVM. ICML
2008.
"""

import math

import numpy as np


def pairs_of(labels, neighbours):
    """Positions (better, worse) of the pairs of a list; NaN labels have none."""
    levels = sorted({label for label in labels if not math.isnan(label)})
    below = dict(zip(levels[1:], levels, strict=False))
    return [
        (i, j)
        for i, x in enumerate(labels)
        for j, y in enumerate(labels)
        if x > y and (not neighbours or below[x] == y)
    ]


def uneven(labels, a, b, power=1.0):
    """1 / rank**power of one item less that of the other."""
    judged = [label for label in labels if not math.isnan(label)]
    p, q = (1 + sum(other > labels[i] for other in judged) for i in (a, b))
    return p**-power - q**-power


def by_label(labels, a, b):
    """The difference of the labels."""
    return labels[a] - labels[b]


class ExplicitPairs:
    """The pairs of all lists: rows of both items, differences of features, weights of sum 1."""

    def __init__(self, lists, *, neighbours=False, list_balance=False, list_weights=None, margin=None):
        self.pairs, self.weight, self.margin = [], [], []
        for i in range(lists.n_lists):
            first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
            found = pairs_of(lists.labels[first:last].tolist(), neighbours)
            given = 1.0 if list_weights is None else list_weights[i]
            found = found if given > 0 else []
            labels = lists.labels[first:last].tolist()
            self.margin += [1.0 if margin is None else margin(labels, a, b) for a, b in found]
            self.pairs += [(first + a, first + b) for a, b in found]
            self.weight += [given / len(found) if list_balance else given for _ in found]
        X = lists.features.to_dense().astype(np.float64)
        self.differences = np.array([X[a] - X[b] for a, b in self.pairs])
        self.weight = np.array(self.weight) / sum(self.weight)
        self.margin = np.array(self.margin) / np.mean(self.margin)

    def lacks(self, w, margin=1.0):
        """What each pair lacks to its margin times ``margin``, 0 if it has it."""
        return np.maximum(0.0, margin * self.margin - self.differences @ w)

    def objective(self, w, strength, loss):
        """|w|² / 2 + C * the weighted mean of the losses."""
        lacks = self.lacks(w)
        return 0.5 * w @ w + strength * self.weight @ (lacks if loss == "l1" else lacks**2)

    def minimum(self, strength, loss, gap=1e-8, epochs=20_000):
        """The weights of a point whose distance from the minimum is at most ``gap``, relative to it."""
        share = strength * self.weight
        most = share if loss == "l1" else np.full(len(share), np.inf)
        own = np.zeros(len(share)) if loss == "l1" else 0.5 / share
        squares = (self.differences**2).sum(axis=1) + own
        alpha, w = np.zeros(len(share)), np.zeros(self.differences.shape[1])
        for _ in range(epochs):
            for p in np.flatnonzero(squares > 0).tolist():
                slope = self.differences[p] @ w - self.margin[p] + own[p] * alpha[p]
                moved = min(max(alpha[p] - slope / squares[p], 0.0), most[p])
                w += (moved - alpha[p]) * self.differences[p]
                alpha[p] = moved
            dual = (alpha * self.margin)[squares > 0].sum() - 0.5 * w @ w - 0.5 * own @ alpha**2
            dual += (share * self.margin)[squares == 0].sum()  # equal items lack g, whatever the weights are
            value = self.objective(w, strength, loss)
            if value - dual <= gap * value:
                return w, value
        raise AssertionError(f"{value - dual} above the minimum {dual}")
