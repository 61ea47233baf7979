"""Results as JSON and TSV for programs, the same bytes for the same result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rerank.core.errors import visible
from rerank.core.tables.spreadsheets import guarded

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def to_json(record: Any) -> str:
    """Return JSON with keys in the given order and floats in their shortest form, ending in a newline.

    Raises ValueError if a number is NaN or infinite, which JSON cannot express.
    """
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    if visible(text) != text:  # what JSON need not escape, but a terminal obeys; names that are not UTF-8
        text = "".join(c if visible(c) == c else json.dumps(c)[1:-1] for c in text)
    return text + "\n"


def tsv(heads: Sequence[str], rows: Iterable[Sequence[str | int | float | None]]) -> Iterator[str]:
    """Yield lines of a table without their ends, header first; None is an empty cell.

    Tabs and line ends in texts are escaped, and numbers have their shortest form.
    """
    yield "\t".join(map(_cell, heads))
    for row in rows:
        yield "\t".join(
            "" if cell is None else _cell(cell) if isinstance(cell, str) else repr(cell) for cell in row
        )


def per_list_tsv(rows: Iterable[tuple[str, str, str, float]]) -> Iterator[str]:
    """Yield lines of a table of per-list values, header first; tabs and line ends in names are escaped."""
    yield "list\tsystem\tmetric\tvalue\n"
    for *names, value in rows:
        yield "\t".join([*map(_cell, names), repr(value)]) + "\n"


def _cell(text: str) -> str:
    return guarded(text).translate(_ESCAPES)
