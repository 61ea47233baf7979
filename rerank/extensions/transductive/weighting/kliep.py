"""KLIEP: the ratio of the density of test samples to that of training samples, without either density.

The ratio is w(x) = sum over centres c of b_c exp(-|x - c|^2 / 2s^2), b_c >= 0, with the mean 1 over training
samples. Among these the one with the largest mean of log w over test samples is the nearest to the ratio in
the sense of Kullback and Leibler. With the mean m_c of a centre's Gaussian over training samples, b_c m_c
are the proportions of a mixture of densities Gaussian / m_c, so that the problem is convex (the thesis calls
it a linear programme). The width s has the largest likelihood of test samples that were left out.

References
----------
Sugiyama, Suzuki, Nakajima, Kashima, von Bünau, Kawanabe: Direct importance estimation for covariate shift
adaptation. Annals of the Institute of Statistical Mathematics 60, 2008.
Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington, 2009. Section 6.1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats

CENTRES, FOLDS = 100, 5
WIDTHS = (1.0, 0.71, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09)
_CHOOSING = 1e-4  # tolerance of the likelihoods that widths are chosen by
_LEAST = 1e-300
TOLERANCE = 1e-8
_STEPS = 200
_PIVOTS = 4  # times the number of proportions in one quadratic problem
_RIDGE = 1e-10  # relative, as equal densities have no curvature between them
_SUFFICIENT = 1e-4  # of the rise that the slope promises
_FLOOR = 1e-12  # a density may vanish everywhere up to rounding
_SHORTEST = 1e-12
_COVERED = 0.1
_LEAST_RATIO = 0.01  # of a sample's density, in one step: the model knows nothing of the logarithm near 0


class Training(Protocol):
    """Training samples, as far as Gaussians around given centres see them."""

    def log_means(self, width: float) -> Floats:
        """Return the log of the mean over samples of each centre's Gaussian, float64 (n_centres)."""

    def weights(self, width: float, log_factors: Floats) -> Floats:
        """Return the sum over centres of exp(log factor) * Gaussian of each sample, float64 (n).

        A log factor may be -inf.
        """


class DistanceTable:
    """Training samples with all their squared distances to the centres, float64 (n, n_centres)."""

    def __init__(self, squared: Floats) -> None:
        self._squared = squared

    def log_means(self, width: float) -> Floats:
        """See ``Training``."""
        logs = self._squared / (-2.0 * width * width)
        top = logs.max(axis=0)
        found: Floats = top + np.log(np.exp(logs - top).mean(axis=0))
        return found

    def weights(self, width: float, log_factors: Floats) -> Floats:
        """See ``Training``."""
        some = log_factors > -np.inf
        logs = self._squared[:, some] / (-2.0 * width * width)
        found: Floats = np.exp(logs + log_factors[some]).sum(axis=1)
        return found


@dataclass(frozen=True, eq=False)
class Ratio:
    """A fitted ratio of densities.

    Attributes
    ----------
    width
        s of the Gaussians.
    log_factors
        Log of b of each centre, float64 (n_centres); -inf for centres that are not used.
    widths, held_out
        The widths tried, float64 (n), and the mean of log w over left-out test samples for each; NaN if there
        is one test sample.
    log_likelihood
        The mean of log w over the test samples.
    violation
        Of the optimality conditions; the mean log w is at most log(1 + violation) below the largest one.
    """

    width: float
    log_factors: Floats
    widths: Floats
    held_out: Floats
    log_likelihood: float
    violation: float

    @property
    def active(self) -> int:
        """The number of centres that are used."""
        return int(np.count_nonzero(self.log_factors > -np.inf))

    @property
    def best_held_out(self) -> float:
        """The held-out mean log w of the chosen width."""
        return float(self.held_out[np.argmax(self.widths == self.width)])

    def figures(self) -> dict[str, float]:
        """Return what is reported of the ratio, by name."""
        return {
            "width": self.width,
            "held_out": self.best_held_out,
            "likelihood": self.log_likelihood,
            "active": float(self.active),
            "violation": self.violation,
        }


