"""Writing CSV and TSV: what reading back would change is refused, numbers are spelt exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.errors import DataError
from rerank.files import atomic_write, plain_suffix

_STORE = "format store holds it"
_RESERVED = ("list", "id", "text", "label")
_ROWS = 1024


def write_table(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, rows in the order of the input; tabs between cells where it ends in .tsv.

    Raises DataError where reading the file back would not give the same lists.
    """
    _check(lists, path)
    delimiter = "\t" if plain_suffix(path) == ".tsv" else ","
    items = np.arange(lists.n_items, dtype=np.int64)
    if lists.rows is not None:
        items[lists.rows] = np.arange(lists.n_items)
    list_index = lists.list_index
    header = ["list"]
    columns: list[Callable[[int], str]] = [lambda i: lists.list_id(int(list_index[i]))]
    for name, strings in (("id", lists.item_ids), ("text", lists.texts)):
        if strings is not None:
            header.append(name)
            columns.append(strings.__getitem__)
    labels = lists.labels
    if labels is not None:
        header.append("label")
    header += lists.names()
    with atomic_write(path) as file:
        file.write(_row(header, delimiter, path))
        for start in range(0, lists.n_items, _ROWS):
            block = items[start : start + _ROWS]
            values = lists.features.take(block).to_dense().tolist()
            for item, row in zip(block.tolist(), values, strict=True):
                cells = [column(item) for column in columns]
                numbers = row if labels is None else [float(labels[item]), *row]
                cells += ["" if number != number else repr(number) for number in numbers]
                file.write(_row(cells, delimiter, path))


def _row(cells: list[str], delimiter: str, path: str) -> bytes:
    """A line; a cell is quoted where it holds anything that could end it, or a blank at an end."""
    marks = (delimiter, '"', "\n", "\r")
    out = []
    for cell in cells:
        if any(mark in cell for mark in marks) or cell != cell.strip():
            cell = '"' + cell.replace('"', '""') + '"'
        out.append(cell)
    try:
        return delimiter.join(out).encode() + b"\n"
    except UnicodeEncodeError:
        found = f"list {cells[0]!r} holds other bytes"
        raise DataError(f"{path}: a table must be UTF-8, and {found}; {_STORE}") from None


def _check(lists: CandidateLists, path: str) -> None:
    names = lists.names()
    if len(set(names)) < len(names) or "" in names:
        raise DataError(f"{path}: a table needs features with names of their own; {_STORE}")
    for name in _RESERVED:
        if name in names:
            raise DataError(f"{path}: the table has a column {name!r} of its own; rename the feature")
    ids = lists.list_ids
    if ids is not None:
        if len(set(ids)) < len(ids):
            raise DataError(f"{path}: two lists have one id, a table would read them as one; {_STORE}")
        if np.any(ids.lengths() == 0):
            raise DataError(f"{path}: a table cannot hold an empty list id; {_STORE}")
    if lists.has_missing:
        for name, column in zip(names, lists.features.columns(), strict=True):
            if np.all(np.isnan(column)):
                raise DataError(f"{path}: a table cannot hold feature {name!r}, which all miss; {_STORE}")
