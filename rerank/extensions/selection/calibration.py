"""Probabilities from confidences, and how far they are from what happens."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from rerank.core.errors import DataError
from rerank.core.records import Record
from rerank.core.types import Floats, Mask
from rerank.evaluation.significance import bootstrap_sums, interval

BINS = 10
_LARGEST = float(np.finfo(np.float64).max)


class Platt(Record):
    """P = 1 / (1 + exp(-(a x + b))), x from -1 to 1 between ``low`` and ``high``; beyond them x stays there.

    References
    ----------
    Platt: Probabilistic outputs for support vector machines. 1999.
    """

    low: float
    high: float
    a: float
    b: float

    @classmethod
    def fit(cls, confidence: Floats, right: Mask) -> Self:
        """Fit confidences (n) to outcomes, bool (n), with Platt's targets instead of 0 and 1."""
        from scipy.optimize import minimize  # slow to load
        from scipy.special import expit  # loads scipy.linalg in later versions

        positive = int(right.sum())
        targets = np.where(right, (positive + 1) / (positive + 2), 1 / (len(right) - positive + 2))
        finite = confidence[np.isfinite(confidence)]
        low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)

        def loss(w: Floats) -> tuple[float, Floats]:
            z = w[0] * x + w[1]
            rest = expit(z) - targets
            return float((np.logaddexp(0.0, z) - targets * z).sum()), np.array([rest @ x, rest.sum()])

        x = cls(low=float(low), high=float(high), a=0.0, b=0.0)._scaled(confidence)
        a, b = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", tol=1e-10).x
        return cls(low=float(low), high=float(high), a=float(a), b=float(b))

    def _scaled(self, x: Floats) -> Floats:
        middle = 0.5 * self.low + 0.5 * self.high
        width = max(0.5 * self.high - 0.5 * self.low, np.finfo(float).tiny)
        found: Floats = (np.clip(x, self.low, self.high) - middle) / width
        return found

    def of(self, confidence: Floats) -> Floats:
        """Return probabilities, float64 (n)."""
        from scipy.special import expit

        p: Floats = expit(self.a * self._scaled(confidence) + self.b)
        return p


class Isotonic(Record):
    """The rising step function with the smallest squared error.

    A confidence between two ``levels`` has the mean of the two probabilities ``p``.

    References
    ----------
    Zadrozny & Elkan: Transforming classifier scores into accurate multiclass probability estimates. KDD 2002.
    """

    levels: tuple[float, ...]
    p: tuple[float, ...]

    @classmethod
    def fit(cls, confidence: Floats, right: Mask) -> Self:
        """Fit confidences (n) to outcomes, bool (n)."""
        from scipy.optimize import isotonic_regression

        levels, of = np.unique(np.clip(confidence, -_LARGEST, _LARGEST), return_inverse=True)
        counts = np.bincount(of)
        found = isotonic_regression(np.bincount(of, weights=right) / counts, weights=counts).x
        first = np.append(True, found[1:] != found[:-1])
        kept = first | np.append(first[1:], True)  # the ends of each step, within which all values are equal
        return cls(levels=tuple(levels[kept].tolist()), p=tuple(found[kept].tolist()))

    def check_values(self) -> None:
        falls = any(np.diff(values).min(initial=0.0) < 0 for values in (self.levels, self.p))
        if not 0 < len(self.levels) == len(self.p) or falls or not 0 <= self.p[0] <= self.p[-1] <= 1:
            raise DataError("isotonic: found levels and probabilities that no fit gives")

    def of(self, confidence: Floats) -> Floats:
        """Return probabilities, float64 (n)."""
        given, levels, p = np.clip(confidence, -_LARGEST, _LARGEST), np.array(self.levels), np.array(self.p)
        below = np.clip(np.searchsorted(levels, given, side="right") - 1, 0, None)
        above = np.clip(np.searchsorted(levels, given, side="left"), None, len(levels) - 1)
        found: Floats = 0.5 * (p[below] + p[above])
        return found


CALIBRATIONS: dict[str, type[Platt | Isotonic]] = {"platt": Platt, "isotonic": Isotonic}


class Reliability(NamedTuple):
    """Calibration error of probabilities.

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
