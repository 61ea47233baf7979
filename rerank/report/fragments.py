"""The heaviest fragments of a model as text, or for JSON."""

from __future__ import annotations

import math
from typing import Any

from rerank.core.errors import printable
from rerank.core.tables.sheet import Column, Row, Sheet
from rerank.models.fragments import HeavyFragments, ModelFragments

COUNTS = "for, against: support trees with a coefficient above and below 0 that contain the fragment"
_HEADS = ("weight", "for", "against")


def fragment_lines(found: ModelFragments) -> list[str]:
    """Return tables of fragments, one for each tree kernel.

    for and against: how many support trees with a coefficient above and below 0 contain the fragment.
    """
    lines = []
    for kernel, some in found.kernels.items():
        lines += ["", f"fragments of {printable(kernel)}, {_proof(some)}"]
        cells = [
            (f"{one.weight: .6g}", str(one.raising), str(one.lowering), printable(one.text))
            for one in some.found
        ]
        widths = [max(map(len, column)) for column in list(zip(*cells, (*_HEADS, ""), strict=True))[:-1]]
        for first, *others, text in [(*_HEADS, "fragment"), *cells] if cells else ():
            counts = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
            lines.append("  ".join([first.ljust(widths[0]), *counts, text]))
    for product in found.products:
        lines += [
            "",
            f"no fragments of {printable(product)}: trees within a product have no weights of their own",
        ]
    return lines


def fragment_sheets(found: ModelFragments) -> list[Sheet]:
    """Return a table for each tree kernel."""
    columns = (
        Column("fragment", ("fragment",), left=True),
        Column("weight", ("weight",), "{:.6g}".format),
        Column("for", ("for",), note=COUNTS),
        Column("against", ("against",)),
    )
    sheets = []
    for kernel, some in found.kernels.items():
        rows = tuple(Row((one.text, one.weight, one.raising, one.lowering)) for one in some.found)
        sheets.append(Sheet(columns, rows, f"fragments of {kernel}, {_proof(some)}"))
    return sheets


def fragment_records(found: ModelFragments) -> dict[str, Any]:
    """Return the same for JSON; ``missed`` is null if weights of other fragments have no bound."""
    return {
        "fragments": [
            {
                "kernel": kernel,
                "proved": some.n_proved,
                "missed": some.missed if math.isfinite(some.missed) else None,
                "heaviest": [
                    {"fragment": one.text, "weight": one.weight, "for": one.raising, "against": one.lowering}
                    for one in some.found
                ],
            }
            for kernel, some in found.kernels.items()
        ],
        "products": found.products,
    }


def _proof(some: HeavyFragments) -> str:
    """What is known about the rank of fragments."""
    n = len(some.found)
    if n == 0:
        return "none has a weight" if some.missed == 0 else "none was found before the search gave up"
    if some.n_proved == n:
        return "the heaviest" if n == 1 else f"the {n} heaviest"
    bound = f", no other weighs more than {some.missed:.6g}" if math.isfinite(some.missed) else ""
    return f"found by a search that gave up: the first {some.n_proved} are surely the heaviest{bound}"
