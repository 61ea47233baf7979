"""Preference SVMs by their definition: every pair stored, with the kernel of all pairs as one matrix."""

import numpy as np
from reference.ranksvm import pairs_of


class ExplicitPreferences:
    """The pairs of all lists with their kernel, weights of mean 1, and the maximum of the dual problem."""

    def __init__(self, lists, gram, *, neighbours=False, list_balance=True, list_weights=None):
        self.gram, self.pairs, self.weight, self.of_list = gram, [], [], []
        for i in range(lists.n_lists):
            first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
            given = 1.0 if list_weights is None else list_weights[i]
            found = pairs_of(lists.labels[first:last].tolist(), neighbours) if given > 0 else []
            self.pairs += [(first + a, first + b) for a, b in found]
            self.weight += [given / len(found) if list_balance else given for _ in found]
            self.of_list += [i for _ in found]
        self.weight = np.array(self.weight) / np.mean(self.weight)
        self.better, self.worse = np.array(self.pairs).T
        a, b = self.better, self.worse
        self.kernel = gram[np.ix_(a, a)] + gram[np.ix_(b, b)] - gram[np.ix_(a, b)] - gram[np.ix_(b, a)]

    def separable(self):
        """Which pairs are of items that differ."""
        return np.diag(self.kernel) > 1e-12

    def maximum(self, strength, gap=1e-8, passes=100_000, without=None):
        """The alpha of a point whose objective is at most ``gap`` above the minimum, relative to it.

        Pairs of equal items and those of list ``without`` do not count. Coordinate ascent, pair after pair.
        """
        most = strength * self.weight * self.separable()
        if without is not None:
            most = most * (np.array(self.of_list) != without)
        alpha, margins = np.zeros(len(most)), np.zeros(len(most))
        used = np.flatnonzero(most)
        for _ in range(passes):
            for p in used.tolist():
                moved = np.clip(alpha[p] + (1.0 - margins[p]) / self.kernel[p, p], 0.0, most[p])
                margins += (moved - alpha[p]) * self.kernel[:, p]
                alpha[p] = moved
            square = alpha @ margins
            primal = 0.5 * square + most @ np.maximum(0.0, 1.0 - margins)
            if primal - (alpha.sum() - 0.5 * square) <= gap * primal:
                return alpha, primal
        raise AssertionError("no maximum")

    def scores(self, alpha):
        """The scores of all items."""
        return (self.gram[:, self.better] - self.gram[:, self.worse]) @ alpha
