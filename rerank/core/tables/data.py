"""Results for programs: JSON, CSV, TSV and data frames, the same bytes for the same result.

A spreadsheet program takes a cell that begins with =, +, - or @ for a formula, whoever wrote it. A guarded
cell has an apostrophe before that. It changes ids, so it has to be asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rerank.core.errors import ConfigError, visible
from rerank.core.registry import did_you_mean
from rerank.core.tables.table import Scalar, Table
from rerank.core.text import number

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # also the wide forms of East Asian scripts
_guards: ContextVar[bool] = ContextVar("guards", default=False)


@contextmanager
def guarding(value: bool = True) -> Iterator[None]:
    """Guard, or do not guard, the cells of CSV and TSV that are written within the block."""
    before = _guards.set(value)
    try:
        yield
    finally:
        _guards.reset(before)


def guarded(cell: str) -> str:
    """Return the text of a cell, unchanged unless cells are guarded.

    Guarded, its control and bidirectional characters are escaped, and what begins like a formula and is not a
    number has an apostrophe before it.
    """
    if not _guards.get():
        return cell
    begins = cell.lstrip(" ").startswith(_FORMULA) and number(cell) is None
    return "'" * begins + visible(cell)


def csv_row(cells: Sequence[str], delimiter: str = ",") -> str:
    """Return a line without its end, quoted as Python's csv module does.

    A cell is quoted if a separator, quote or line end is in it, or white space at one of its ends.
    """
    marks: tuple[str, ...] = (delimiter, '"', "\n", "\r")
    if _guards.get():
        cells, marks = [guarded(cell) for cell in cells], (*marks, ";", "\t")  # separators elsewhere
    out = []
    for cell in cells:
        if any(mark in cell for mark in marks) or cell != cell.strip():
            cell = '"' + cell.replace('"', '""') + '"'
        out.append(cell)
    return delimiter.join(out)


def csv_text(keys: Sequence[str], records: Iterable[Mapping[str, Scalar]]) -> str:
    """Return a line of heads and a line for each record; what a record does not have is empty.

    Numbers have their shortest form, NaN is empty. Texts are as they are, unless guarded.
    """
    rows = ([_csv_cell(record.get(key)) for key in keys] for record in records)
    return "".join(f"{csv_row(row)}\n" for row in (keys, *rows))


def table_csv(table: Table) -> str:
    """Return the records of a table: one for each row and metric."""
    return csv_text(table.keys(), table.records())


def _csv_cell(cell: Scalar) -> str:
    if cell is None or cell != cell:
        return ""
    return cell if isinstance(cell, str) else repr(cell)


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
    yield "\t".join(map(_tsv_cell, heads))
    for row in rows:
        yield "\t".join(
            "" if cell is None else _tsv_cell(cell) if isinstance(cell, str) else repr(cell) for cell in row
        )


def per_list_tsv(rows: Iterable[tuple[str, str, str, float]]) -> Iterator[str]:
    """Yield lines of a table of per-list values, header first; tabs and line ends in names are escaped."""
    yield "list\tsystem\tmetric\tvalue\n"
    for *names, value in rows:
        yield "\t".join([*map(_tsv_cell, names), repr(value)]) + "\n"


def _tsv_cell(text: str) -> str:
    return guarded(text).translate(_ESCAPES)


def columns_of(records: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return records as columns; what a record does not have is None."""
    rows = list(records)
    keys = dict.fromkeys(key for record in rows for key in record)
    return {key: [record.get(key) for record in rows] for key in keys}


def frame_of(columns: Mapping[str, Any], library: str = "pandas") -> Any:
    """Return columns as a data frame of pandas or polars.

    Raises
    ------
    ConfigError
        If the library is unknown or not installed.
    """
    try:
        if library == "pandas":
            import pandas  # type: ignore[import-untyped]

            return pandas.DataFrame(dict(columns))
        if library == "polars":
            import polars

            return polars.DataFrame(dict(columns))
    except ImportError:
        raise ConfigError(f"a data frame needs {library}: pip install {library}") from None
    raise ConfigError(f"unknown library {library!r}; {did_you_mean(library, ('pandas', 'polars'))}")
