"""Guarantees without assumptions on scores: conformal sets and conformal risk control.

Both hold on average over calibration lists and new lists that are exchangeable with them.
"""

from __future__ import annotations

import math

import numpy as np

from rerank.core.errors import ConfigError, DataError
from rerank.core.types import Floats
from rerank.extensions.selection.curve import Curve


def check_alpha(alpha: float, n_lists: int | None = None) -> None:
    """Raise ConfigError if ``alpha`` is not in (0, 1), DataError if so few lists cannot guarantee it."""
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha: found {alpha:g}, expected a number between 0 and 1")
    least = math.ceil(round(1 / alpha, 9)) - 1
    if n_lists is not None and n_lists < least:
        raise DataError(f"alpha {alpha:g}: found {n_lists} judged lists, expected {least} or more")


def controlled_threshold(curve: Curve, losses: Floats, alpha: float) -> float:
    """Return the confidence from which the system is used, for the expected loss to be at most ``alpha``.

    It is used on as many lists as (the sum of their losses + 1) / (n + 1) <= alpha allows.

    Parameters
    ----------
    curve : Curve
        Of the n calibration lists.
    losses : float64 (n)
        From 0 to 1: what is lost if the system is used. Without it nothing is lost.
    alpha : float
        See ``check_alpha``.

    Returns
    -------
    float
        Infinite if the system cannot be used at all, negative infinite if it always can.

    References
    ----------
    Angelopoulos, Bates, Fisch, Lei & Schuster: Conformal risk control. ICLR 2024, section 2.
    """
    bounds = (curve.totals(losses) + 1.0) / (len(losses) + 1)
    return curve.threshold(max(int(np.count_nonzero(bounds <= alpha + 1e-12)) - 1, 0))


def set_width(distances: Floats, alpha: float) -> float:
    """Return how far below the best score items are kept, for a right one to be among them.

    With this width, P(a right item is kept) >= 1 - alpha on a new list.

    Parameters
    ----------
    distances : float64 (n)
        For each calibration list, the best score minus that of the best right item; infinite if no item is
        right.
    alpha : float
        See ``check_alpha``.

    Raises
    ------
    DataError
        If too many lists have no right item.

    References
    ----------
    Vovk, Gammerman & Shafer: Algorithmic learning in a random world. 2005. Split conformal prediction.
    """
    n = len(distances)
    place = math.ceil(round((n + 1) * (1 - alpha), 9))
    width = float(np.sort(distances)[place - 1]) if place <= n else math.inf
    if math.isinf(width):
        lacking = int(np.count_nonzero(np.isinf(distances)))
        found = f"{lacking} of {n} lists have no right item"
        raise DataError(f"alpha {alpha:g}: {found}, which no set of items mends")
    return width
