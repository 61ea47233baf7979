"""PRank, its Bayes-point mean and the uneven-margin perceptron by their pseudo-code, one item at a time.

Means are taken after each example. ``passes`` holds, for each round, the rows visited; rounds end as
the learners' do, after one without an update.
"""

import numpy as np


def dot(x, w):
    """In the order of the features, as the kernels sum."""
    total = 0.0
    for a, b in zip(x.tolist(), w.tolist(), strict=True):
        total += a * b
    return total


def prank(X, ranks, k, passes, *, stop=True):
    """Figure 2 of Crammer & Singer (2001); ranks run from 1 to k.

    Returns last (w, b), mean (w, b) and [(wrong predictions, rank loss)] a round.
    """
    X = np.asarray(X, dtype=float)
    w = np.zeros(X.shape[1])
    b = np.append(np.zeros(k - 1), np.inf)
    total_w, total_b, seen = np.zeros_like(w), np.zeros(k - 1), 0
    history = []
    for visits in passes:
        wrong = loss = 0
        for i in visits:
            x, y = X[i], ranks[i]
            score = dot(x, w)
            predicted = min(r for r in range(1, k + 1) if score - b[r - 1] < 0)
            if predicted != y:
                wrong += 1
                loss += abs(predicted - y)
                tau = []
                for r in range(1, k):
                    y_r = -1 if y <= r else 1
                    tau.append(y_r if (score - b[r - 1]) * y_r <= 0 else 0)
                w = w + sum(tau) * x
                b[:-1] -= tau
            total_w += w
            total_b += b[:-1]
            seen += 1
        history.append((wrong, loss))
        if stop and wrong == 0:
            break
    mean = (total_w / seen, total_b / seen) if seen else (w, b[:-1])
    return (w, b[:-1]), mean, history


def paum(X, y, tau_plus, tau_minus, passes):
    """Algorithm 1 of Li et al. (2002) with learning rate 1; y is +1, -1, or 0 for items left out.

    Returns last (w, b), mean (w, b) and [(updates, on the wrong side)] a round.
    """
    X = np.asarray(X, dtype=float)
    radius2 = max(dot(X[i], X[i]) for i in range(len(X)) if y[i] != 0)
    w, b = np.zeros(X.shape[1]), 0.0
    total_w, total_b, seen = np.zeros_like(w), 0.0, 0
    history = []
    for visits in passes:
        updates = wrong = 0
        for i in visits:
            score = dot(X[i], w) + b
            if y[i] * score <= (tau_plus if y[i] > 0 else tau_minus):
                updates += 1
                wrong += score < 0 if y[i] > 0 else score >= 0
                w = w + y[i] * X[i]
                b = b + y[i] * radius2
            total_w += w
            total_b += b
            seen += 1
        history.append((updates, wrong))
        if updates == 0:
            break
    return (w, b), (total_w / seen, total_b / seen), history
