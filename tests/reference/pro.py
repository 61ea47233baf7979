"""PRO by its description: the clearest of drawn pairs; the logistic loss of explicit differences."""

import numpy as np


def clearest(labels, drawn, threshold, most):
    """(better, worse) of the pairs drawn that pass, in falling order of their difference, then as drawn."""
    passed = []
    for at, (i, j) in enumerate(drawn):
        gap = labels[i] - labels[j]
        if abs(gap) > 0 and abs(gap) >= threshold:
            passed.append((-abs(gap), at, (i, j) if gap > 0 else (j, i)))
    return [pair for _, _, pair in sorted(passed)[:most]]


def minimum(differences, start, l2, steps=200):
    """w of the least sum of log(1 + exp(-w·d)) + l2 * |scale * (w - start)|², by damped Newton steps."""
    D = np.asarray(differences, dtype=np.float64)
    scale = np.sqrt((D**2).mean(axis=0))
    varies = scale > 0
    Z = D[:, varies] / scale[varies]
    offset = D @ start

    def loss(u):
        return np.logaddexp(0, -(offset + Z @ u)).sum() + l2 * (u @ u)

    u = np.zeros(Z.shape[1])
    for _ in range(steps):
        p = 0.5 * (1 - np.tanh((offset + Z @ u) / 2))
        gradient = 2 * l2 * u - Z.T @ p
        hessian = 2 * l2 * np.eye(len(u)) + (Z * (p * (1 - p))[:, None]).T @ Z
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while loss(u - size * step) > loss(u) and size > 1e-9:
            size /= 2
        u = u - size * step
    w = np.array(start, dtype=np.float64)
    w[varies] += u / scale[varies]
    return w
