"""Confidence of a system in its choice for a list: rules by which lists are ordered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import DataError
from rerank.core.text import count
from rerank.core.types import Floats, Mask
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.metrics.judges import ranked_last

LEARNED = "logistic"
RULES = {
    "margin": "the system's score of its choice minus that of the baseline's choice",
    "gap": "the system's score of its choice minus that of the next item",
    "entropy": "how far the entropy of the softmax of the scores, scaled in each list, is from the largest",
    "baseline-gap": "how small the baseline's lead over the next item is",
    LEARNED: "P(better) by a logistic regression on the four others",
}
_RIDGE = 1.0  # of weights of standardised values


def confidences(lists: CandidateLists, scores: Floats, baseline: Floats) -> Floats:
    """Return the confidence in the choice for each list by each rule but the learned one.

    Parameters
    ----------
    lists : CandidateLists
    scores, baseline : float64 (n_items)
        Of the system and of what takes its place; NaN = not returned, which is below all others.

    Returns
    -------
    float64 (n_lists, 4)
        In the order of ``RULES``; larger is surer. A list of one item has the margin 0 and an infinite gap.
    """
    own, other = ranked_last(scores), ranked_last(baseline)
    with np.errstate(invalid="ignore"):  # items that were not returned
        margin = own[first_largest(own, lists.offsets)] - own[first_largest(other, lists.offsets)]
    return np.column_stack(
        [np.nan_to_num(margin, posinf=np.inf), _gaps(lists, own), _sureness(lists, own), -_gaps(lists, other)]
    )


def _gaps(lists: CandidateLists, scores: Floats) -> Floats:
    """By how much the largest score of each list is above the next, float64 (n_lists)."""
    top = first_largest(scores, lists.offsets)
    rest = scores.copy()
    rest[top] = -np.inf
    next_best = np.maximum.reduceat(rest, lists.offsets[:-1])
    with np.errstate(invalid="ignore"):  # nothing was returned
        return np.nan_to_num(scores[top] - next_best, posinf=np.inf)


def _sureness(lists: CandidateLists, scores: Floats) -> Floats:
    """1 - entropy / log n of the softmax of scores divided by their deviation in the list; 1 for one item."""
    starts, of = lists.offsets[:-1], lists.list_index
    known = np.isfinite(scores)
    sizes = np.maximum(np.add.reduceat(known, starts, dtype=np.int64), 1)
    values = np.where(known, scores, 0.0)
    centred = np.where(known, values - (np.add.reduceat(values, starts) / sizes)[of], 0.0)
    deviations = np.sqrt(np.add.reduceat(centred**2, starts) / sizes)
    scaled = np.where(known, centred / np.where(deviations > 0, deviations, 1.0)[of], -np.inf)
    powers = np.exp(scaled)
    p = powers / np.maximum(np.add.reduceat(powers, starts), np.finfo(float).tiny)[of]
    entropy = -np.add.reduceat(p * np.log(np.where(p > 0, p, 1.0)), starts)
    return 1.0 - entropy / np.log(np.maximum(sizes, 2))


@dataclass(frozen=True, eq=False)
class Standardised:
    """Values of lists minus their means, divided by their deviations; constant ones are 0.

    Attributes
    ----------
    low, high : float64 (k)
        Values beyond these, the limits of the lists it was fitted on, count as these.
    means, deviations : float64 (k)
    """

    low: Floats
    high: Floats
    means: Floats
    deviations: Floats

    @classmethod
    def fit(cls, x: Floats) -> Standardised:
        """Fit to values (n, k); infinite ones do not count."""
        finite = np.where(np.isfinite(x), x, np.nan)
        known = ~np.isnan(finite).all(axis=0)
        low, high = np.zeros(x.shape[1]), np.zeros(x.shape[1])
        low[known], high[known] = np.nanmin(finite[:, known], axis=0), np.nanmax(finite[:, known], axis=0)
        clipped = np.clip(x, low, high)
        means, deviations = clipped.mean(axis=0), clipped.std(axis=0)
        deviations[deviations <= 1e-12 * np.maximum(np.abs(means), 1.0)] = np.inf  # constant: no weight
        return cls(low, high, means, deviations)

    def of(self, x: Floats) -> Floats:
        """Return standardised values, float64 (n, k)."""
        found: Floats = (np.clip(x, self.low, self.high) - self.means) / self.deviations
        return found


@dataclass(frozen=True, eq=False)
class Logistic:
    """P(better) of a list from its confidences: logistic regression with a ridge.

    Attributes
    ----------
    scale : Standardised
    weights : float64 (k + 1)
        The constant comes last.
    """

    scale: Standardised
    weights: Floats

    @classmethod
    def fit(cls, x: Floats, better: Mask) -> Logistic:
        """Fit on lists whose values differ between system and baseline.

        Parameters
        ----------
        x : float64 (n, k)
        better : bool (n)
            Whether the system's value is the better one.

        Raises
        ------
        DataError
            If the system is better on all lists, or on none.
        """
        from scipy.optimize import minimize  # slow to load
        from scipy.special import expit  # loads scipy.linalg in later versions

        if better.all() or not better.any():
            found = f"of {count(len(better), 'list')} that differ, the system is better on {better.sum()}"
            raise DataError(f"rule {LEARNED}: {found}; expected some and not all (choose another --rule)")
        scale = Standardised.fit(x)
        rows = np.column_stack([scale.of(x), np.ones(len(x))])
        sign = np.where(better, 1.0, -1.0)

        def loss(w: Floats) -> tuple[float, Floats]:
            z = sign * (rows @ w)
            gradient = -rows.T @ (sign * expit(-z))
            penalty = np.append(w[:-1], 0.0)
            return float(np.logaddexp(0.0, -z).sum() + 0.5 * _RIDGE * penalty @ penalty), (
                gradient + _RIDGE * penalty
            )

        weights = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", tol=1e-10).x
        return cls(scale, weights)

    def of(self, x: Floats) -> Floats:
        """Return P(better), float64 (n)."""
        from scipy.special import expit

        p: Floats = expit(self.scale.of(x) @ self.weights[:-1] + self.weights[-1])
        return p
