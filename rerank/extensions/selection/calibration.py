"""Probabilities from confidences, and how far they are from what happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from rerank.core.types import Floats, Mask
from rerank.evaluation.significance import bootstrap_sums, interval

Calibration: TypeAlias = Callable[[Floats], Floats]
BINS = 10


def platt(confidence: Floats, right: Mask) -> Calibration:
    """Fit P = 1 / (1 + exp(-(a x + b))), with Platt's targets in place of 0 and 1.

    References
    ----------
    Platt: Probabilistic outputs for support vector machines. 1999.
    """
    from scipy.optimize import minimize  # slow to load

    positive = int(right.sum())
    targets = np.where(right, (positive + 1) / (positive + 2), 1 / (len(right) - positive + 2))
    finite = confidence[np.isfinite(confidence)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    middle, width = 0.5 * low + 0.5 * high, max(0.5 * (high - low), np.finfo(float).tiny)

    def scaled(x: Floats) -> Floats:
        return (np.clip(x, low, high) - middle) / width

    def loss(w: Floats) -> tuple[float, Floats]:
        z = w[0] * x + w[1]
        rest = expit(z) - targets
        return float((np.logaddexp(0.0, z) - targets * z).sum()), np.array([rest @ x, rest.sum()])

    x = scaled(confidence)
    a, b = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", tol=1e-10).x
    return lambda given: expit(a * scaled(given) + b)


def isotonic(confidence: Floats, right: Mask) -> Calibration:
    """Fit the rising step function with the least squared error.

    A confidence between two steps has the mean of both.

    References
    ----------
    Zadrozny & Elkan: Transforming classifier scores into accurate multiclass probability estimates. KDD 2002.
    """
    from scipy.optimize import isotonic_regression

    levels, of = np.unique(confidence, return_inverse=True)
    counts = np.bincount(of)
    found = isotonic_regression(np.bincount(of, weights=right) / counts, weights=counts).x

    def calibrated(given: Floats) -> Floats:
        below = np.clip(np.searchsorted(levels, given, side="right") - 1, 0, None)
        above = np.clip(np.searchsorted(levels, given, side="left"), None, len(levels) - 1)
        p: Floats = 0.5 * (found[below] + found[above])
        return p

    return calibrated


CALIBRATIONS: dict[str, Callable[[Floats, Mask], Calibration]] = {"platt": platt, "isotonic": isotonic}


class Reliability(NamedTuple):
    """How far probabilities are from what happens.

    Attributes
    ----------
    error : float
        The expected calibration error: the mean over lists of |mean P - share that is right| of its bin.
    ci : (float, float), optional
        Percentile interval over resampled lists.
    bins : list of (int, float, float)
        Lists, mean P and the share that is right, of the reliability diagram.
    """

    error: float
    ci: tuple[float, float] | None
    bins: list[tuple[int, float, float]]


def reliability(p: Floats, right: Mask, samples: int, level: float, seed: int) -> Reliability:
    """Compare probabilities (n) with outcomes (n), in bins of equally many lists; equal ones share a bin.

    References
    ----------
    Naeini, Cooper & Hauskrecht: Obtaining well calibrated probabilities using Bayesian binning. AAAI 2015.
    """
    n = len(p)
    edges = np.quantile(p, np.linspace(0, 1, min(BINS, n) + 1)[1:-1])
    of = np.unique(np.searchsorted(edges, p, side="left"), return_inverse=True)[1]
    member = of[:, None] == np.arange(of.max() + 1)
    per_list = np.where(member, (p - right)[:, None], 0.0)
    sampled = np.abs(bootstrap_sums(per_list, samples, seed)).sum(axis=1) / n
    bins = [(int(one.sum()), float(p[one].mean()), float(right[one].mean())) for one in member.T]
    return Reliability(float(np.abs(per_list.sum(axis=0)).sum() / n), interval(sampled, level), bins)
