"""Goodness of fit of strengths to the comparisons of each pair: chi-square, residuals, cyclic triads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rerank.core.tables.table import p_text
from rerank.core.types import Floats, Index
from rerank.extensions.preferences.comparisons import Comparisons
from rerank.extensions.preferences.models import Likelihood, Pairs


class Fit(NamedTuple):
    """Goodness of fit of the model to the comparisons of each pair.

    Attributes
    ----------
    chi_square : float
        Pearson's statistic of pairs' observed and expected wins, a tie being half a win.
    degrees : int
        Pairs minus parameters; 0 or less = every pair is fitted.
    p : float, optional
        None without degrees, or if outcomes are probabilities.
    worst : list of (item, item, observed, expected, standardised residual)
        The pairs that fit least.
    cycles, triads : int
        Cyclic triads by majority (a beats b, b beats c, c beats a), and triads of which all pairs have one.
    """

    chi_square: float
    degrees: int
    p: float | None
    worst: list[tuple[str, str, float, float, float]]
    cycles: int
    triads: int


def fit_of(model: Likelihood, x: Floats, given: Comparisons) -> Fit | None:
    """Return the goodness of fit at the maximum ``x`` (n_parameters); None for rankings."""
    if not isinstance(model, Pairs):
        return None
    p1, pt, p2 = model.probabilities(x)
    win, tie, loss = model.outcomes.T
    n, score = win + tie + loss, win + tie / 2
    low, high = np.minimum(model.first, model.second), np.maximum(model.first, model.second)
    turned = model.first > model.second
    codes, cell = np.unique(low * model.n_items + high, return_inverse=True)

    def by_pair(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, len(codes)), dtype=np.float64)

    expected = by_pair(n * np.where(turned, p2 + pt / 2, p1 + pt / 2))
    observed = by_pair(np.where(turned, n - score, score))
    variance = by_pair(n * (p1 + p2 - (p1 - p2) ** 2) / 4)
    residuals = (observed - expected) / np.sqrt(np.maximum(variance, 1e-300))
    statistic = float(residuals @ residuals)
    free = (
        model.n_parameters
        - (1 if model.precision[0] == 0 else 0)
        - len(given.judge_ids) * (model.judges is not None)
    )
    degrees = len(codes) - free
    p = None
    if degrees > 0 and not given.soft:
        from scipy.special import gammaincc

        p = float(gammaincc(degrees / 2, statistic / 2))
    one, two = np.divmod(codes, model.n_items)
    worst = (
        [
            (
                given.items[one[k]],
                given.items[two[k]],
                float(observed[k]),
                float(expected[k]),
                float(residuals[k]),
            )
            for k in np.argsort(-np.abs(residuals), kind="stable")[:5].tolist()
        ]
        if degrees > 0
        else []
    )
    total = by_pair(n)
    cycles, triads = _triads(model.n_items, one, two, 2 * observed - total)
    return Fit(statistic, degrees, p, worst, cycles, triads)


def _triads(n: int, one: Index, two: Index, lead: Floats) -> tuple[int, int]:
    """Cyclic triads, and all whose three pairs have a majority."""
    from scipy.sparse import csr_matrix

    kept = lead != 0
    winners = np.where(lead > 0, one, two)[kept]
    losers = np.where(lead > 0, two, one)[kept]
    beats = csr_matrix((np.ones(len(winners)), (winners, losers)), shape=(n, n))
    beats = beats.toarray() if n <= 3000 else beats
    either = beats + beats.T

    def closed(matrix: Any) -> int:  # trace of the cube
        square = matrix @ matrix
        product = square.multiply(matrix.T) if hasattr(square, "multiply") else square * matrix.T
        return round(float(product.sum()))

    return closed(beats) // 3, closed(either) // 6


def fit_notes(fit: Fit) -> list[str]:
    """Return the goodness of fit as lines."""
    notes = []
    if fit.degrees > 0:
        p = "" if fit.p is None else f", p {p_text(fit.p)}"
        notes.append(f"fit of pairs: chi-square {fit.chi_square:.1f} of {fit.degrees} degrees of freedom{p}")
        a, b, observed, expected, z = fit.worst[0]
        notes.append(f"worst pair: {a} against {b} won {observed:.6g}, expected {expected:.1f} (z {z:+.1f})")
    else:
        notes.append("fit of pairs: not tested, as many parameters as pairs")
    if fit.triads:
        notes.append(f"{fit.cycles} of {fit.triads} triads are cyclic (a beats b, b beats c, c beats a)")
    return notes
