"""Principal axes of lists: the directions in which the items of a list differ most, and how much.

The items of a list are centred. Its axes are the eigenvectors of their covariance (divided by the number of
items), largest eigenvalue first; their signs are arbitrary. Features that are constant within the list, up to
8 roundings of the largest magnitude, count as constant, and an axis whose standard deviation is within the
rounding errors of the largest one is left out.

Axes of equal eigenvalues (1e-9 apart, relatively) are not unique. They are chosen by the features: the first
one is the direction of their space that is nearest to one feature, the first feature on ties; then the next
among those orthogonal to it. This does not depend on the order of the items, but on that of the features.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import Floats, Index, Ints, Mask
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.data.scaling import data_of, tolerance_of
from rerank.native.similarity import _list_kernel
from rerank.similarity.base import KERNELS, Kernel, Prepared, check_comparable

_COPIES = 4  # of the values of one list, at a time
_TINY = 1e-300  # a range that counts as constant, as for scalings
_TIED = 1e-9  # relative distance of equal eigenvalues
_STEADY = 1e-6  # an eigenvalue relative to the largest, down to which products of items give an exact axis
_NEAR = 1e-6  # relative distance of features that are equally near to a space


@dataclass(frozen=True, eq=False)
class Axes:
    """The axes of one list.

    Attributes
    ----------
    columns : int32 (n), rising
        The features that vary within the list.
    vectors : float64 (m, n)
        Orthogonal unit vectors over these columns.
    eigenvalues : float64 (m), falling
        Variances along the axes, in units of ``scale`` squared, which is needed for values up to 1e308.
    total : float
        The sum of all eigenvalues, also of those that were left out.
    scale : float
        Above 0.
    tied : bool
        Whether some of the eigenvalues are equal, or the last one to one that was left out.
    """

    columns: Ints
    vectors: Floats
    eigenvalues: Floats
    total: float
    scale: float
    tied: bool


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """The first axes of all lists of a set, as kernels take them.

    Attributes
    ----------
    bounds : int64 (n_lists + 1)
        The columns of list i are ``columns[bounds[i]:bounds[i + 1]]``.
    columns : int32 (n)
    values : float64 (n, m)
        The m unit vectors of a list in each of its columns; 0 for axes that it does not have.
    eigenvalues : float64 (n_lists, m)
        As shares of the list's variance; 0 for axes that it does not have.
    counts : int64 (n_lists)
        The number of axes of each list, at most m; 0 for a list of equal items.
    tied : bool (n_lists)
        Whether equal eigenvalues make some of its axes a choice.
    """

    bounds: Index
    columns: Ints
    values: Floats
    eigenvalues: Floats
    counts: Index
    tied: Mask

    @property
    def weights(self) -> Floats:
        """The eigenvalues of each list divided by their norm, float64 (n_lists, m)."""
        norms = np.sqrt(np.einsum("ij,ij->i", self.eigenvalues, self.eigenvalues))
        return self.eigenvalues / np.where(norms > 0, norms, 1.0)[:, None]


def most_axes(lists: CandidateLists) -> int:
    """Return a bound on the number of axes that any of the lists has, at least 1."""
    return max(1, min(int(lists.lengths.max()) - 1, lists.n_features))


def principal_axes(lists: CandidateLists, components: int) -> PrincipalAxes:
    """Return the first axes of every list.

    Parameters
    ----------
    lists
        Lists without missing features.
    components
        The number of axes of each list; a list of n items has n - 1 at most.

    Raises
    ------
    DataError, RerankError
        If the lists have missing features or none, or there is no memory for the axes.
    """
    check_comparable(lists)
    found = [axes_of(lists, i, components) for i in range(lists.n_lists)]
    bounds = offsets_of([len(axes.columns) for axes in found])
    memory.require(8 * components * int(bounds[-1]), f"the axes of {lists.n_lists:,} lists")
    values = np.zeros((int(bounds[-1]), components))
    eigenvalues = np.zeros((lists.n_lists, components))
    counts = np.array([len(axes.eigenvalues) for axes in found], dtype=np.int64)
    for i, axes in enumerate(found):
        m = len(axes.eigenvalues)
        values[bounds[i] : bounds[i + 1], :m] = axes.vectors.T
        eigenvalues[i, :m] = axes.eigenvalues / axes.total if m else 0.0
    columns = np.concatenate([axes.columns for axes in found])
    tied = np.array([axes.tied for axes in found])
    return PrincipalAxes(bounds, columns, values, eigenvalues, counts, tied)


def axes_of(lists: CandidateLists, i: int, components: int | None = None) -> Axes:
    """Return the axes of list ``i``, all of them or the first ``components``."""
    columns, X = values_of(lists, i)
    low, high = X.min(axis=0), X.max(axis=0)
    tolerance = tolerance_of(lists.features.dtype) * np.maximum(np.abs(low), np.abs(high))
    varying = np.flatnonzero(0.5 * high - 0.5 * low > 0.5 * np.maximum(tolerance, _TINY))
    if len(varying) == 0:
        return Axes(columns[:0], np.empty((0, 0)), np.empty(0), 0.0, 1.0, False)
    X = 0.5 * X[:, varying]  # a difference of halves never overflows
    X -= X[0].copy()
    scale = float(np.abs(X).max())
    X /= scale
    X -= X.mean(axis=0)
    values, vectors = _decomposed(X, components, f"{lists.source}: list {lists.list_id(i)!r}")
    total = float(np.einsum("ij,ij->", X, X)) / len(X)
    values, vectors, tied = _chosen(values, vectors, components or len(values))
    return Axes(columns[varying], vectors, values, total, 2.0 * scale, tied)


def values_of(lists: CandidateLists, i: int) -> tuple[Ints, Floats]:
    """Return the features that list ``i`` stores, int32 and rising, and their values, a new array."""
    first, last = int(lists.offsets[i]), int(lists.offsets[i + 1])
    features = lists.features
    if isinstance(features, Dense):
        _require(lists, i, features.n_features)
        values = features.values[first:last].astype(np.float64)
        return np.arange(features.n_features, dtype=np.int32), values
    part = features.take(slice(first, last)).compressed()
    columns, places = np.unique(part.indices, return_inverse=True)
    _require(lists, i, len(columns))
    local = Sparse(part.indptr, places.astype(np.int32), data_of(part), len(columns))
    return columns.astype(np.int32), np.asarray(local.to_dense())


def _require(lists: CandidateLists, i: int, n_columns: int) -> None:
    """Raise RerankError if there is no memory for the axes of a list with so many features."""
    n = int(lists.lengths[i])
    what = f"list {lists.list_id(i)!r} as a dense matrix of {n:,} x {n_columns:,}"
    memory.require(_COPIES * 8 * n * n_columns, what, "fewer features need less (--features)")


def _decomposed(X: Floats, components: int | None, where: str) -> tuple[Floats, Floats]:
    """The eigenvalues (m), falling, and eigenvectors (m, d) of centred items (n, d) that are no rounding.

    Those after the first ``components`` may be left out, except if they equal the last of these.
    """
    n, d = X.shape
    try:
        if components is not None and d > 2 * n:
            found = _by_products(X, components)
            if found is not None:
                return found
        R = np.linalg.qr(X, mode="r") if n > 2 * d else X
        singular, vectors = np.linalg.svd(R, full_matrices=False)[1:]
    except np.linalg.LinAlgError:
        raise DataError(f"{where}: its principal axes could not be computed") from None
    m = max(1, np.count_nonzero(singular > singular[0] * max(n, d) * np.finfo(np.float64).eps))
    return singular[:m] ** 2 / n, vectors[:m]


def _by_products(X: Floats, components: int) -> tuple[Floats, Floats] | None:
    """Return what ``_decomposed`` returns, by inner products of items: four times as fast for few items.

    None if an eigenvalue that is needed is so small that its axis would suffer from rounding.
    """
    values, coordinates = np.linalg.eigh(X @ X.T)
    values, coordinates = values[::-1], coordinates[:, ::-1]
    last = min(components, len(X) - 1) - 1
    m = last + 1 + int(np.count_nonzero(values[last + 1 :] >= (1.0 - len(values) * _TIED) * values[last]))
    if not values[m - 1] > _STEADY * values[0]:
        return None
    vectors = coordinates[:, :m].T @ X
    return values[:m] / len(X), vectors / np.sqrt(values[:m])[:, None]


def _chosen(values: Floats, vectors: Floats, m: int) -> tuple[Floats, Floats, bool]:
    """The first ``m`` eigenvalues, their axes, and whether some of them were chosen by the features."""
    kept = min(m, len(values))
    tied = False
    values, out = values.copy(), vectors[:kept].copy()
    for first, last in _groups(values):
        if first < kept and last - first > 1:
            tied = True
            values[first:last] = values[first:last].mean()
            out[first:last] = _by_feature(vectors[first:last], min(last, kept) - first)
    return values[:kept], out, tied


def _groups(values: Floats) -> Iterator[tuple[int, int]]:
    """The first and one after the last of neighbouring eigenvalues that are equal."""
    apart = np.flatnonzero(values[:-1] - values[1:] > _TIED * values[:-1]) + 1
    ends = [0, *apart.tolist(), len(values)]
    return pairwise(ends)


def _by_feature(basis: Floats, m: int) -> Floats:
    """``m`` orthogonal unit vectors of the space of ``basis`` (g, d), each nearest to one feature."""
    out = np.empty((m, basis.shape[1]))
    left = basis.copy()  # the space that is left, (g, d)
    for k in range(m):
        near = np.einsum("ij,ij->j", left, left)
        j = int(np.flatnonzero(near >= (1.0 - _NEAR) * near.max())[0])
        direction = left[:, j] / np.sqrt(near[j])  # in the coordinates of the basis
        out[k] = direction @ left
        left -= np.outer(direction, out[k])
    return out


class PreparedAxes(Prepared):
    """Lists with their first axes."""

    def __init__(self, found: PrincipalAxes, kind: int, n_columns: int) -> None:
        self.n = len(found.counts)
        self.axes = found.counts
        self.empty = np.flatnonzero(found.counts == 0).astype(np.int64)
        self.shares = found.eigenvalues.sum(axis=1)
        self.tied = found.tied
        self._kind, self._n_columns = kind, n_columns
        self._native = _list_kernel.Axes(found.columns, found.bounds, found.values, found.weights)

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        _list_kernel.fill(self._native, other._native, self._kind, first, last, self._n_columns, out)


class _OnAxes(Kernel):
    """A kernel on the first axes of two lists; one of equal items has none, and the similarity 0 to all."""

    kind: ClassVar[int]

    components: int = setting(5, "principal axes of each list", ge=1)

    def prepare(
        self, lists: CandidateLists, other: CandidateLists | None = None
    ) -> tuple[PreparedAxes, PreparedAxes]:
        sets = (lists,) if other is None else (lists, other)
        for one in sets:
            check_comparable(one)
        m = min(self.components, max(map(most_axes, sets)))
        found = [PreparedAxes(principal_axes(one, m), self.kind, lists.n_features) for one in sets]
        return found[0], found[-1]


@KERNELS.register("list")
class ListKernel(_OnAxes):
    """The list kernel: the axes of two lists are paired so that they agree best, weighted by eigenvalues.

    Axes are paired one to one. The largest total of eigenvalue times eigenvalue times |cosine| is divided by
    the norms of both lists' eigenvalues.

    It depends on the shape and the orientation of lists, not on where they lie or how large they are.
    """

    name = "list"
    summary = "best pairing of the principal axes, weighted by their eigenvalues"
    kind = 0


@KERNELS.register("angles")
class AnglesKernel(_OnAxes):
    """The largest |cosine| between an axis of one list and an axis of the other, whatever their eigenvalues.

    This is how the thesis uses the principal angle between two lists.
    """

    name = "angles"
    summary = "largest cosine between two principal axes"
    kind = 1


@KERNELS.register("angles-subspace")
class SubspaceKernel(_OnAxes):
    """The cosine of the smallest angle between the subspaces that the axes span (Hotelling).

    It is 1 for all lists once they have more axes together than there are features.
    """

    name = "angles-subspace"
    summary = "cosine of the smallest angle between the subspaces of the principal axes"
    kind = 2
