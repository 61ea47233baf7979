"""Kernels between items by their features: linear, polynomial and Gaussian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from rerank.core import memory
from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.core.text import patterns_of
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Features
from rerank.data.selection import columns_matching, with_only
from rerank.similarity.base import ITEM_KERNELS, PlainKernel, PreparedPart, check_comparable

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


class PreparedVectors(PreparedPart):
    """The features of items.

    Parameters
    ----------
    kernel
        The kernel of two vectors.
    features
        One row per item.
    squares, own : float64 (n)
        |x|^2, and K(x, x) before normalisation.
    normalise
        Whether K(x, y) is divided by the square root of K(x, x) K(y, y).
    """

    def __init__(
        self, kernel: VectorKernel, features: Features, squares: Floats, own: Floats, normalise: bool
    ) -> None:
        self.kernel, self.features, self.squares, self.own = kernel, features, squares, own
        self.normalise = normalise
        self.n = features.n_items

    @classmethod
    def of(cls, kernel: VectorKernel, features: Features, normalise: bool) -> Self:
        """Return items prepared to be compared with any others that have the same columns."""
        squares = squared_norms(features)
        return cls(kernel, features, squares, kernel.of(squares, squares, 0.0).copy(), normalise)

    def take(self, index: Index) -> Self:
        rows = self.features.take(index)
        return type(self)(self.kernel, rows, self.squares[index], self.own[index], self.normalise)

    def rows(self, which: Index, other: Self, out: Floats) -> None:
        for k, product in enumerate(products(other.features, self.features.take(which))):
            out[k] = self.kernel.of(product, other.squares, float(self.squares[which[k]]))
            if self.normalise:
                _normalise(out[k], float(self.own[which[k]]), other.own)

    def diagonal(self) -> Floats:
        values = self.own.copy()
        if self.normalise:
            _normalise(values, self.own, self.own)
        return values


def _normalise(values: Floats, mine: Floats | float, theirs: Floats) -> None:
    """Divide K(x, y) by the square root of K(x, x) K(y, y); the result is 0 if one of them is 0.

    The root of a square is exact unless it overflows or underflows; roots of factors never do.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        both = mine * theirs
        exact = (both > 1e-290) & (both < np.inf)
        norms = np.where(exact, np.sqrt(both), np.sqrt(mine) * np.sqrt(theirs))
        np.divide(values, norms, out=values, where=norms > 0)
    values[norms == 0] = 0.0


class OnFeatures(PlainKernel):
    """A kernel of the features of two items."""

    compares: ClassVar[Literal["features"]] = "features"
    usage: ClassVar[str] = "(FEATURES, KEY=VALUE); FEATURES are names, ranges and globs, none = all"

    def check(self, of: tuple[str, ...]) -> None:
        try:
            patterns_of(of)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def prepare(self, of: tuple[str, ...], sets: Sequence[CandidateLists]) -> list[PreparedPart]:
        found: list[PreparedPart] = []
        for lists in sets:
            features = self._chosen(of, lists).features
            found.append(PreparedVectors.of(self.function(), features, getattr(self, "normalise", False)))
        return found

    def _chosen(self, of: tuple[str, ...], lists: CandidateLists) -> CandidateLists:
        """The lists with the chosen features only; raises DataError if one is unknown or missing."""
        if of and lists.n_features:
            chosen = columns_matching(lists.columns(), of, f"{lists.source}: kernel {self.name}")
            lists = with_only(lists, chosen, ",".join(of))
        check_comparable(lists, f"{self.name} kernels")
        return lists

    def function(self) -> VectorKernel:
        """Return the kernel of two vectors."""
        values = self.get_params()
        values.pop("normalise", None)
        return VectorKernel(self.name, **values)  # type: ignore[arg-type]  # a KernelName by registration


class _Normalised(OnFeatures):
    normalise: bool = setting(
        False, "divide K(x, y) by the square root of K(x, x) K(y, y); 0 if one of them is 0"
    )


@ITEM_KERNELS.register("linear")
class Linear(_Normalised):
    """The inner product of the features, x·y; normalised it is their cosine."""

    name = "linear"
    summary = "inner product of features"


@ITEM_KERNELS.register("polynomial")
class Polynomial(_Normalised):
    """A power of the inner product, (gamma x·y + constant)^degree: products of up to so many features."""

    name = "polynomial"
    summary = "power of the inner product of features"

    degree: int = setting(2, "exponent", ge=1, le=100)
    gamma: float = setting(1.0, "factor of the inner product, gamma", gt=0)
    constant: float = setting(1.0, "constant added to the inner product", ge=0)


@ITEM_KERNELS.register("gaussian")
class Gaussian(OnFeatures):
    """exp(-gamma |x - y|^2), which is 1 for equal features."""

    name = "gaussian"
    summary = "Gaussian of the distance of features"

    gamma: float = setting(1.0, "1 / (2 variance)", gt=0)
