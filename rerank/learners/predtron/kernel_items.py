"""The training items whose coefficients the kernel form learns, and the kernel with them."""

from __future__ import annotations

import numpy as np

from rerank.core.errors import FitError
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.similarity.vectors import VectorKernel


class KernelItems:
    """Items, and the columns of a kernel with them.

    Parameters
    ----------
    kernel
        K.
    items
        The training items.
    source
        Where they came from, for messages.
    """

    def __init__(self, kernel: VectorKernel, items: Sparse, source: str) -> None:
        self.kernel, self.items, self.source = kernel, items, source
        self._known: dict[int, tuple[CandidateLists, Floats]] = {}  # lists are held: no other has their id

    def gram(self) -> Floats:
        """Return the kernel of all pairs of items, float64 (n, n); raise FitError if it overflows."""
        gram = self.kernel.columns(self.items, self.items)
        if not np.isfinite(gram).all():
            raise FitError(f"{self.source}: the kernel overflows; scale the features (--scaling)")
        return gram

    def columns(self, lists: CandidateLists) -> Floats:
        """Return the kernel with the items of ``lists``, float64 (n, n_items); it is computed once."""
        if id(lists) not in self._known:
            self._known[id(lists)] = lists, self.kernel.columns(lists.features, self.items)
        return self._known[id(lists)][1]
