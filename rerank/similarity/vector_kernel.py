"""Kernels between items by their features: linear, polynomial and Gaussian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rerank.core import memory
from rerank.core.types import Floats
from rerank.data.matrix import Features

KernelName = Literal["linear", "polynomial", "gaussian"]


@dataclass(frozen=True)
class VectorKernel:
    """K(x, x') of two items.

    linear      x·x'
    polynomial  (gamma x·x' + constant)^degree
    gaussian    exp(-gamma |x - x'|^2)
    """

    name: KernelName
    degree: int = 2
    gamma: float = 1.0
    constant: float = 1.0

    def of(self, products: Floats, squares: Floats, square: float) -> Floats:
        """Return the kernel of items with one other item, float64 (n).

        Parameters
        ----------
        products
            x·x' of the items, float64 (n).
        squares, square
            |x|^2 of the items, float64 (n), and of the other one.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.name == "linear":
                return products
            if self.name == "polynomial":
                found: Floats = (self.gamma * products + self.constant) ** self.degree
                return found
            distances = np.maximum(squares + square - 2.0 * products, 0.0)
            gaussian: Floats = np.exp(-self.gamma * distances)
            return gaussian

    def columns(self, features: Features, others: Features) -> Floats:
        """Return the kernel of every item with every other one, float64 (n_others, n_items).

        Each number has the same bits whatever else is in the matrix, and in every layout: sums run in the
        order of the columns. Values that overflow are infinite or NaN.

        Raises RerankError if there is no memory for the matrix.
        """
        n, m = features.n_items, others.n_items
        memory.require(8 * n * m, f"a kernel of {m:,} x {n:,} items", "kernels are for small data")
        squares, of_others = squared_norms(features), squared_norms(others)
        out = np.empty((m, n))
        for k, product in enumerate(products(features, others)):
            out[k] = self.of(product, squares, float(of_others[k]))
        return out


def products(features: Features, others: Features) -> Iterator[Floats]:
    """Yield x·x' of all items (n_items) for each other item; sums run in the order of the columns."""
    for k in range(others.n_items):
        row = np.ascontiguousarray(others.take(slice(k, k + 1)).to_dense()[0], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            found = features.scores(row)
        yield found


def squared_norms(features: Features) -> Floats:
    """Return |x|^2 of every item, float64 (n_items), summed in the order of the columns."""
    rows = features.compressed()
    out = np.zeros(rows.n_items)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.ones(rows.n_values) if rows.data is None else rows.data**2
        np.add.at(out, np.repeat(np.arange(rows.n_items), np.diff(rows.indptr)), squares)
    return out
