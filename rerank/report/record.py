"""Results as text that programs read: JSON and TSV, the same bytes for the same result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def to_json(record: Any) -> str:
    """JSON with keys in the order they were put in and floats in their shortest form, ending in a newline.

    Raises ValueError at NaN and infinities, which JSON has no word for.
    """
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        text = json.dumps(record, indent=2, allow_nan=False)
    return text + "\n"


def per_list_tsv(rows: Iterable[tuple[str, str, str, float]]) -> Iterator[str]:
    """Lines of a table of per-list values, header first; tabs and line ends within names are escaped."""
    yield "list\tsystem\tmetric\tvalue\n"
    for *names, value in rows:
        yield "\t".join([*(str(name).translate(_ESCAPES) for name in names), repr(value)]) + "\n"
