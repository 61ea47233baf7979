"""LETOR's published results on OHSUMED, by fold, from its spreadsheet."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_FOLDS = ("1", "2", "3", "4", "5")
_WIDEST = 12  # columns with values
# The names that we give to LETOR's measures.
METRICS = {"MAP": "AP", **{f"NDCG@{k}": f"nDCG-letor@{k}" for k in range(1, 11)}}


def published(path: Path) -> dict[str, dict[str, list[float]]]:
    """Return the values of each method, by metric, on the test lists of the five folds.

    Parameters
    ----------
    path : published_results.ods, where each method has a sheet with tables of its trials.
    """
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read("content.xml"))
    found = {}
    for sheet in root.iter(f"{_TABLE}table"):
        values = _on_test(list(_rows(sheet)))
        if values:
            found[str(sheet.get(f"{_TABLE}name"))] = values
    return found


def _rows(sheet: ElementTree.Element) -> Iterator[list[str]]:
    """The cells of each row as text, without the empty ones at its end."""
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row:
            times = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            cells += ["".join(cell.itertext())] * min(times, _WIDEST)
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells


def _on_test(rows: list[list[str]]) -> dict[str, list[float]]:
    """The values of the first tables of a sheet, those of the test set; none if it has no trials."""
    found: dict[str, list[float]] = {}
    names: list[str] = []
    for cells in rows:
        if cells[0] == "Trials":
            names = [METRICS.get(name, name) for name in cells[1:]]
            if names and names[0] in found:
                break  # the tables of the validation set follow
        elif cells[0] in _FOLDS and len(cells) > len(names) > 0:
            for name, cell in zip(names, cells[1:], strict=False):
                found.setdefault(name, []).append(float(cell.replace(",", ".")))
    return {name: values for name, values in found.items() if len(values) == len(_FOLDS)}
