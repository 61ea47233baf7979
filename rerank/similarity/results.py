"""Results of comparing lists or items: names, the nearest ones, a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rerank.core import figures
from rerank.core.tables.data import tsv
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, facts_table
from rerank.core.tables.text import facts, text_lines
from rerank.core.text import count, short_names
from rerank.core.types import Floats, Index
from rerank.similarity.base import Kernel, Prepared
from rerank.similarity.expression import ItemKernel
from rerank.similarity.graph import nearest
from rerank.similarity.spectra import Spectrum

MOST_FOR_SPECTRUM = 4000  # rows; the time of all eigenvalues grows with the cube


_ALIKE = 5  # pairs of the summary


_DIGITS = 6  # of coordinates, whose last bits differ between machines


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(Display, ABC):
    """Every list, or every item, of some files compared with every other.

    Attributes
    ----------
    unit : str
        What is compared: "list" or "item".
    kernel_name : str
        The name of the kernel, or its expression.
    scaling : str
        The scaling of features.
    sources : list of str
        Names of the files.
    source_of : int64 (n)
        The file of each row.
    names : list of str
        Ids of the rows, with the file if two files share an id.
    ids : list of str
        Their ids alone.
    gram : float64 (n, n)
    spectrum : Spectrum, optional
        None for more than 4,000 rows.
    plane : (float64 (n, 2), float64 (2)), optional
        The coordinates of a map and the shares of its axes; None for more than 4,000 items.
    """

    unit: ClassVar[str]

    scaling: str
    sources: list[str]
    source_of: Index
    names: list[str]
    ids: list[str]
    gram: Floats
    spectrum: Spectrum | None
    plane: tuple[Floats, Floats] | None

    @property
    @abstractmethod
    def kernel_name(self) -> str:
        """The name of the kernel, or its expression."""

    @abstractmethod
    def rows(self) -> Iterator[str]:
        """Yield the table of what is compared: a row for each row of the matrix."""

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """Return what was compared, in words."""

    @abstractmethod
    def _json(self) -> dict[str, Any]:
        """Return the results with full precision, for JSON."""

    def alike(self) -> list[tuple[str, str, float]]:
        """Return the most similar pairs, five at most."""
        places, values = nearest(self.gram, _ALIKE)
        pairs = sorted(
            (-float(value), i, int(j))
            for i, (row, line) in enumerate(zip(places, values, strict=True))
            for j, value in zip(row, line, strict=True)
            if j > i
        )
        return [(self.names[i], self.names[j], -value) for value, i, j in pairs[:_ALIKE]]

    def as_json(self) -> dict[str, Any]:
        """Return the summary with full precision."""
        found, unit = self.spectrum, f"{self.unit}s"
        return {
            **self._json(),
            "spectrum": None
            if found is None
            else {
                "largest": float(found.eigenvalues[0]),
                "smallest": found.smallest,
                "negative": found.n_negative,
                "negative_share": found.negative_share,
            },
            "map_shares": None if self.plane is None else self.plane[1].tolist(),
            "most_similar": [{unit: [a, b], "similarity": value} for a, b, value in self.alike()],
        }

    def alike_table(self) -> Table:
        """Return the most similar pairs as a table."""
        columns = (
            Column("most similar", ("a",), left=True),
            Column("", ("b",), left=True),
            Column("similarity", ("similarity",), "{:z.4f}".format),
        )
        return Table(columns, tuple(map(Row, self.alike())))

    def tables(self) -> list[Table]:
        """Return what was compared, and the most similar pairs."""
        pairs = self.alike_table()
        return [facts_table(self._summary()), *([pairs] if pairs.rows else [])]

    def frame_columns(self) -> dict[str, Any]:
        """Return the names, and the similarity to each of them."""
        return {self.unit: self.names} | {
            name: self.gram[:, j] for j, name in enumerate(self.names) if name != self.unit
        }

    def lines(self) -> list[str]:
        """Return what was compared, the spectrum and the most similar pairs as text."""
        pairs = self.alike_table()
        return [*facts(self._summary()), *(["", *text_lines(pairs)] if pairs.rows else [])]

    def _summary(self) -> list[tuple[str, str]]:
        rows = [*self._facts(), ("spectrum", _spectrum_text(self.spectrum, self.unit))]
        if self.plane is not None:
            shares = ", ".join(f"{share:.1%}" for share in self.plane[1])
            rows.append(("map", f"{shares} of the total in its two coordinates"))
        return rows

    def nearest_rows(self, neighbours: int) -> Iterator[str]:
        """Yield the table of the nearest rows of each; those of a similarity of 0 or less are left out."""
        places, values = nearest(self.gram, neighbours)
        rows = (
            (name, rank, self.names[j], float(value))
            for name, row, line in zip(self.names, places, values, strict=True)
            for rank, (j, value) in enumerate(zip(row.tolist(), line, strict=True), 1)
            if j >= 0
        )
        return tsv((self.unit, "rank", "neighbour", "similarity"), rows)

    def _places(self) -> list[tuple[float | None, float | None]]:
        """The coordinates of the map."""
        if self.plane is None:
            return [(None, None)] * len(self.names)
        return [(x, y) for x, y in (np.round(self.plane[0], _DIGITS) + 0.0).tolist()]


def files_of(unit: str) -> tuple[str, str, str]:
    """Return the names of the three files about lists or items: the matrix, its rows, the nearest ones."""
    return "gram.npy", f"{unit}s.tsv", "nearest.tsv"


def _spectrum_text(found: Spectrum | None, unit: str) -> str:
    if found is None:
        return f"not computed for more than {MOST_FOR_SPECTRUM:,} {unit}s"
    if not found.n_negative:
        return f"smallest eigenvalue {found.smallest:.4g}; positive semi-definite"
    negative = f"{found.n_negative} of {len(found.eigenvalues)} eigenvalues are negative"
    return f"smallest eigenvalue {found.smallest:.4g}; {negative}, {found.negative_share:.2%} of the total"


def draw(found: Similarity, path: str) -> None:
    """Write the map as SVG, files in different colours."""
    assert found.plane is not None  # whoever calls has checked it
    points, shares = found.plane
    labels = [
        f"{name} coordinate ({share:.1%})" for name, share in zip(("first", "second"), shares, strict=True)
    ]
    shown = short_names(found.sources)
    groups = [shown[k] for k in found.source_of] if len(shown) > 1 else None
    title = f"{count(len(found.names), found.unit)} by kernel {found.kernel_name}"
    figures.point_map(
        path,
        np.round(points, _DIGITS) + 0.0,
        found.ids,
        groups=groups,
        x_label=labels[0],
        y_label=labels[1],
        title=title,
    )


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
