"""Eigenvalues of Gram matrices: whether a matrix is positive semi-definite, its repair, and maps of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.types import Floats

REPAIRS = ("clip", "flip")
_SMALL = 300  # lists up to which all eigenvectors cost less than an iteration for some


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a Gram matrix.

    Attributes
    ----------
    eigenvalues : float64 (n)
        Falling.
    n_negative : int
        How many are below 0 by more than rounding.
    negative_share : float
        The sum of their magnitudes divided by that of all.
    """

    eigenvalues: Floats
    n_negative: int
    negative_share: float

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues[-1])


def spectrum(gram: Floats) -> Spectrum:
    """Return the eigenvalues of a symmetric matrix and what is known of them.

    Parameters
    ----------
    gram : float64 (n, n)

    Raises
    ------
    DataError, RerankError
        If it is not a symmetric matrix of finite numbers, or there is no memory for its copy.
    """
    values = np.asarray(np.linalg.eigvalsh(_checked(gram))[::-1], dtype=np.float64)
    magnitude = np.abs(values)
    negative = values < -len(values) * np.finfo(np.float64).eps * magnitude.max()
    total = float(np.sum(magnitude))
    share = float(np.sum(magnitude[negative])) / total if total else 0.0
    return Spectrum(values, int(np.count_nonzero(negative)), share)


def repaired(gram: Floats, how: Literal["clip", "flip"]) -> Floats:
    """Return the positive semi-definite matrix that a repair makes of a symmetric one.

    Learners that rely on a positive semi-definite kernel, such as support vector machines, need it; methods
    on graphs need only values of 0 or more, which a repair does not keep. Rows of new lists cannot be
    repaired by themselves: they have to be in the matrix.

    Parameters
    ----------
    gram : float64 (n, n)
    how : str
        ``clip`` sets negative eigenvalues to 0, which gives the nearest such matrix; ``flip`` takes their
        magnitudes.

    Raises
    ------
    ConfigError, DataError, RerankError
        If the repair is unknown, or as for ``spectrum``.
    """
    if how not in REPAIRS:
        raise ConfigError(f"unknown repair {how!r}; {did_you_mean(how, REPAIRS)}")
    values, vectors = np.linalg.eigh(_checked(gram))
    kept = np.maximum(values, 0.0) if how == "clip" else np.abs(values)
    root = vectors * np.sqrt(kept)
    out = root @ root.T
    return 0.5 * (out + out.T)


def plane(gram: Floats) -> tuple[Floats, Floats]:
    """Return the two coordinates of each list in which distances are kept best (kernel PCA, classical MDS).

    The squared distance of two lists is K(x, x) + K(y, y) - 2 K(x, y). In each coordinate the value of the
    largest magnitude is positive, the first on ties.

    Parameters
    ----------
    gram : float64 (n, n)

    Returns
    -------
    points : float64 (n, 2)
        0 in a coordinate without a positive eigenvalue.
    shares : float64 (2)
        Eigenvalue divided by the sum of all, negative ones included; 0 if that is not positive.

    Raises
    ------
    DataError, RerankError
        As for ``spectrum``.
    """
    centred = _checked(gram).copy()
    mean = centred.mean(axis=0)
    centred -= mean
    centred -= mean[:, None] - mean.mean()
    values, vectors = _two_largest(centred)
    total = float(np.trace(centred))
    noise = len(centred) * np.finfo(np.float64).eps * max(1.0, float(np.abs(gram).max()))
    kept = np.where(values > noise, values, 0.0)
    points = np.zeros((len(centred), 2))
    points[:, : len(kept)] = vectors * np.sqrt(kept)
    for axis in points.T:
        largest = np.abs(axis) >= (1.0 - 1e-9) * np.abs(axis).max()
        if axis[int(np.argmax(largest))] < 0:
            axis *= -1.0
    shares = np.zeros(2)
    shares[: len(kept)] = kept / total if total > noise else 0.0
    return points, shares


def _two_largest(matrix: Floats) -> tuple[Floats, Floats]:
    """The two largest eigenvalues of a symmetric matrix, or fewer if it is smaller, and their vectors."""
    n = len(matrix)
    if n > _SMALL and np.any(matrix):
        from scipy.sparse.linalg import ArpackError, eigsh

        start = np.cos(np.arange(n, dtype=np.float64))  # any fixed vector that is not constant
        try:
            values, vectors = eigsh(matrix, k=2, which="LA", v0=start)
        except ArpackError:
            pass  # many equal eigenvalues
        else:
            order = np.argsort(-values, kind="stable")
            return values[order], vectors[:, order]
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:2], vectors[:, ::-1][:, :2]


def _checked(gram: Floats) -> Floats:
    """The matrix; raises DataError if it is not symmetric and finite."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not len(gram):
        raise DataError(f"gram: found shape {gram.shape}, expected a square matrix")
    memory.require(4 * gram.nbytes, f"the eigenvectors of {len(gram):,} lists")
    if not np.isfinite(gram).all():
        raise DataError("gram: found a number that is not finite")
    if not np.allclose(gram, gram.T, rtol=1e-9, atol=1e-12):
        raise DataError("gram: found a matrix that is not symmetric")
    return gram
