"""The link function of norm p: mirror descent with half the squared r-norm, r = log p / (log p - 1).

A gradient moves theta, and w is the gradient of half the squared q-norm of theta, with q = log p the dual
norm of r: w_j = sign(theta_j) |theta_j|^(q - 1) / |theta|_q^(q - 2). For a matrix the norms of its columns
take the place of |theta_j|: the group norm (2, r).

Kakade, Shalev-Shwartz, Tewari: Regularization techniques for learning with matrices. JMLR 13, 2012.
"""

from __future__ import annotations

import math

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats


def dual_norm_of(n_features: int) -> float:
    """Return q = log p for p features.

    Raises FitError if p is 2 or less: r would not be above 1. From 8 features on r is at most 2, and the
    bounds of ``steps`` hold.
    """
    if n_features <= 2:
        raise FitError(f"norm=p: found {n_features} features, expected 3 or more; use norm=l2")
    return math.log(n_features)


def linked(theta: Floats, q: float) -> Floats:
    """Return the gradient of half the squared q-norm of the columns' norms of ``theta``, (p) or (k, p).

    With r = q / (q - 1) in place of q it is the inverse: the theta of weights.
    """
    largest = float(np.abs(theta).max(initial=0.0))
    if largest == 0.0:
        return np.zeros_like(theta)
    scaled = theta / largest
    norms = np.abs(scaled) if theta.ndim == 1 else np.sqrt((scaled**2).sum(axis=0))
    with np.errstate(under="ignore"):
        total = float((norms**q).sum())
        safe = np.where(norms > 0, norms, 1.0)
        factor = np.where(norms > 0, safe ** (q - 2.0), 0.0) * total ** (2.0 / q - 1.0)
        out: Floats = largest * (scaled * factor)
    return out
