"""What every feature matrix can do, whatever its layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError
from rerank.core.types import AnyArray, Floats, Index, Ints
from rerank.native.data import _matrix


def require_dense(n_items: int, n_features: int, dtype: Any = np.float64) -> None:
    """Raise RerankError if there is no memory for a dense matrix (n_items, n_features)."""
    memory.require(
        n_items * n_features * np.dtype(dtype).itemsize,
        f"a dense matrix of {n_items:,} x {n_features:,}",
        "sparse features need memory for the values present only (--layout sparse)",
    )


class NotFiniteError(DataError):
    """A value that is infinite, or NaN where that is not allowed.

    Attributes
    ----------
    item, column
        Its row and its column, from 0.
    value
        What was found.
    """

    def __init__(self, item: int, column: int, value: float) -> None:
        super().__init__(f"item {item}, feature column {column}: value is {value}")
        self.item, self.column, self.value = item, column, value


def with_multiple(values: AnyArray, at: Any, factor: float) -> AnyArray:
    """Return a copy of an array with the values ``at`` multiplied; those that overflow are infinite."""
    new = values.copy()
    with np.errstate(over="ignore"):
        new[at] *= factor
    return new


class Features(ABC):
    """Features of items, a matrix (n_items, n_features).

    Every layout gives the same bits of scores for the same numbers: sums run in the order of the columns.
    """

    __slots__ = ()

    layout: ClassVar[str]

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of rows."""

    if TYPE_CHECKING:  # a field of Sparse, whose dataclass would take a property here for its default

        @property
        def n_features(self) -> int:
            """Number of columns."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """Number of values stored; dense columns store their zeros."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values, float64 except for dense float32 features."""
        return np.dtype(np.float64)

    @abstractmethod
    def check(self, nan_allowed: bool) -> bool:
        """Check the invariants and return whether any value is NaN.

        Raises
        ------
        DataError
            If an invariant does not hold, a value is infinite, or NaN and not allowed.
        """

    @abstractmethod
    def matrix(self) -> Any:
        """Return the ``Matrix`` that kernels take, a view of these arrays."""

    def scores(self, w: Floats) -> Floats:
        """Return w·x of every item, float64 (n_items), for weights w (n_features)."""
        out = np.zeros(self.n_items)
        _matrix.scores(self.matrix(), w, out)
        return out

    def transposed_product(self, c: Floats) -> Floats:
        """Return the sum of c times x over all items, float64 (n_features), for c (n_items)."""
        out = np.zeros(self.n_features)
        if self.n_values:
            _matrix.transposed(self.matrix(), c, out)
        return out

    @abstractmethod
    def take(self, rows: Index | slice) -> Features:
        """Return the items at ``rows``, in that order."""

    @abstractmethod
    def column(self, j: int) -> Floats:
        """Return a copy of the values of column ``j``, float64 (n_items)."""

    def columns(self) -> Iterator[Floats]:
        """Yield every column in turn, as ``column`` returns it."""
        for items, values in self.by_column():
            out = values
            if items is not None:
                out = np.zeros(self.n_items)
                out[items] = values
            yield out

    def by_column(self) -> Iterator[tuple[Ints | None, Floats]]:
        """Yield the items of every column in turn, rising, and their values; items None: all items."""
        for j in range(self.n_features):
            yield None, self.column(j)

    @abstractmethod
    def select(self, columns: Index, n_features: int) -> Features:
        """Return the features with column j moved to columns[j] of ``n_features``, dropped if it is -1."""

    @abstractmethod
    def with_columns(self, values: Floats) -> Features:
        """Return the features with the columns of ``values`` (n_items, n) after the last."""

    @abstractmethod
    def multiplied(self, column: int, factor: float) -> Features:
        """Return the features with one column multiplied; arrays that do not change are shared."""

    @abstractmethod
    def occurring(self) -> Index:
        """Return the columns that store a value of any item, rising."""

    @abstractmethod
    def largest(self) -> float:
        """Return the largest magnitude of any value, 0 if there is none."""

    @abstractmethod
    def to_dense(self) -> AnyArray:
        """Return the features as an array (n_items, n_features), without a copy if they are dense."""

    @abstractmethod
    def compressed(self) -> Any:
        """Return the features as compressed rows, Sparse; zeros of dense columns are left out."""

    @abstractmethod
    def arrays(self) -> dict[str, AnyArray | None]:
        """Return the arrays that hold the features, under the names of their files in a store."""

    @abstractmethod
    def describe(self) -> str:
        """Return the layout and its size in a few words."""
