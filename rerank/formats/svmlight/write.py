"""Writing SVMlight: what the format cannot hold is refused, what it holds reads back the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Bytes, Floats, Index, Mask
from rerank.errors import DataError
from rerank.files import atomic_write
from rerank.native.formats._svmlight_write import write_dense, write_sparse

_BLANKS = (9, 13, 32)
_VALUE_BOUND = 40  # bytes of " index:value" at most
_LINE_BOUND = 48  # of label, "qid:", "#", blanks, newline
_BLOCK = 1 << 22
_STORE = "format store holds it"


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, lines in the order of the input.

    Raises DataError where reading the file back would not give the same lists.
    """
    labels = lists.labels
    if labels is None or np.any(np.isnan(labels)):
        raise DataError(f"{path}: svmlight cannot hold items without a label; {_STORE}")
    _check_features(lists, path)
    list_ids = _list_ids(lists, path)
    if lists.item_ids is not None:
        _check_item_ids(lists.item_ids, path)
    items = np.arange(lists.n_items, dtype=np.int64)
    if lists.rows is not None:
        items[lists.rows] = np.arange(lists.n_items)
    list_index = lists.list_index
    sizes = _sizes(lists, list_ids, list_index)[items]
    render = _renderer(lists, np.ascontiguousarray(labels), list_index, list_ids)
    bounds = _blocks(sizes)
    out = np.empty(max(int(sizes[a:b].sum()) for a, b in bounds), dtype=np.uint8)
    with atomic_write(path) as file:
        for a, b in bounds:
            file.write(out[: render(items[a:b], a == 0, out)].data)


def _check_features(lists: CandidateLists, path: str) -> None:
    features = lists.features
    if not lists.has_missing:
        return
    if not isinstance(features, Dense):
        raise DataError(f"{path}: svmlight cannot hold both zeros and missing values left out; {_STORE}")
    if np.all(np.isnan(features.values[:, -1])):
        raise DataError(f"{path}: svmlight cannot hold a last feature that every item misses; {_STORE}")


def _list_ids(lists: CandidateLists, path: str) -> StringColumn | None:
    """The qids to write: the lists' ids, or their numbers, or none for one list without an id."""
    ids = lists.list_ids
    if ids is None:
        if lists.n_lists == 1:
            return None
        return StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
    strings = list(ids)
    if len(set(strings)) < len(strings):
        seen: set[str] = set()
        twice = next(s for s in strings if s in seen or seen.add(s))  # type: ignore[func-returns-value]
        raise DataError(f"{path}: two lists have the id {twice!r}, svmlight would read them as one; {_STORE}")
    bad = _holding(ids, (ids.data <= 32) | (ids.data == ord("#"))) | (ids.lengths() == 0)
    if np.any(bad):
        name = strings[int(np.argmax(bad))]
        raise DataError(
            f"{path}: svmlight cannot hold the list id {name!r} (empty, or a blank in it); {_STORE}"
        )
    return ids


def _holding(column: StringColumn, marked: Mask) -> Mask:
    """Strings that hold a marked byte, bool (n)."""
    before = np.zeros(len(marked) + 1, dtype=np.int64)
    np.cumsum(marked, out=before[1:])
    return before[column.offsets[1:]] > before[column.offsets[:-1]]


def _check_item_ids(ids: StringColumn, path: str) -> None:
    """Raise DataError for the first id that would be read back as another one."""
    bad = _holding(ids, (ids.data == 10) | (ids.data == 0))
    some = np.flatnonzero(ids.lengths() > 0)
    starts, ends = ids.offsets[:-1][some], ids.offsets[1:][some]
    bad[some[np.isin(ids.data[starts], _BLANKS) | np.isin(ids.data[ends - 1], _BLANKS)]] = True
    docid = ends - starts > len(b"docid=")
    for k, byte in enumerate(b"docid"):
        docid[docid] = ids.data[starts[docid] + k] == byte
    for i in some[docid].tolist():
        bad[i] |= ids.bytes_at(i)[len(b"docid") :].lstrip(b" \t\r").startswith(b"=")
    if np.any(bad):
        i = int(np.argmax(bad))
        raise DataError(f"{path}: svmlight would read the item id {ids[i]!r} back as another one; {_STORE}")


def _sizes(lists: CandidateLists, list_ids: StringColumn | None, list_index: Index) -> Index:
    """Bytes that the line of each item takes at most, int64 (n_items)."""
    features = lists.features
    sizes = np.full(lists.n_items, _LINE_BOUND, dtype=np.int64)
    if isinstance(features, Dense):
        sizes += _VALUE_BOUND * features.n_features
    else:
        sizes += _VALUE_BOUND * (np.diff(features.compressed().indptr) + 1)
    if list_ids is not None:
        sizes += list_ids.lengths()[list_index]
    if lists.item_ids is not None:
        sizes += lists.item_ids.lengths()
    return sizes


def _blocks(sizes: Index) -> list[tuple[int, int]]:
    """Ranges of lines that fit the buffer, one line at least each."""
    ends = np.cumsum(sizes)
    bounds = []
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
        bounds.append((start, stop))
        start = stop
    return bounds


def _renderer(
    lists: CandidateLists,
    labels: Floats,
    list_index: Index,
    list_ids: StringColumn | None,
) -> Callable[[Index, bool, Bytes], int]:
    """A function of (items, whether they are the first lines, out) that returns the bytes it wrote."""
    ids = lists.item_ids
    features = lists.features
    strings = (
        None if list_ids is None else list_ids.data,
        None if list_ids is None else list_ids.offsets,
        None if ids is None else ids.data,
        None if ids is None else ids.offsets,
    )
    if isinstance(features, Dense):
        values = features.values

        def dense(items: Index, _first: bool, out: Bytes) -> int:
            return write_dense(values, labels, items, list_index, *strings, out)

        return dense
    rows = features.compressed()
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    written = indices if data is None else indices[data != 0]
    # Readers take the largest index for the number of features, so the last one must be named.
    last = features.n_features - 1
    unnamed = last >= 0 and (len(written) == 0 or int(written.max()) < last)

    def sparse(items: Index, first: bool, out: Bytes) -> int:
        named = last if first and unnamed else -1
        return write_sparse(indptr, indices, data, named, labels, items, list_index, *strings, out)

    return sparse
