"""Losses of single items by their definitions, and their minima by a general solver."""

import math

import numpy as np
from scipy.optimize import minimize


def judged(lists, list_weights=None):
    """(features, label, weight, list) of every judged item in a list of weight above 0."""
    X = lists.features.to_dense().astype(np.float64)
    found = []
    for i in range(lists.n_lists):
        weight = 1.0 if list_weights is None else float(list_weights[i])
        for j in range(int(lists.offsets[i]), int(lists.offsets[i + 1])):
            if not math.isnan(lists.labels[j]) and weight > 0:
                found.append((X[j], float(lists.labels[j]), weight, i))
    return found


def ridge(lists, penalty, list_weights=None, by_list=False):
    """Weights and intercepts: least squares of the rows beside the rows of the penalty."""
    items = judged(lists, list_weights)
    numbers = sorted({i for *_, i in items}) if by_list else [0]
    d = lists.n_features
    rows, targets = [], []
    for x, label, weight, i in items:
        constants = np.zeros(len(numbers))
        constants[numbers.index(i) if by_list else 0] = 1.0
        rows.append(math.sqrt(weight) * np.concatenate([x, constants]))
        targets.append(math.sqrt(weight) * label)
    for j in range(d):
        row = np.zeros(d + len(numbers))
        row[j] = math.sqrt(penalty)
        rows.append(row)
        targets.append(0.0)
    solution = np.linalg.lstsq(np.array(rows), np.array(targets), rcond=None)[0]
    return solution[:d], solution[d:]


def log_loss(lists, w, b, relevant, list_weights=None):
    """The sum over judged items of weight * -log P(class)."""
    total = 0.0
    for x, label, weight, _ in judged(lists, list_weights):
        margin = (1 if label >= relevant else -1) * (float(x @ w) + b)
        total += weight * (max(-margin, 0.0) + math.log1p(math.exp(-abs(margin))))
    return total


def logistic(lists, penalty, relevant, list_weights=None):
    """Weights and intercept by a general solver."""
    d = lists.n_features

    def objective(u):
        return log_loss(lists, u[:d], u[d], relevant, list_weights) + penalty * u[:d] @ u[:d]

    found = minimize(objective, np.zeros(d + 1), method="BFGS", options={"gtol": 1e-8})
    return found.x[:d], found.x[d]
