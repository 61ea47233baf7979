"""Records as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rerank.core.tables.sheet import Scalar, Sheet
from rerank.core.tables.spreadsheets import csv_row


def csv_text(keys: Sequence[str], records: Iterable[Mapping[str, Scalar]]) -> str:
    """Return a line of heads and a line for each record; what a record does not have is empty.

    Numbers have their shortest form, NaN is empty. Texts are as they are, unless guarded.
    """
    rows = ([_text(record.get(key)) for key in keys] for record in records)
    return "".join(f"{csv_row(row)}\n" for row in (keys, *rows))


def sheet_csv(sheet: Sheet) -> str:
    """Return the records of a sheet: one for each row and metric."""
    return csv_text(sheet.keys(), sheet.records())


def _text(cell: Scalar) -> str:
    if cell is None or cell != cell:
        return ""
    return cell if isinstance(cell, str) else repr(cell)
