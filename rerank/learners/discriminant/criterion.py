"""The criterion of RankLDA (Duh 2009, Algorithm 5), its maximum, and a bound that certifies it.

In coordinates in which W is the identity and |a| = 1, b_ij = aᵀB_ij a is the scatter between the labels i and
j. A pair (r, z) inside (i, j) should have the smaller scatter: the violation of that is
xi = max(0, b_rz - b_ij), and the criterion is the sum of all b_ij less beta times the sum of all xi.

It is not concave. But beta * max(0, v) is the maximum of m * v over 0 <= m <= beta, so for any such m the
largest eigenvalue of sum B_ij - sum m (B_rz - B_ij) is a bound, and convex in m. The least bound gives the
start of the search, and its distance from what the search finds bounds the error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.types import Floats
from rerank.learners.discriminant.scatter import Scatter

_RANK = 1e-10  # of the largest eigenvalue of the sum of all B_ij: below it there is no scatter
_TEMPERATURES = 10.0 ** -np.arange(1.0, 8.0)  # of smoothed maxima, relative to that eigenvalue
_CLOSE = 1e-7  # a gap, relative to it, at which the search is not needed
_PLANES = 50  # most eigenvectors that a sweep turns a vector towards
_SWEEPS = 5
_STEPS = 60  # of angles on either side
_ZOOMS = 6
_GRID = np.arange(-_STEPS, _STEPS + 1) / _STEPS


@dataclass(frozen=True, eq=False)
class Maximum:
    """A unit vector (k) and its criterion; no unit vector has a larger one than ``bound``."""

    vector: Floats
    value: float
    bound: float
    violated: int

    @property
    def gap(self) -> float:
        """How far the value can be from the maximum, relative to the bound."""
        return max(0.0, self.bound - self.value) / abs(self.bound) if self.bound else 0.0


class Criterion:
    """The criterion in a subspace of the coordinates of a Scatter.

    Parameters
    ----------
    scatter
        Scatter with the matrices of pairs of labels.
    beta
        What a violation costs.

    Notes
    -----
    A constraint compares means over the lists that have both labels, times the largest number of such lists:
    a label that is absent from many lists is not taken for one that is close to the others. Pairs of labels
    that no list has are in no constraint. If every list has every label, the sums are compared, as printed.
    """

    def __init__(self, scatter: Scatter, beta: float) -> None:
        self.beta = beta
        self._nested = _nested(scatter)
        values, vectors = np.linalg.eigh(scatter.of_pairs.sum(axis=0))
        self.scale = float(values[-1])
        self._basis: Floats = vectors[:, values > _RANK * self.scale]
        self._of_pairs = _projected(scatter.of_pairs, self._basis)

    @property
    def dimension(self) -> int:
        """How many dimensions are left in which label means differ."""
        return self._basis.shape[1]

    def maximum(self) -> Maximum:
        """Return the best unit vector found in these dimensions."""
        costs = self._least_bound()
        values, vectors = np.linalg.eigh(self._priced(costs))
        bound = float(values[-1])
        vector, value = vectors[:, -1], self.value(vectors[:, -1])
        if bound - value > _CLOSE * self.scale:
            fisher = np.linalg.eigh(self._of_pairs.sum(axis=0))[1][:, -1]
            directions = vectors.T[::-1][:_PLANES]
            vector = max((self._searched(start, directions) for start in (vector, fisher)), key=self.value)
            value = self.value(vector)
        slack = self._nested @ self.scatters(vector)
        violated = int(np.count_nonzero(slack < -_CLOSE * self.scale))
        return Maximum(self._basis @ vector, value, max(bound, value), violated)

    def leave(self, vector: Floats) -> None:
        """Search from now on among vectors at right angles to one that ``maximum`` returned.

        In the weights of features that is w·Ww' = 0, where Algorithm 5 deflates.
        """
        inside = self._basis.T @ vector
        turn = np.linalg.qr(inside[:, None], mode="complete")[0][:, 1:]
        self._basis = self._basis @ turn
        self._of_pairs = _projected(self._of_pairs, turn)

    def scatters(self, vector: Floats) -> Floats:
        """Return b_ij of each pair of labels, for a unit vector of these dimensions."""
        scatters: Floats = self._of_pairs @ vector @ vector
        return scatters

    def value(self, vector: Floats) -> float:
        """Return the criterion of a unit vector of these dimensions."""
        scatters = self.scatters(vector)
        violations = np.maximum(0.0, -(self._nested @ scatters))
        return float(scatters.sum() - self.beta * violations.sum())

    def _priced(self, costs: Floats) -> Floats:
        """The matrix whose largest eigenvalue is the bound for costs (n_constraints) of violations."""
        return np.tensordot(1.0 + costs @ self._nested, self._of_pairs, axes=1)

    def _least_bound(self) -> Floats:
        """The costs, 0 to beta each, whose bound is least.

        The largest eigenvalue is smoothed to t log sum exp(eigenvalue / t), for smaller and smaller t.
        """
        costs = np.zeros(len(self._nested))
        if not len(costs) or self.beta == 0:
            return costs
        from scipy.optimize import minimize

        best, least = costs, float(np.linalg.eigvalsh(self._priced(costs))[-1])
        for temperature in _TEMPERATURES * self.scale:

            def smoothed(costs: Floats, t: float = temperature) -> tuple[float, Floats]:
                values, vectors = np.linalg.eigh(self._priced(costs))
                shares = np.exp((values - values[-1]) / t)
                total = shares.sum()
                weighted = vectors * (shares / total) @ vectors.T
                slopes = self._nested @ (self._of_pairs * weighted).sum(axis=(1, 2))
                return (values[-1] + t * np.log(total)) / self.scale, slopes / self.scale

            bounds = [(0.0, self.beta)] * len(costs)
            costs = minimize(smoothed, costs, jac=True, method="L-BFGS-B", bounds=bounds).x
            bound = float(np.linalg.eigvalsh(self._priced(costs))[-1])
            if bound < least:
                best, least = costs, bound
        return best

    def _searched(self, vector: Floats, directions: Floats) -> Floats:
        """A maximum near a unit vector: the best of planes through it, then a climb, as long as they help."""
        value = self.value(vector)
        for _ in range(_SWEEPS):
            turned = vector
            for direction in directions:
                turned = self._turned(turned, direction)
            better = max((turned, self._climbed(turned)), key=self.value)
            gain = self.value(better) - value
            if gain > 0:
                vector, value = better, value + gain
            if gain <= _CLOSE * self.scale:
                break
        return vector

    def _turned(self, vector: Floats, direction: Floats) -> Floats:
        """The best unit vector of a plane: on a grid of angles, which is made finer around the best."""
        other = direction - (direction @ vector) * vector
        length = float(np.sqrt(other @ other))
        if length < 1e-6:
            return vector
        other = other / length
        products = np.array([vector, other]) @ self._of_pairs
        first, last = products[:, 0] @ vector, products[:, 1] @ other
        mixed = products[:, 0] @ other
        best, width = 0.0, np.pi / 2
        for _ in range(_ZOOMS):
            angles = best + width * _GRID
            cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
            scatters = cos * cos * first + sin * sin * last + 2.0 * cos * sin * mixed
            violations = np.maximum(0.0, -(scatters @ self._nested.T)).sum(axis=1)
            best = float(angles[int(np.argmax(scatters.sum(axis=1) - self.beta * violations))])
            width *= 2.0 / _STEPS
        turned = np.cos(best) * vector + np.sin(best) * other
        return turned if self.value(turned) > self.value(vector) else vector

    def _climbed(self, start: Floats) -> Floats:
        """A local maximum near a unit vector, by ascent with smoothed violations."""
        from scipy.optimize import minimize

        vector = start
        for temperature in _TEMPERATURES * self.scale / max(self.beta, 1.0):

            def falling(x: Floats, t: float = temperature) -> tuple[float, Floats]:
                length = float(np.sqrt(x @ x))
                unit = x / length
                products = self._of_pairs @ unit
                scatters = products @ unit
                ratio = -(self._nested @ scatters) / t
                soft = t * np.logaddexp(0.0, ratio)
                costs = self.beta / (1.0 + np.exp(-np.clip(ratio, -700.0, 700.0)))
                slope = 2.0 * (1.0 + costs @ self._nested) @ products
                slope -= (slope @ unit) * unit
                value = float(scatters.sum() - self.beta * soft.sum())
                return -value / self.scale, -slope / (length * self.scale)

            found = minimize(falling, vector, jac=True, method="L-BFGS-B").x
            vector = found / np.sqrt(found @ found)
        return vector


def _projected(matrices: Floats, basis: Floats) -> Floats:
    return np.array([basis.T @ matrix @ basis for matrix in matrices])


def _nested(scatter: Scatter) -> Floats:
    """The constraints, float64 (n_constraints, n_pairs): a product with b_ij that should not be negative."""
    factor = scatter.n_lists.max() / scatter.n_lists
    rows = []
    for outer, (i, j) in enumerate(scatter.pairs):
        for inner, (r, z) in enumerate(scatter.pairs):
            if i <= r and z <= j and inner != outer:
                row = np.zeros(len(scatter.pairs))
                row[outer], row[inner] = factor[outer], -factor[inner]
                rows.append(row)
    return np.array(rows).reshape(len(rows), len(scatter.pairs))