def fit_ratio(
    training: Training,
    test: Floats,
    widths: Floats,
    folds: int,
    rng: np.random.Generator,
    *,
    apart: bool = False,
) -> Ratio:
    """Return the ratio whose width has the largest held-out likelihood, on ties the largest width.

    Parameters
    ----------
    training
        Training samples.
    test
        Squared distances of test samples to the centres, float64 (n_test, n_centres).
    widths
        Widths to choose from, more than 0.
    folds
        Parts of the test samples, at most as many as samples, each of which is left out once.
    rng
        Divides the samples into parts.
    apart
        Whether centres at samples that are left out are left out with them. Where most samples are centres,
        each would otherwise vouch for its own neighbourhood, and the narrowest width would win.

    Raises
    ------
    DataError
        If there is one test sample, and more than one width.
    """
    n = len(test)
    widths = np.unique(widths)[::-1]
    if n == 1 and len(widths) > 1:
        raise DataError("KLIEP: one test sample, and none to choose the width by; give one width")
    bounds = np.linspace(0, n, min(folds, n) + 1).astype(np.int64).tolist()
    test = test[rng.permutation(n)]
    start, held_out = None, np.full(len(widths), np.nan)
    for k, width in enumerate(widths.tolist() if n > 1 else ()):
        log_means, total = training.log_means(width), 0.0
        if apart:
            sums = [_apart(test, log_means, width, *part) for part in pairwise(bounds)]
            held_out[k] = np.sum(sums) / n
            continue
        densities, logs = _densities(test, log_means, width)
        for first, last in pairwise(bounds):
            others = np.concatenate((densities[:, :first], densities[:, last:]), axis=1)
            start = fit_mixture(others, start, _CHOOSING).proportions
            mixture = start @ densities[:, first:last]
            total += float((np.log(np.maximum(mixture, _LEAST)) + logs[first:last]).sum())
        held_out[k] = total / n
    width = float(widths[0 if n == 1 else np.argmax(held_out)])
    log_means = training.log_means(width)
    densities, logs = _densities(test, log_means, width)
    found = fit_mixture(densities, start)
    with np.errstate(divide="ignore"):
        log_factors = np.log(found.proportions) - log_means
    likelihood = float((np.log(found.proportions @ densities) + logs).mean())
    return Ratio(width, log_factors, widths, held_out, likelihood, found.violation)


def _apart(test: Floats, log_means: Floats, width: float, first: int, last: int) -> float:
    """The sum of log w over test samples ``first:last``, from the others and centres at none of these."""
    kept = (test[first:last] > 0.0).all(axis=0)
    if not kept.any():
        return (last - first) * float(np.log(_LEAST))
    densities, logs = _densities(test[:, kept], log_means[kept], width)
    others = np.concatenate((densities[:, :first], densities[:, last:]), axis=1)
    mixture = fit_mixture(others, None, _CHOOSING).proportions @ densities[:, first:last]
    return float((np.log(np.maximum(mixture, _LEAST)) + logs[first:last]).sum())


