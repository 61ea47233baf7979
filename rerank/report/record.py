"""Results as JSON and TSV for programs, the same bytes for the same result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
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


def per_list_tsv(rows: Iterable[tuple[str, str, str, float]]) -> Iterator[str]:
    """Yield lines of a table of per-list values, header first; tabs and line ends in names are escaped."""
    yield "list\tsystem\tmetric\tvalue\n"
    for *names, value in rows:
        yield "\t".join([*(str(name).translate(_ESCAPES) for name in names), repr(value)]) + "\n"
