"""Base classes of kernels on lists and on items: settings, and sets that are prepared to be compared."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np

from rerank.core.errors import DataError, DataNote
from rerank.core.registry import Registry
from rerank.core.settings import Settings, value_text
from rerank.core.text import count, some
from rerank.core.types import Floats, Index, Mask
from rerank.data.lists import CandidateLists


class Prepared(ABC):
    """The lists of one set in the form in which a kernel compares them.

    Attributes
    ----------
    n : int
        The number of lists.
    axes : int64 (n), optional
        The number of principal axes by which each list is compared; None if the kernel uses no such number.
    empty : int64
        The lists whose similarity to every list, also to themselves, is 0.
    shares : float64 (n), optional
        The share of each list's variance that its axes hold.
    tied : bool (n), optional
        Whether equal eigenvalues make some of its axes a choice.
    """

    n: int
    axes: Index | None = None
    empty: Index
    shares: Floats | None = None
    tied: Mask | None = None

    @abstractmethod
    def fill(self, other: Any, first: int, last: int, out: Floats) -> None:
        """Compute rows ``first:last`` of the Gram matrix with ``other`` into ``out`` (last - first, other.n).

        If ``other`` is this object, entries below the diagonal may be left out. Each entry has the same bits
        whatever rows are computed together.
        """


def note_tied(prepared: Prepared, source: str, stacklevel: int = 3) -> None:
    """Warn if equal eigenvalues make axes of lists, and so their similarities, a choice."""
    n = 0 if prepared.tied is None else int(np.count_nonzero(prepared.tied))
    if n:
        text = f"{n} of {count(prepared.n, 'list')} that are compared have axes of equal variance"
        advice = "the order of the features decides which of them are compared"
        warnings.warn(f"{source}: {text}: {advice}", DataNote, stacklevel=stacklevel)


def check_comparable(lists: CandidateLists, kernels: str = "kernels on lists") -> None:
    """Raise DataError if lists have no features, or missing ones; ``kernels`` is what compares them."""
    if lists.n_features == 0:
        raise DataError(f"{lists.source}: no features; {kernels} compare the features of items")
    if lists.has_missing:
        names = lists.names()
        gaps = [names[j] for j, column in enumerate(lists.features.columns()) if np.isnan(column).any()]
        advice = f"leave the features out (--features '{','.join(f'-{name}' for name in gaps)}')"
        found = f"missing (NaN) values of {count(len(gaps), 'feature')} ({some(gaps)})"
        raise DataError(f"{lists.source}: {found}; {kernels} need every value: {advice}")


class Kernel(Settings, ABC):
    """A similarity of two lists; a file of this package with a registered class is a new kernel.

    Attributes
    ----------
    name, summary : str
        As in ``rerank list kernels``.
    definite : bool
        Whether every Gram matrix is positive semi-definite.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    definite: ClassVar[bool] = False

    @abstractmethod
    def prepare(
        self, lists: CandidateLists, other: CandidateLists | None = None
    ) -> tuple[Prepared, Prepared]:
        """Return both sets prepared for each other; without ``other`` the first one twice.

        ``other`` has the columns of ``lists``. Raises DataError if the lists cannot be compared.
        """


KERNELS: Registry[type[Kernel]] = Registry(
    "kernel", "rerank.similarity", "rerank.extensions", base=lambda: Kernel
)


class PreparedPart(ABC):
    """The items of one set in the form in which one kernel of an expression compares them.

    Attributes
    ----------
    n : int
        The number of items.
    """

    n: int

    @abstractmethod
    def take(self, index: Index) -> Self:
        """Return the items at ``index``, in that order; they can be compared with the same sets."""

    @abstractmethod
    def rows(self, which: Index, other: Self, out: Floats) -> None:
        """Compute the kernel of items ``which`` and all items of ``other`` as ``out`` (len(which), other.n).

        ``other`` was prepared together with this set. A value has the same bits whatever else is computed.
        """

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return the kernel of each item and itself, float64 (n)."""


class PlainKernel(Settings, ABC):
    """A kernel of two items by one name; a registered class in a file of this package is a new one.

    Its fields are its arguments by name. The arguments without a name are what it compares.

    Attributes
    ----------
    name, summary : str
        As in ``rerank list kernels``.
    compares : str
        Parts of the items: "trees" or "features".
    usage : str
        How an expression has it.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    compares: ClassVar[Literal["trees", "features"]]
    usage: ClassVar[str]

    def check(self, of: tuple[str, ...]) -> None:
        """Raise ConfigError if ``of`` cannot be what this kernel compares."""

    def resolved(self, of: tuple[str, ...], lists: CandidateLists) -> tuple[str, ...]:
        """Return what the kernel compares of these lists, named; raise DataError if they lack such trees."""
        return of

    @abstractmethod
    def prepare(self, of: tuple[str, ...], sets: Sequence[CandidateLists]) -> list[PreparedPart]:
        """Return the items of each set, prepared to be compared with those of all.

        Sets have the same feature columns if this kernel compares features.
        """

    def changed(self) -> dict[str, str]:
        """Return the settings that differ from their defaults, as text."""
        fields = type(self).settings
        changed = {key: value for key, value in self.get_params().items() if value != fields[key].default}
        return {key: value_text(value).removesuffix(".0") for key, value in changed.items()}


ITEM_KERNELS: Registry[type[PlainKernel]] = Registry(
    "kernel of items", "rerank.similarity", "rerank.extensions", base=lambda: PlainKernel
)
