"""Lists, or items, compared with each other: what the two have of their own in reports of similarity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rerank.core.tables.record import tsv
from rerank.core.text import count
from rerank.core.types import Index
from rerank.report.similarity import Similarity
from rerank.similarity.base import Kernel, Prepared
from rerank.similarity.expression import ItemKernel


@dataclass(frozen=True, eq=False, repr=False)
class ListSimilarity(Similarity):
    """Every list compared with every other.

    Attributes
    ----------
    kernel : Kernel
        With its settings.
    lengths : int64 (n)
        Items of each list.
    prepared : Prepared
        The lists as the kernel compares them.
    """

    unit: ClassVar[str] = "list"

    kernel: Kernel
    lengths: Index
    prepared: Prepared

    @property
    def kernel_name(self) -> str:
        """The name of the kernel."""
        return self.kernel.name

    def _json(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.name,
            "settings": self.kernel.get_params(),
            "scaling": self.scaling,
            "files": self.sources,
            "lists": len(self.names),
            "items": int(self.lengths.sum()),
            "fewer_axes": self.n_short(),
            "without_axes": len(self.prepared.empty),
            "tied_axes": self.n_tied(),
            "variance_held": self.share_held(),
        }

    def n_short(self) -> int:
        """Return how many lists have fewer axes than the kernel would take."""
        axes, wanted = self.prepared.axes, getattr(self.kernel, "components", 0)
        return 0 if axes is None else int(np.count_nonzero((axes < wanted) & (axes > 0)))

    def n_tied(self) -> int:
        """Return how many lists have axes that are a choice, since eigenvalues are equal."""
        return 0 if self.prepared.tied is None else int(np.count_nonzero(self.prepared.tied))

    def share_held(self) -> float | None:
        """Return the mean share of a list's variance that its axes hold, None if the kernel takes no axes."""
        shares = self.prepared.shares
        return None if shares is None or not shares.any() else float(shares[shares > 0].mean())

    def _facts(self) -> list[tuple[str, str]]:
        settings = "".join(f", {key} {value}" for key, value in self.kernel.get_params().items())
        rows = [("kernel", f"{self.kernel.name}{settings}; scaling {self.scaling}")]
        items, files = count(int(self.lengths.sum()), "item"), count(len(self.sources), "file")
        rows.append(("lists", f"{len(self.names)} with {items} of {files}"))
        held, short, empty = self.share_held(), self.n_short(), len(self.prepared.empty)
        if held is not None:
            rows.append(("axes", f"{held:.1%} of a list's variance on average"))
        if short:
            rows.append(("", f"{count(short, 'list')} of fewer axes (too few items or features that vary)"))
        if self.n_tied():
            text = "with equal eigenvalues, whose axes are a choice"
            rows.append(("", f"{count(self.n_tied(), 'list')} {text}"))
        if empty:
            rows.append(("", f"{count(empty, 'list')} of equal items: similarity 0 to every list"))
        return rows

    def rows(self) -> Iterator[str]:
        """Yield the table of lists: a row for each row of the matrix."""
        axes, points = self.prepared.axes, self._places()
        rows = [
            (
                name,
                self.sources[self.source_of[i]],
                int(self.lengths[i]),
                None if axes is None else int(axes[i]),
                *points[i],
            )
            for i, name in enumerate(self.names)
        ]
        return tsv(("list", "file", "items", "axes", "x", "y"), rows)


@dataclass(frozen=True, eq=False, repr=False)
class ItemSimilarity(Similarity):
    """Every item compared with every other.

    Attributes
    ----------
    kernel : ItemKernel
    list_of : list of str
        The id of each item's list.
    n_lists : int
    """

    unit: ClassVar[str] = "item"

    kernel: ItemKernel
    list_of: list[str]
    n_lists: int

    @property
    def kernel_name(self) -> str:
        """The expression of the kernel."""
        return self.kernel.text

    def n_empty(self) -> int:
        """Return how many items have the similarity 0 to themselves."""
        return int(np.count_nonzero(self.gram.diagonal() == 0))

    def _json(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.text,
            "scaling": self.scaling,
            "files": self.sources,
            "lists": self.n_lists,
            "items": len(self.names),
            "empty": self.n_empty(),
        }

    def _facts(self) -> list[tuple[str, str]]:
        rows = [("kernel", f"{self.kernel.text}; scaling {self.scaling}")]
        lists, files = count(self.n_lists, "list"), count(len(self.sources), "file")
        rows.append(("items", f"{len(self.names)} in {lists} of {files}"))
        if self.n_empty():
            text = "without what the kernel compares: similarity 0 to every item"
            rows.append(("", f"{count(self.n_empty(), 'item')} {text}"))
        return rows

    def rows(self) -> Iterator[str]:
        """Yield the table of items: a row for each row of the matrix."""
        points = self._places()
        rows = (
            (name, self.sources[self.source_of[i]], self.list_of[i], *points[i])
            for i, name in enumerate(self.names)
        )
        return tsv(("item", "file", "list", "x", "y"), rows)
