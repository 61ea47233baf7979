"""The Bhattacharyya kernel: the overlap of Gaussians fitted to the items of lists (Kondor & Jebara 2003).

The thesis prints eq. 8.1 with a difference of the two roots; the kernel is the integral of their product,
which is 1 for equal Gaussians and always positive semi-definite.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.native.similarity import _gaussian
from rerank.similarity.axes import axes_of, most_axes, values_of
from rerank.similarity.base import KERNELS, Kernel, Prepared, check_comparable

_FARTHEST = 1e6  # of a value in units of the ridge's root: beyond, rounding would decide


class _PreparedDense(Prepared):
    """Gaussians with whole covariances, for features fewer than the axes of two lists together."""

    def __init__(self, lists: CandidateLists, root: float, origin: Floats) -> None:
        self.n, d = lists.n_lists, lists.n_features
        self.empty = np.empty(0, dtype=np.int64)
        memory.require(8 * self.n * d * d, f"{self.n:,} covariances of {d:,} features")
        means, covariances = np.empty((self.n, d)), np.empty((self.n, d, d))
        for i in range(self.n):
            columns, values = values_of(lists, i)
            X = np.zeros((len(values), d))
            X[:, columns] = values
            X = (X - origin) / root
            means[i] = X.mean(axis=0)
            X -= means[i]
            covariances[i] = X.T @ X / len(X) + np.eye(d)
        self._native = _gaussian.Dense(means, covariances, np.linalg.slogdet(covariances)[1])

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        _gaussian.fill_dense(self._native, other._native, first, last, out)


class _PreparedLowRank(Prepared):
    """Gaussians as axes beside a ridge, for more features than the axes of two lists together."""

    def __init__(self, lists: CandidateLists, root: float, origin: Floats, rank: int) -> None:
        self.n = lists.n_lists
        self.empty = np.empty(0, dtype=np.int64)
        self._size = lists.n_features, rank
        parts = [_low_rank(lists, i, root, origin) for i in range(self.n)]
        columns, values, own, totals = zip(*parts, strict=True)
        starts = offsets_of([block.size for block in values])
        memory.require(8 * int(starts[-1]), f"the axes of {self.n:,} lists")
        ranks = np.array([len(one) for one in own], dtype=np.int32)
        self._native = _gaussian.LowRank(
            np.concatenate(columns),
            offsets_of([len(some) for some in columns]),
            np.concatenate([block.reshape(-1) for block in values]),
            starts,
            ranks,
            offsets_of(ranks),
            np.concatenate(own),
            np.array(totals),
        )

    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        _gaussian.fill_low_rank(self._native, other._native, first, last, *self._size, out)


def _low_rank(lists: CandidateLists, i: int, root: float, origin: Floats) -> tuple[Any, ...]:
    """The columns, vectors, products and totals of one list, as ``_gaussian.LowRank`` takes them."""
    columns, values = values_of(lists, i)
    mean = ((values - origin[columns]) / root).mean(axis=0)
    found = axes_of(lists, i)
    variances = found.eigenvalues * (found.scale / root) ** 2
    vectors = np.zeros((len(columns), len(variances) + 1))
    scaled = found.vectors * np.sqrt(0.5 * variances)[:, None]
    vectors[np.searchsorted(columns, found.columns), :-1] = scaled.T
    vectors[:, -1] = mean
    products = vectors.T @ mean
    own = np.column_stack([products[:-1], 0.5 * variances])
    return columns, vectors, own, (float(np.sum(np.log1p(variances))), float(products[-1]))


@KERNELS.register("bhattacharyya")
class Bhattacharyya(Kernel):
    """The overlap of two Gaussians, each fitted to the items of a list.

    That is the integral of the square root of the product of their densities.

    It depends on where lists lie and how large they are, as well as on their shape. The ridge is added to all
    variances: lists of fewer items than features have no density without it, and the larger it is, the
    more similar all lists are.
    """

    name = "bhattacharyya"
    summary = "overlap of Gaussians fitted to the items"
    definite: ClassVar[bool] = True

    ridge: float = setting(0.01, "ridge added to the variance of each feature, in squared units of it", gt=0)

    def prepare(
        self, lists: CandidateLists, other: CandidateLists | None = None
    ) -> tuple[Prepared, Prepared]:
        sets = (lists,) if other is None else (lists, other)
        root = float(np.sqrt(self.ridge))
        origin = np.zeros(lists.n_features)
        if isinstance(lists.features, Dense) and lists.n_items:
            origin = lists.features.values[0].astype(np.float64)  # means far from 0 would cancel
        for one in sets:
            check_comparable(one)
            _check_range(one, root, origin)
        rank = max(map(most_axes, sets))
        if lists.n_features <= 2 * rank:
            found = [_PreparedDense(one, root, origin) for one in sets]
            return found[0], found[-1]
        low = [_PreparedLowRank(one, root, origin, rank) for one in sets]
        return low[0], low[-1]


def _check_range(lists: CandidateLists, root: float, origin: Floats) -> None:
    """Raise DataError if values are so large that the ridge would be lost in their rounding."""
    largest = max(lists.features.largest(), float(np.abs(origin).max(initial=0.0)))
    if largest > _FARTHEST * root:
        raise DataError(
            f"{lists.source}: found a value of {largest:g} in magnitude beside a ridge of {root * root:g}; "
            "scale the features (--scaling zscore) or raise the ridge"
        )
