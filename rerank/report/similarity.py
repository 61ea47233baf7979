"""Which lists are alike, as text, JSON, tables and a map."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.data.types import Floats, Index
from rerank.report import figures
from rerank.report.record import tsv
from rerank.report.table import drawn, facts, table
from rerank.similarity.base import Kernel, Prepared
from rerank.similarity.neighbours import nearest
from rerank.similarity.spectra import Spectrum
from rerank.text import count

FILES = ("gram.npy", "lists.tsv", "nearest.tsv")
_ALIKE = 5  # pairs of the summary
_DIGITS = 6  # of coordinates, whose last bits differ between machines


@dataclass(frozen=True, eq=False)
class Similarity:
    """Every list of some files compared with every other.

    Attributes
    ----------
    kernel : Kernel
        With its settings.
    scaling : str
        The scaling of features.
    sources : list of str
        Names of the files.
    source_of : int64 (n)
        The file of each list.
    names : list of str
        Ids of the lists, with the file if two files share an id.
    ids : list of str
        Their ids alone.
    lengths : int64 (n)
        Items of each list.
    prepared : Prepared
        The lists as the kernel compares them.
    gram : float64 (n, n)
    spectrum : Spectrum, optional
        None for more than 4,000 lists.
    plane : (float64 (n, 2), float64 (2))
        The coordinates of a map and the shares of its axes.
    """

    kernel: Kernel
    scaling: str
    sources: list[str]
    source_of: Index
    names: list[str]
    ids: list[str]
    lengths: Index
    prepared: Prepared
    gram: Floats
    spectrum: Spectrum | None
    plane: tuple[Floats, Floats]

    def alike(self) -> list[tuple[str, str, float]]:
        """Return the most similar pairs of lists, five at most."""
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
        found = self.spectrum
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
            "spectrum": None
            if found is None
            else {
                "largest": float(found.eigenvalues[0]),
                "smallest": found.smallest,
                "negative": found.n_negative,
                "negative_share": found.negative_share,
            },
            "map_shares": self.plane[1].tolist(),
            "alike": [{"lists": [a, b], "similarity": value} for a, b, value in self.alike()],
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


def short_names(sources: list[str]) -> list[str]:
    """Return names of files without their folders, or with them if two files have the same name."""
    short = [os.path.basename(name) for name in sources]
    return sources if len(set(short)) < len(short) else short


def summary_lines(found: Similarity) -> list[str]:
    """Return what was compared, the spectrum and the most similar pairs."""
    settings = "".join(f", {key} {value}" for key, value in found.kernel.get_params().items())
    rows = [("kernel", f"{found.kernel.name}{settings}; scaling {found.scaling}")]
    items, files = count(int(found.lengths.sum()), "item"), count(len(found.sources), "file")
    rows.append(("lists", f"{len(found.names)} with {items} of {files}"))
    held, short, empty = found.share_held(), found.n_short(), len(found.prepared.empty)
    if held is not None:
        rows.append(("axes", f"{held:.1%} of a list's variance on average"))
    if short:
        rows.append(("", f"{count(short, 'list')} of fewer axes (too few items or features that vary)"))
    if found.n_tied():
        text = "with equal eigenvalues, whose axes are a choice"
        rows.append(("", f"{count(found.n_tied(), 'list')} {text}"))
    if empty:
        rows.append(("", f"{count(empty, 'list')} of equal items: similarity 0 to every list"))
    rows.append(("spectrum", _spectrum_text(found.spectrum)))
    shares = ", ".join(f"{share:.1%}" for share in found.plane[1])
    rows.append(("map", f"{shares} of the total in its two coordinates"))
    pairs = [(a, b, f"{value:.4f}") for a, b, value in found.alike()]
    more = ["", *drawn(table(("most alike", "", "similarity"), pairs, left=2))] if pairs else []
    return [*facts(rows), *more]


def _spectrum_text(found: Spectrum | None) -> str:
    if found is None:
        return "not computed for more than 4,000 lists"
    if not found.n_negative:
        return f"smallest eigenvalue {found.smallest:.4g}; positive semi-definite"
    negative = f"{found.n_negative} of {len(found.eigenvalues)} eigenvalues are negative"
    return f"smallest eigenvalue {found.smallest:.4g}; {negative}, {found.negative_share:.2%} of the total"


def list_rows(found: Similarity) -> Iterator[str]:
    """Yield the table of lists: a row for each row of the matrix."""
    axes, points = found.prepared.axes, np.round(found.plane[0], _DIGITS) + 0.0
    rows = [
        (
            name,
            found.sources[found.source_of[i]],
            int(found.lengths[i]),
            None if axes is None else int(axes[i]),
            *points[i].tolist(),
        )
        for i, name in enumerate(found.names)
    ]
    return tsv(("list", "file", "items", "axes", "x", "y"), rows)


def nearest_rows(found: Similarity, places: Index, values: Floats) -> Iterator[str]:
    """Yield the table of nearest lists; lists of similarity 0 are left out."""
    rows = (
        (name, rank, found.names[j], float(value))
        for name, row, line in zip(found.names, places, values, strict=True)
        for rank, (j, value) in enumerate(zip(row.tolist(), line, strict=True), 1)
        if j >= 0
    )
    return tsv(("list", "rank", "neighbour", "similarity"), rows)


def draw(found: Similarity, path: str) -> None:
    """Write the map as SVG, files in different colours."""
    points, shares = found.plane
    labels = [
        f"{name} coordinate ({share:.1%})" for name, share in zip(("first", "second"), shares, strict=True)
    ]
    shown = short_names(found.sources)
    groups = [shown[k] for k in found.source_of] if len(shown) > 1 else None
    title = f"{count(len(found.names), 'list')} by kernel {found.kernel.name}"
    figures.point_map(
        path,
        np.round(points, _DIGITS) + 0.0,
        found.ids,
        groups=groups,
        x_label=labels[0],
        y_label=labels[1],
        title=title,
    )
