"""KLIEP by its definition: every difference stored, every Gaussian computed, and the EM algorithm."""

import math

import numpy as np


def log_gaussian(x, c, width):
    """log exp(-|x - c|^2 / 2s^2)."""
    return -sum((a - b) ** 2 for a, b in zip(x, c, strict=True)) / (2.0 * width * width)


def log_sum(logs):
    top = max(logs)
    return top if top == -math.inf else top + math.log(sum(math.exp(value - top) for value in logs))


def pair_differences(X, labels, lengths):
    """Differences x_i - x_j of the items of each list with label i > label j, by label of i, then of j."""
    found, first = [], 0
    for length in lengths:
        rows = [first + k for k in range(length) if not math.isnan(labels[first + k])]
        rows.sort(key=lambda row: -labels[row])
        found += [X[i] - X[j] for i in rows for j in rows if labels[i] > labels[j]]
        first += length
    return found


def log_means(training, centres, width):
    """The log of the mean Gaussian of the training samples around each centre."""
    return [log_sum([log_gaussian(x, c, width) for x in training]) - math.log(len(training)) for c in centres]


def em(densities, steps=200_000, tolerance=1e-10):
    """Proportions of the mixture with the largest likelihood, densities (n_samples, n_densities)."""
    A = np.asarray(densities, dtype=float)
    y = np.full(A.shape[1], 1.0 / A.shape[1])
    for _ in range(steps):
        slope = (A / (A @ y)[:, None]).mean(axis=0)
        if slope.max() <= 1.0 + tolerance:
            break
        y = y * slope
    return y


def log_ratio(x, centres, width, proportions, means):
    """log w(x)."""
    return log_sum(
        [
            math.log(y) + log_gaussian(x, c, width) - mean
            for y, c, mean in zip(proportions, centres, means, strict=True)
            if y > 0
        ]
    )


def fit(training, test, centres, width):
    """Proportions and log means of a width."""
    means = log_means(training, centres, width)
    logs = np.array(
        [[log_gaussian(x, c, width) - m for c, m in zip(centres, means, strict=True)] for x in test]
    )
    return em(np.exp(logs - logs.max(axis=1, keepdims=True))), means


def held_out(training, test, centres, width, parts):
    """The mean log w of the test samples of each part under the fit to the others."""
    total = 0.0
    for part in parts:
        others = [test[k] for other in parts if other is not part for k in other]
        proportions, means = fit(training, others, centres, width)
        total += sum(log_ratio(test[k], centres, width, proportions, means) for k in part)
    return total / len(test)
