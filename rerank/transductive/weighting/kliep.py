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
from rerank.transductive.weighting.mixture import fit_mixture

CENTRES, FOLDS = 100, 5
WIDTHS = (1.0, 0.71, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09)
_CHOOSING = 1e-4  # tolerance of the likelihoods that widths are chosen by
_LEAST = 1e-300


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
            sums = (_apart(test, log_means, width, *part) for part in pairwise(bounds))
            held_out[k] = sum(sums) / n
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
