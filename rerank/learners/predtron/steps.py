"""The factors of steps for which loss bounds are proved.

Let the losses above 0 lie between c and C, let R bound the norm of every X as ``radius2`` says, and let a
unit W* separate the data with the margin g. The bounds hold for the first pass from weights of 0.

Standard: with eta = c / (4 R^2) the sum of losses is at most 4 R^2 C^2 / (c g^2) (Theorem 1). The surrogate
max over s of L(s) - (rep(s_y) - rep(s))·t is convex in W, at least L at mistakes, and 0 at W* C / g. The
regret of online gradient descent against it is at most C^2 / (2 eta g^2) + (eta / 2) 4 R^2 M with M mistakes,
and M is at most the sum of losses / c.

Loss-driven: s~ is the prediction and the step is eta L. The squared norm of W grows by at most 4 R^2 eta^2
L^2 per mistake, as (rep(s_y) - rep(s~))·t is not above 0, so it ends at most at 4 R^2 eta^2 C S, with S the
sum of losses. W*·W grows by at least eta L g, so it ends at least at eta g S, and is at most the norm of W.
Hence S <= 4 R^2 C / g^2: the bound above without its factor C / c. It holds for every eta, which only sets
the length of W; "theorem" means eta = 1 / (4 R^2 C).

Norm p: W* has the l1 norm 1, or the group norm (2, 1). The mirror descent of ``links`` has regret at most
C^2 / (2 eta g^2) + (eta / 2) (log p - 1) (2 e R)^2 M, with R a bound of the norms of columns. With
eta = c / (4 e^2 (log p - 1) R^2) the sum of losses is at most 4 e^2 (log p - 1) R^2 C^2 / (c g^2). For
loss-driven steps the argument above holds with 4 e^2 (log p - 1) R^2 for 4 R^2 (Gentile 2003).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats, Index
from rerank.data.matrix import Features

Eta = float | Literal["theorem"]
Variant = Literal["standard", "loss-driven"]


@dataclass(frozen=True)
class LossRange:
    """The least and the largest loss above 0 that a prediction can have: c and C."""

    least: float
    most: float


def theorem_step(
    losses: LossRange, radius2: float, variant: Variant, dual_norm: float | None = None
) -> float:
    """Return the factor of steps for which the bound is proved.

    Parameters
    ----------
    losses
        Of the data.
    radius2
        R^2: for norm l2 the largest squared Frobenius norm of an X; for norm p the largest squared norm of a
        column (a feature) of an X.
    variant
        Steps that are multiplied by losses, or not.
    dual_norm
        log p for norm p, see ``links.dual_norm_of``; None for norm l2.

    Raises
    ------
    FitError
        If the factor is not a finite number above 0, or ``dual_norm`` is below 2, for which there is no
        bound.
    """
    if dual_norm is not None:
        if dual_norm < 2:
            raise FitError("eta=theorem: with norm=p the bound needs 8 features or more; give eta a number")
        radius2 *= math.e**2 * (dual_norm - 1)
    scale = losses.least if variant == "standard" else 1.0 / losses.most
    step = scale / (4.0 * radius2) if radius2 > 0 else math.inf
    if not 0 < step < math.inf:
        found = "are all 0" if radius2 == 0 else "or losses are out of range; scale the features (--scaling)"
        raise FitError(f"eta=theorem: the features {found}")
    return step


def radius2(features: Features, offsets: Index, items: Index, by_column: bool) -> float:
    """Return the largest squared norm of the features of a list, or of one feature in a list.

    Parameters
    ----------
    features
        Of all items.
    offsets, items
        int64 (n_lists + 1) and (n_items): the rows of each list.
    by_column
        Whether each feature of a list has a norm of its own; otherwise it is the Frobenius norm of them all,
        which is at least their operator norm.
    """
    largest = 0.0
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        rows = features.take(items[first:last]).compressed()
        with np.errstate(over="ignore", under="ignore"):
            squares: Floats = np.ones(rows.n_values) if rows.data is None else rows.data**2
            if by_column:
                _, column = np.unique(rows.indices, return_inverse=True)
                found = np.bincount(column, squares).max(initial=0.0)
            else:
                found = squares.sum()
        largest = max(largest, float(found))
    return largest
