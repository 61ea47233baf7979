"""Plain sequences, as Python programs hold them, as lists and as scores of their items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Floats
from rerank.data.arrays import cells
from rerank.data.columns.strings import StringColumn
from rerank.data.frames import refuse_other_rows
from rerank.data.lists import CandidateLists
from rerank.metrics.judges import checked_scores


def lists_of(
    data: Any, *, group: Any = None, qid: Any = None, refs: Sequence[Any] | None = None
) -> CandidateLists:
    """Return CandidateLists of plain sequences.

    Parameters
    ----------
    data : CandidateLists, which stay as they are; or the labels or the texts of all items: nested, a
        sequence for each list, or flat. Labels are larger for better items, NaN = unjudged.
    group : lengths of the lists, for flat data.
    qid : id of each item's list, for flat data. Without ``group`` and ``qid`` flat data are one list.
    refs : for each list, its reference or a sequence of references, equally many for each list.

    Raises
    ------
    DataError
        If the sequences do not fit together.
    """
    if isinstance(data, CandidateLists):
        if group is not None or qid is not None or refs is not None:
            raise DataError("group, qid and refs are for plain sequences, found CandidateLists")
        return data
    if isinstance(data, str | bytes) or not hasattr(data, "__iter__"):
        expected = "expected the labels or the texts of the items, a sequence for each list or a flat one"
        raise DataError(f"found {_described(data)}, {expected}")
    refuse_other_rows(data=data, qid=qid)
    if _is_nested(data):
        if group is not None or qid is not None:
            raise DataError("group and qid are for flat sequences, found a sequence of sequences")
        rows = [cells(items) for items in data]
        group, data = [len(row) for row in rows], list(chain.from_iterable(rows))
    values = cells(data)
    if len(values) and not isinstance(values[0], str) and isinstance(values[0], bytes | Mapping):
        raise DataError(f"found {_described(values[0])} as the first item, expected a label or a text")
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) < len(values):
        raise DataError("found texts and numbers, expected either the texts or the labels of the items")
    labels = None if texts else values
    lists = CandidateLists.from_arrays(
        np.empty((len(values), 0)), labels, group=group, qid=qid, texts=texts or None
    )
    return lists if refs is None else replace(lists, references=_references(refs, lists))


def scores_of(scores: Any, lists: CandidateLists, *, partial: bool = False) -> Floats:
    """Return scores float64 (n_items) in the order of the caller's rows, as ``Model.score`` returns them.

    Nested scores are a sequence for each of ``lists``; flat ones are in that order already. NaN is allowed if
    they may be ``partial``: the item was not returned.

    Raises
    ------
    DataError
        If one is not a number, or NaN and all are needed, or they do not match the lists.
    """
    if isinstance(scores, str | bytes) or not hasattr(scores, "__iter__"):
        expected = f"expected {lists.n_items} numbers, one for each item"
        raise DataError(f"scores: found {_described(scores)}, {expected}")
    if _is_nested(scores):
        rows = [cells(row) for row in scores]
        found, expected = [len(row) for row in rows], lists.lengths.tolist()
        if found != expected:
            bad = next((i for i, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), None)
            if bad is None:
                raise DataError(f"found scores of {len(found)} lists, expected {len(expected)}")
            raise DataError(f"list {bad + 1}: found {found[bad]} scores, expected {expected[bad]}")
        flat = checked_scores(list(chain.from_iterable(rows)), lists.n_items, partial=partial)
        return lists.input_order(flat.astype(np.float64, copy=False))
    return checked_scores(scores, lists.n_items, partial=partial).astype(np.float64, copy=False)


def _is_nested(data: Any) -> bool:
    """Whether it is a sequence of sequences, one for each list."""
    first = next(iter(data), 0.0)  # data[0] of a pandas Series is the row with the label 0
    return not isinstance(first, str) and np.ndim(first) > 0


def _references(refs: Sequence[Any], lists: CandidateLists) -> tuple[StringColumn, ...]:
    """A column of (n_lists) for each reference."""
    if isinstance(refs, str | bytes):
        raise DataError(f"refs: found {_described(refs)}, expected a reference, or several, for each list")
    rows = rows_of_references(refs)
    if len(rows) != lists.n_lists:
        raise DataError(f"refs: found references of {len(rows)} lists, expected {lists.n_lists}")
    if len({len(row) for row in rows}) > 1:
        raise DataError("refs: found lists with different numbers of references, expected the same number")
    return tuple(StringColumn.from_strings(column) for column in zip(*rows, strict=True))


def rows_of_references(refs: Any) -> list[tuple[str, ...]]:
    """Return the references of each segment; raise DataError if one is not a text, such as a missing one."""
    rows = [(row,) if isinstance(row, str) else row for row in cells(refs)]
    for place, row in enumerate(rows, 1):
        several = not isinstance(row, bytes) and hasattr(row, "__iter__")
        bad = next((one for one in cells(row) if not isinstance(one, str)), "") if several else row
        if not isinstance(bad, str):
            raise DataError(f"refs: entry {place}: found {_described(bad)}, expected a text or several")
    return [tuple(cells(row)) for row in rows]


def _described(value: Any) -> str:
    """A value of the wrong kind for a message."""
    return f"the text {value!r}" if isinstance(value, str) else type(value).__name__
