"""The kernels that expressions consist of: their settings, and items prepared for one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from rerank.core.registry import Registry
from rerank.core.settings import Settings, value_text
from rerank.core.types import Floats, Index
from rerank.data.lists import CandidateLists


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


ITEM_KERNELS: Registry[type[PlainKernel]] = Registry("kernel of items", "rerank.similarity.items")
