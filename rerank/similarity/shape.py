"""Kernels on the principal axes of lists: their shape and orientation, wherever they lie.

Duh: Learning to rank with partially-labeled data. PhD thesis, University of Washington 2009, sections 8.2
and 8.3.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rerank.core.settings import setting
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.native.similarity import _list_kernel
from rerank.similarity.axes import PrincipalAxes, check_comparable, most_axes, principal_axes
from rerank.similarity.base import KERNELS, Kernel, Prepared


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
