"""Kernel principal components of one list's items (Schölkopf, Smola & Müller 1998)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rerank.core.types import Floats
from rerank.transductive.space import Points

_TIED = 1e-9  # relative distance of equal eigenvalues
_NEAR = 1e-6  # relative distance of equal lengths and correlations
_NOISE = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Components:
    """The first components of a kernel on the items of a list, c of them.

    An item x has the value (sum over items j of dual_j k(x, j)) - shift in a component. Over the list's items
    a component has the mean 0 and the variance eigenvalue / m.

    Attributes
    ----------
    dual : float64 (m, c)
        Their sum over items is 0, so that k(x, ·) needs no centring of its own.
    shift : float64 (c)
    values : float64 (m, c)
        The components of the list's items.
    eigenvalues : float64 (c), falling
        Of the centred kernel matrix: m times the variance.
    """

    dual: Floats
    shift: Floats
    values: Floats
    eigenvalues: Floats


def components_of(gram: Floats, points: Points, most: int) -> Components:
    """Return the first components of a kernel matrix, at most ``most``.

    The matrix is centred in kernel space. With its eigenvalues r = m λ and unit eigenvectors a, components
    are K a / sqrt(r). Those whose eigenvalue is within rounding of 0 are left out. The sign of a component is
    that of its covariance with the sum of the item's features; if that is 0, of the covariance with the
    feature that it follows most; then of its third moment. Components of equal eigenvalues are those that
    follow single features most. None of that depends on the order of the items.

    Parameters
    ----------
    gram : float64 (m, m)
        Symmetric, finite and positive semi-definite.
    points
        The m items.
    most
        1 or more.
    """
    mean = gram.mean(axis=0)
    centred = gram - mean
    centred -= centred.mean(axis=1)[:, None]
    noise = len(gram) * _NOISE * float(np.abs(gram).max())
    eigenvalues, vectors = _leading(0.5 * (centred + centred.T), most, noise)
    vectors = _separated(eigenvalues, vectors, points, noise)
    kept = min(most, int(np.count_nonzero(eigenvalues > noise)))
    eigenvalues, vectors = eigenvalues[:kept], vectors[:, :kept]
    vectors = vectors - vectors.mean(axis=0)
    vectors *= _signs(vectors, points)
    roots = np.sqrt(eigenvalues)
    dual = vectors / roots
    return Components(dual, mean @ dual, vectors * roots, eigenvalues)


def _leading(centred: Floats, most: int, noise: float) -> tuple[Floats, Floats]:
    """The first eigenvalues, falling, and eigenvectors (m, c); more than ``most`` if the next are equal."""
    from scipy.linalg import eigh

    m = len(centred)
    first = max(m - most - 1, 0)
    values, vectors = eigh(centred, subset_by_index=[first, m - 1], driver="evr", check_finite=False)
    if first > 0 and values[1] > noise and values[1] - values[0] <= max(_TIED * values[1], noise):
        values, vectors = eigh(centred, driver="evr", check_finite=False)
    return values[::-1], vectors[:, ::-1]


def _separated(values: Floats, vectors: Floats, points: Points, noise: float) -> Floats:
    """The eigenvectors with those of equal eigenvalues rotated into the ones chosen by features."""
    apart = np.flatnonzero(values[:-1] - values[1:] > np.maximum(_TIED * values[:-1], noise)) + 1
    out = vectors
    for first, last in pairwise([0, *apart.tolist(), len(values)]):
        if last - first > 1 and values[first] > noise:
            out = out.copy() if out is vectors else out
            out[:, first:last] = _by_feature(vectors[:, first:last], points)
    return out


def _by_feature(basis: Floats, points: Points) -> Floats:
    """The basis (m, g) rotated: each vector in turn follows one feature most, or else one item."""
    of_features = points.transposed_product(basis)
    of_items = basis.copy()
    least = _NEAR * np.sqrt(np.einsum("ij,ij->i", of_features, of_features).max(initial=0.0))
    out = np.empty_like(basis)
    for k in range(basis.shape[1]):
        direction = _longest(of_features, least)
        if direction is None:
            direction = _longest(of_items, 0.0)
        assert direction is not None
        out[:, k] = basis @ direction
        for left in (of_features, of_items):
            left -= np.outer(left @ direction, direction)
    return out


def _longest(rows: Floats, least: float) -> Floats | None:
    """The direction of the longest row, the first on ties; None if none is longer than ``least``."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    longest = float(lengths.max(initial=0.0))
    if longest <= least:
        return None
    j = int(np.argmax(lengths >= (1.0 - _NEAR) * longest))
    found: Floats = rows[j] / lengths[j]
    return found


def _signs(vectors: Floats, points: Points) -> Floats:
    """The sign of each column, -1 or 1; see ``components_of``."""
    sums = points.sums - points.sums.mean()
    size = np.sqrt(sums @ sums)
    features: Floats | None = None
    signs = np.ones(vectors.shape[1])
    for c, vector in enumerate(vectors.T):
        agreement = float(sums @ vector)
        if abs(agreement) <= _TIED * size:
            features = points.transposed_product(vectors) if features is None else features
            agreement = _first_largest(features[:, c])
            if abs(agreement) <= _TIED * np.sqrt(points.norms.sum()):
                agreement = float((vector**3).sum())
                if abs(agreement) <= _TIED * float(np.abs(vector**3).sum()):
                    agreement = _first_largest(vector)
        signs[c] = -1.0 if agreement < 0 else 1.0
    return signs


def _first_largest(numbers: Floats) -> float:
    """The number of the largest magnitude, the first on ties; 0 if there is none."""
    if not len(numbers):
        return 0.0
    sizes = np.abs(numbers)
    return float(numbers[int(np.argmax(sizes >= (1.0 - _NEAR) * sizes.max()))])