def _densities(test: Floats, log_means: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the densities of centres at test samples (n_centres, n_test), divided by a sample's largest one.

    The log of that divisor is returned too, float64 (n_test).
    """
    logs = test.T / (-2.0 * width * width) - log_means[:, None]
    top = logs.max(axis=0)
    return np.exp(logs - top), top


def typical_distance(squared: Floats) -> float:
    """Return the median of the distances that are not 0, from squared ones; 0 if all are 0."""
    some = squared[squared > 0.0]
    return float(np.sqrt(np.median(some))) if len(some) else 0.0


@dataclass(frozen=True, eq=False)
class Mixture:
    """Estimated density ratio.

    Attributes
    ----------
    proportions
        float64 (n_densities), not negative, of sum 1.
    violation
        The largest g - 1 over densities, with g the mean over samples of density / mixture. The mean log
        likelihood is at most log(1 + violation) below the largest one.
    steps
        Newton steps.
    """

    proportions: Floats
    violation: float
    steps: int


def fit_mixture(densities: Floats, start: Floats | None = None, tolerance: float = TOLERANCE) -> Mixture:
    """Return the proportions with the largest mean log likelihood.

    Sequential quadratic programming, as mixsqp does: each step solves the quadratic model with its bounds by
    active sets, for the densities that have a proportion or whose proportion should rise. The scale of a
    sample's densities changes nothing.

    Parameters
    ----------
    densities
        float64 (n_densities, n_samples), not negative; each sample has a positive one.
    start
        Proportions to begin with, which save steps; if they give a sample too little density, half of them
        and half of equal ones.
    tolerance
        Of the violation.

    References
    ----------
    Kim, Carbonetto, Stephens, Anitescu: A fast algorithm for maximum likelihood estimation of mixture
    proportions using sequential quadratic programming. Journal of Computational and Graphical Statistics
    29, 2020.
    """
    m, n = densities.shape
    y = np.full(m, 1.0 / m)
    if start is not None:
        # At the optimum no sample has less than 1 / n of its largest density.
        covered = (start @ densities >= _COVERED / n * densities.max(axis=0)).all()
        y = start / start.sum() if covered else 0.5 * (y + start / start.sum())
    mixture = y @ densities
    for step in range(_STEPS + 1):
        slope = (densities @ (1.0 / mixture)) / n
        violation = float(slope.max() - 1.0)
        if violation <= tolerance or step == _STEPS:
            break
        some = np.flatnonzero((y > 0.0) | (slope > 1.0))
        ratios = densities[some] / mixture
        target = _quadratic_minimum(ratios, slope[some], y[some])
        found = _searched(ratios, slope[some], y[some], target)
        if found is None:  # rounding hides any rise
            break
        y = np.zeros(m)
        y[some] = found / found.sum()
        mixture = y[some] @ densities[some]
    return Mixture(y, max(violation, 0.0), step)


def _quadratic_minimum(ratios: Floats, slope: Floats, start: Floats) -> Floats:
    """Return the minimum over y >= 0 of the quadratic model of sum(y) - mean log likelihood at ``start``.

    With the densities divided by the mixture (m, n), H = ratios ratios' / n and start @ ratios = 1, the model
    is y'Hy / 2 - (2 slope - 1)'y. The way to it from ``start`` never rises, so that it may end early.
    """
    curvature = ratios @ ratios.T / ratios.shape[1]
    curvature[np.diag_indices_from(curvature)] += _RIDGE * curvature.diagonal() + _FLOOR
    linear = 2.0 * slope - 1.0
    y, free = start.copy(), start > 0.0
    for _ in range(_PIVOTS * len(start)):
        inside = np.flatnonzero(free)
        best = np.zeros(len(y))
        best[inside] = np.linalg.solve(curvature[inside[:, None], inside], linear[inside])
        falling = inside[best[inside] <= 0.0]
        if len(falling):
            share = y[falling] / (y[falling] - best[falling])
            if share.min() == 0.0:  # the one that entered last: rounding made its slope negative
                break
            y += share.min() * (best - y)
            y[falling[share <= share.min()]] = 0.0
            free = y > 0.0
            continue
        y = best
        left = np.where(free, 0.0, curvature @ y - linear)
        entering = int(left.argmin())
        if left[entering] >= -_FLOOR:
            break
        free[entering] = True
    return y


def _searched(ratios: Floats, slope: Floats, y: Floats, target: Floats) -> Floats | None:
    """Return a point on the way from y to ``target`` that is high enough, None if rounding hides any."""
    way = target - y
    toward = way @ ratios
    rise = float((slope - 1.0) @ way)
    length = 1.0
    while length > _SHORTEST:
        ratio = 1.0 + length * toward
        if ratio.min() >= _LEAST_RATIO:
            gain = float(np.log(ratio).mean() - length * way.sum())
            if gain >= _SUFFICIENT * length * rise and gain > 0.0:
                return np.maximum(y + length * way, 0.0)
        length *= 0.5
    return None
