"""Results as JSON and TSV for programs, the same bytes for the same result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def to_json(record: Any) -> str:
    """Return JSON with keys in the given order and floats in their shortest form, ending in a newline.

    Raises ValueError if a number is NaN or infinite, which JSON cannot express.
    """
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        text = json.dumps(record, indent=2, allow_nan=False)
    return text + "\n"


def tsv(heads: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> Iterator[str]:
    """Yield lines of a table without their ends, header first; None is an empty cell.

    Tabs and line ends in texts are escaped, and numbers have their shortest form.
    """
    yield "\t".join(heads)
    for row in rows:
        cells = (
            "" if cell is None else cell.translate(_ESCAPES) if isinstance(cell, str) else repr(cell)
            for cell in row
        )
        yield "\t".join(cells)


def per_list_tsv(rows: Iterable[tuple[str, str, str, float]]) -> Iterator[str]:
    """Yield lines of a table of per-list values, header first; tabs and line ends in names are escaped."""
    yield "list\tsystem\tmetric\tvalue\n"
    for *names, value in rows:
        yield "\t".join([*(str(name).translate(_ESCAPES) for name in names), repr(value)]) + "\n"
