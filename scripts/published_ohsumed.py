#!/usr/bin/env python3
"""LETOR's published results on OHSUMED, means over its five folds, as rows beside `rerank report`'s.

RERANK_DATA=... python scripts/published_ohsumed.py [--metrics nDCG-letor@1 AP ...]
"""

from __future__ import annotations

import argparse
import os
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
        root = ElementTree.fromstring(archive.read("content.xml"))  # noqa: S314  a known file
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


def main() -> None:
    """Print a row of a Markdown table for each method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["nDCG-letor@1", "nDCG-letor@5", "nDCG-letor@10", "AP"]
    parser.add_argument("--metrics", nargs="+", default=names, choices=METRICS.values(), metavar="METRIC")
    asked = parser.parse_args()
    if "RERANK_DATA" not in os.environ:
        parser.error("RERANK_DATA is not set: it names the folder with ohsumed/")
    for name, values in published(
        Path(os.environ["RERANK_DATA"]) / "ohsumed" / "published_results.ods"
    ).items():
        means = (sum(values[metric]) / len(values[metric]) for metric in asked.metrics)
        print(" | ".join([f"| published {name}", *(f"{mean:.4f}".lstrip("0") for mean in means)]) + " |")


if __name__ == "__main__":
    main()
