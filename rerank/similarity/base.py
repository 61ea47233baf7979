"""What kernels are: settings, and sets of lists prepared so that any two of them can be compared."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from rerank.core.errors import DataNote
from rerank.core.registry import Registry
from rerank.core.settings import Settings
from rerank.core.text import count
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


KERNELS: Registry[type[Kernel]] = Registry("kernel", "rerank.similarity")
