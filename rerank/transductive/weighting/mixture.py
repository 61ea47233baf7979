"""The proportions of a mixture of known densities that make samples most likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats

TOLERANCE = 1e-8
_STEPS = 200
_PIVOTS = 4  # times the number of proportions in one quadratic problem
_RIDGE = 1e-10  # relative, as equal densities have no curvature between them
_SUFFICIENT = 1e-4  # of the rise that the slope promises
_FLOOR = 1e-12  # a density may vanish everywhere but for rounding
_SHORTEST = 1e-12
_COVERED = 0.1
_LEAST = 0.01  # of a sample's density, in one step: the model knows nothing of the logarithm near 0


@dataclass(frozen=True, eq=False)
class Mixture:
    """What was found.

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
        if ratio.min() >= _LEAST:
            gain = float(np.log(ratio).mean() - length * way.sum())
            if gain >= _SUFFICIENT * length * rise and gain > 0.0:
                return np.maximum(y + length * way, 0.0)
        length *= 0.5
    return None
