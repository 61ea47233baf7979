"""Writing TREC runs from the first stage's scores."""

from __future__ import annotations

import itertools
import re

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.types import Index
from rerank.errors import DataError
from rerank.files import atomic_write

_STORE = "format store holds it"
_FIELD = re.compile(rb"[^ \t\n\r\x0b\x0c]+")
_TAG = b"rerank"


def write_run(lists: CandidateLists, path: str) -> None:
    """Write ``base_scores`` to ``path`` as a run, lines in the order of the input.

    Ranks count from 1 by ``first_best``, or by score where the lists have none; equals in order. Raises
    DataError where the format cannot hold the lists, or the lists hold no scores or ids.
    """
    scores, ids = lists.base_scores, lists.item_ids
    if scores is None or np.any(np.isnan(scores)):
        which = "base_scores" if scores is None else "base_scores of every item"
        raise DataError(f"{path}: a run needs {which}, which {lists.source} does not hold")
    if ids is None:
        raise DataError(f"{path}: a run needs ids of items, which {lists.source} does not hold")
    queries = lists.list_ids
    if queries is None:
        queries = StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
    _check_ids(queries, "list", path)
    _check_ids(ids, "item", path)
    _check_once(lists, queries, ids, path)
    ranks = _ranks(lists, scores if lists.first_best is None else lists.first_best)
    items = np.arange(lists.n_items, dtype=np.int64)
    if lists.rows is not None:
        items[lists.rows] = np.arange(lists.n_items)
    names = [queries.bytes_at(i) for i in range(lists.n_lists)]
    list_index = lists.list_index
    with atomic_write(path) as file:
        for item in items.tolist():
            fields = (
                names[list_index[item]],
                b"Q0",
                ids.bytes_at(item),
                b"%d" % ranks[item],
                repr(float(scores[item])).encode(),
                _TAG,
            )
            file.write(b" ".join(fields) + b"\n")


def _ranks(lists: CandidateLists, order: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Index:
    """Places from 1 in each list by ``order`` (largest first), equals by position: int64 (n_items)."""
    index = lists.list_index
    by_list = np.lexsort((np.arange(lists.n_items), -order, index))
    ranks = np.empty(lists.n_items, dtype=np.int64)
    ranks[by_list] = np.arange(lists.n_items) - lists.offsets[:-1][index] + 1
    return ranks


def _check_ids(column: StringColumn, what: str, path: str) -> None:
    for i in range(len(column)):
        if _FIELD.fullmatch(column.bytes_at(i)) is None:
            raise DataError(
                f"{path}: a run cannot hold the {what} id {column[i]!r} (empty, or a blank in it); {_STORE}"
            )


def _check_once(lists: CandidateLists, queries: StringColumn, ids: StringColumn, path: str) -> None:
    if len(set(queries)) < len(queries):
        raise DataError(f"{path}: two lists have one id, a run would hold them as one; {_STORE}")
    bounds = lists.offsets.tolist()
    for i, (start, stop) in enumerate(itertools.pairwise(bounds)):
        if len({ids.bytes_at(k) for k in range(start, stop)}) < stop - start:
            raise DataError(f"{path}: two items of list {queries[i]!r} have one id, a run cannot; {_STORE}")
