"""Writing JSON Lines: a list a line, numbers as Python spells them, which is exact."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.errors import DataError
from rerank.files import atomic_write

_STORE = "format store holds it"
# These end a line for some programs, though not in JSON; within strings, where alone they occur, they
# may as well be escaped.
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)

RowOf = Callable[[int], dict[str, float | None]]


def write_jsonl(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, lists in their order.

    Raises DataError where reading the file back would not give the same lists.
    """
    names = lists.names()
    if len(set(names)) < len(names):
        raise DataError(f"{path}: jsonl cannot hold two features of one name; {_STORE}")
    if lists.list_ids is not None and len(set(lists.list_ids)) < lists.n_lists:
        raise DataError(f"{path}: jsonl cannot hold two lists of one id; {_STORE}")
    row_of = _rows(lists, names)
    with atomic_write(path) as file:
        for i in range(lists.n_lists):
            file.write(_line(lists, i, row_of, path))


def _line(lists: CandidateLists, i: int, row_of: RowOf, path: str) -> bytes:
    line = _ENCODER.encode(_list(lists, i, row_of))
    for char, escape in _LINE_ENDS.items():
        if char in line:
            line = line.replace(char, escape)
    try:
        return line.encode() + b"\n"
    except UnicodeEncodeError:
        found = f"list {lists.list_id(i)!r} holds bytes that are not UTF-8"
        raise DataError(f"{path}: {found}, which JSON must be; {_STORE}") from None


def _rows(lists: CandidateLists, names: list[str]) -> RowOf:
    """A function of the item that gives its features.

    Zeros of sparse rows are left out, but where values are missing (a null each). Every name stands with
    the first item, in order, so that columns that are zero everywhere keep their places.
    """
    features = lists.features
    missing = lists.has_missing
    if not isinstance(features, Dense) and not missing:
        rows = features.compressed()
        indptr, indices, data = rows.indptr, rows.indices, rows.data

        def sparse(item: int) -> dict[str, float | None]:
            a, b = indptr[item], indptr[item + 1]
            values = np.ones(b - a) if data is None else data[a:b]
            row: dict[str, float | None] = dict.fromkeys(names, 0.0) if item == 0 else {}
            row.update(zip([names[j] for j in indices[a:b].tolist()], values.tolist(), strict=True))
            return row

        return sparse

    def full(item: int) -> dict[str, float | None]:
        values = features.take(slice(item, item + 1)).to_dense()[0].tolist()
        return dict(zip(names, _null_for_nan(values) if missing else values, strict=True))

    return full


def _null_for_nan(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def _list(lists: CandidateLists, i: int, row_of: RowOf) -> dict[str, Any]:
    """List ``i`` as the object of its line."""
    out: dict[str, Any] = {}
    if lists.list_ids is not None:
        out["id"] = lists.list_ids[i]
    start, stop = int(lists.offsets[i]), int(lists.offsets[i + 1])
    candidates: list[dict[str, Any]] = [{} for _ in range(start, stop)]
    columns: tuple[tuple[str, Any], ...] = (
        ("id", None if lists.item_ids is None else [lists.item_ids[k] for k in range(start, stop)]),
        ("text", None if lists.texts is None else [lists.texts[k] for k in range(start, stop)]),
        ("label", None if lists.labels is None else _null_for_nan(lists.labels[start:stop].tolist())),
        (
            "score",
            None if lists.base_scores is None else _null_for_nan(lists.base_scores[start:stop].tolist()),
        ),
        ("features", [row_of(k) for k in range(start, stop)]),
    )
    for key, values in columns:
        if values is not None:
            for candidate, value in zip(candidates, values, strict=True):
                candidate[key] = value
    out["candidates"] = candidates
    if lists.references:
        out["references"] = [column[i] for column in lists.references]
    return out
