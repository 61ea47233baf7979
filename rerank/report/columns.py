"""Aligned text for terminals and files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines: columns padded to their widest cell, the last one wrapped to the width."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    indent = sum(widths) + 2 * len(widths)
    lines = []
    for *cells, last in rows:
        head = "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))
        wrapped = textwrap.wrap(last, max(20, WIDTH - indent)) or [""]
        lines.append((head + wrapped[0]).rstrip())
        lines += [" " * indent + more for more in wrapped[1:]]
    return lines
