"""Intervals of strengths: profile likelihood, and the bootstrap over prompts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rerank.core import progress
from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.extensions.preferences.comparisons import Comparisons
from rerank.extensions.preferences.connections import parts_of
from rerank.extensions.preferences.models import Likelihood, solved

Intervals = Literal["auto", "bootstrap", "profile", "wald", "none"]
QUANTILE = 1.959963984540054  # of the standard normal distribution at .975


def profile_intervals(model: Likelihood, x: Floats, contrast: Floats, covariance: Floats) -> Floats:
    """Return the values of each contrast at which twice the profile log-likelihood is 3.84 below its maximum.

    Found by the secant rule on the signed root of the difference, which is nearly linear.

    Parameters
    ----------
    model : Likelihood
    x : float64 (n_parameters), the maximum.
    contrast : float64 (n_items, n_items)
        A row for each value: its weights of the strengths.
    covariance : float64 (n_items, n_items) of the values.

    Returns
    -------
    float64 (n_items, 2)
    """
    best = model.posterior(x).value
    out = np.full((len(contrast), 2), np.nan)
    with progress.step("profile likelihood", len(contrast), "item") as advance:
        for i, row in enumerate(contrast):
            c = np.zeros(len(x))
            c[: len(row)] = row
            error = float(np.sqrt(max(covariance[i, i], 0.0)))
            for side in (0, 1) if error > 0 else ():
                sign = 2 * side - 1
                v0, r0, at = float(c @ x), 0.0, x
                v = v0 + sign * QUANTILE * error
                for _ in range(50):
                    at, value = _constrained(model, at, c, v)
                    r = float(np.sqrt(max(2 * (best - value), 0.0)))
                    if abs(r - QUANTILE) < 1e-7 or r == r0:
                        break
                    v0, r0, v = v, r, v + (QUANTILE - r) * (v - v0) / (r - r0)
                out[i, side] = v
            advance(1)
    return out


def _constrained(model: Likelihood, x: Floats, c: Floats, v: float) -> tuple[Floats, float]:
    """The maximum under c @ x == v, and its value."""
    point = model.posterior(x)
    along = solved(point.information, c)
    x = x + along * ((v - c @ x) / (c @ along))
    for _ in range(100):
        point = model.posterior(x)
        both = solved(point.information, np.column_stack([point.gradient, c]))
        step = both[:, 0] - both[:, 1] * ((c @ both[:, 0]) / (c @ both[:, 1]))
        share = 1.0
        while (
            model.posterior(x + share * step).value < point.value - 1e-12 * abs(point.value) and share > 1e-6
        ):
            share /= 2
        x = x + share * step
        if np.abs(step).max() < 1e-9:
            break
    return x, model.posterior(x).value


def bootstrap_intervals(
    model: Likelihood,
    x: Floats,
    contrast: Floats,
    given: Comparisons,
    prior: float | None,
    samples: int,
    seed: int,
) -> tuple[Floats, int]:
    """Return percentile intervals of resampled prompts (n_items, 2), and the samples left out.

    Prompts are drawn with all of their comparisons, which are not independent. Samples whose likelihood has
    no maximum are left out; FitError if these are more than half.
    """
    rng = np.random.default_rng(seed)
    clusters = int(given.lists.max()) + 1
    drawn, failed = [], 0
    with progress.step("bootstrap", samples, "sample") as advance:
        for _ in range(samples):
            weights = np.bincount(rng.integers(clusters, size=clusters), minlength=clusters).astype(
                np.float64
            )
            other = model.weighted(weights)
            try:
                if prior is None and parts_of(other, strong=True)[0] > 1:
                    failed += 1
                else:
                    drawn.append(contrast @ other.maximum(x, 1e-6)[: len(contrast)])
            except FitError:
                failed += 1
            advance(1)
    if failed * 2 > samples:
        raise FitError(
            f"bootstrap: {failed} of {samples} samples have no finite strengths; expected a prior (--prior)"
        )
    return np.percentile(np.array(drawn), [2.5, 97.5], axis=0).T, failed
