"""Predtron's tasks on examples with classes, by their definitions: every prediction is tried."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

REJECT = "REJECT"
_EQUAL = 1e-10  # values closer than this are tied


@dataclass
class Task:
    """``rep(prediction)``, a unit vector; ``loss(prediction, label)``; ``apart``: see ``best``."""

    predictions: list[Any]
    rep: Any
    loss: Any
    apart: Any = None

    def __post_init__(self):
        self.reps = np.array([self.rep(s) for s in self.predictions])
        self.d = self.reps.shape[1]
        self.known = {}


def binary(weights=(1.0, 1.0)):
    """Classes 0 and 1 with one score; the loss is the weight of the true class."""
    return Task([0, 1], lambda s: np.array([2.0 * s - 1.0]), lambda s, y: weights[y] * (s != y))


def classes(m, weights=None, values=None, reject=None):
    """One of m classes, or REJECT at the costs ``reject`` (m); losses of 1, or |difference| of the values."""
    weights = np.ones(m) if weights is None else weights

    def rep(s):
        return np.full(m, 1 / math.sqrt(m)) if s == REJECT else np.eye(m)[s]

    def loss(s, y):
        if s == REJECT:
            return weights[y] * reject[y]
        return weights[y] * (float(s != y) if values is None else abs(values[s] - values[y]))

    return Task([*range(m), *([] if reject is None else [REJECT])], rep, loss)


def sets(m, loss):
    """Subsets of m classes."""
    losses = {
        "zero-one": lambda s, y: float(s != y),
        "Hamming": lambda s, y: float(len(s ^ y)),
        "error-set": lambda s, y: float(len([(a, b) for a in y - s for b in s - y])),
    }
    subsets = [frozenset(s) for k in range(m + 1) for s in itertools.combinations(range(m), k)]

    def rep(s):
        return np.array([1.0 if c in s else -1.0 for c in range(m)]) / math.sqrt(m)

    return Task(subsets, rep, losses[loss], apart=lambda s, y: len(s ^ y))


def rankings(m, f):
    """Orders of m classes, best first; 1 - NDCG of the label, a set."""
    norm = math.sqrt(sum(f(p) ** 2 for p in range(1, m + 1)))

    def rep(s):
        return np.array([f(s.index(c) + 1) / norm for c in range(m)])

    def loss(s, y):
        ideal = sum(1 / math.log2(1 + p) for p in range(1, len(y) + 1))
        return 1.0 - sum(1 / math.log2(2 + p) for p, c in enumerate(s) if c in y) / ideal if y else 0.0

    return Task(list(itertools.permutations(range(m))), rep, loss)


def similarities(task, t):
    return task.reps @ t


def losses(task, y):
    """The loss of every prediction."""
    if y not in task.known:
        task.known[y] = np.array([task.loss(s, y) for s in task.predictions])
    return task.known[y]


def best(task, y, *values):
    """The first prediction with the largest first value, on ties the largest second one, and so on.

    Sets that still tie: the one that differs from the label in most classes.
    """
    apart = () if task.apart is None else (np.array([task.apart(s, y) for s in task.predictions]),)
    left = np.arange(len(task.predictions))
    for value in (*values, *apart):
        left = left[value[left] >= value[left].max() - _EQUAL]
    return task.predictions[left[0]]


def predicted(task, t, y):
    """The prediction of highest similarity, on ties the one of largest loss."""
    return best(task, y, similarities(task, t), losses(task, y))


def loss_of(task, t, y):
    """The loss of a score in training: ties count as mistakes."""
    loss = task.loss(predicted(task, t, y), y)
    return loss if loss > _EQUAL else 0.0


def target(task, t, y):
    """The label; if it is no prediction, the correct prediction of highest similarity."""
    if y in task.predictions:
        return y
    return best(task, y, np.where(losses(task, y) < _EQUAL, similarities(task, t), -np.inf))


def rival(task, t, y):
    """The largest loss plus similarity."""
    return best(task, y, losses(task, y) + similarities(task, t))


def surrogate(task, t, y, s=None):
    """phi(t, y), or its term of prediction s."""
    s = rival(task, t, y) if s is None else s
    return task.loss(s, y) + float((task.rep(s) - task.rep(target(task, t, y))) @ t)


def margin(task, t, y):
    """The least lead of the target over wrong predictions; of rankings, of every correct one.

    -inf if another correct set leads the label.
    """
    values, loss = similarities(task, t), losses(task, y)
    right = loss < _EQUAL
    own = np.array([s == y for s in task.predictions]) if y in task.predictions else right
    if values[right].max() > values[own].min() + _EQUAL and y in task.predictions:
        return -np.inf
    return values[own].min() - values[~right].max(initial=-np.inf)


def extremes(task, labels):
    """The least loss above 0 and the largest one of these labels."""
    every = np.concatenate([losses(task, y) for y in labels])
    return every[every > _EQUAL].min(), every.max()


def predtron(task, X, labels, *, eta, epochs=1, orders=None, loss_driven=False):
    """Returns (W (d, p) after each visit, losses of the visits)."""
    W = np.zeros((task.d, X.shape[1]))
    path, losses = [], []
    for r in range(epochs):
        for i in range(len(X)) if orders is None else orders[r]:
            x, y = X[i], labels[i]
            t = W @ x
            loss = loss_of(task, t, y)
            if loss > 0:
                wrong = (predicted if loss_driven else rival)(task, t, y)
                step = eta * loss if loss_driven else eta
                W = W - step * np.outer(task.rep(wrong) - task.rep(target(task, t, y)), x)
            path.append(W)
            losses.append(loss)
    return path, losses
