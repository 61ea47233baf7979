"""Writing SVMlight: what the format cannot hold is refused, what it holds reads back the same."""

from __future__ import annotations

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Bytes
from rerank.errors import DataError
from rerank.formats.buffers import write_blocks
from rerank.formats.common import STORE, contains, in_input_order, refuse_equal_ids, unnamed_last
from rerank.native.formats._svmlight_write import write_dense, write_sparse

_BLANKS = (9, 13, 32)
_VALUE_BOUND = 40  # bytes of " index:value" at most
_LINE_BOUND = 48  # of label, "qid:", "#", blanks, newline


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, lines in the order of the input; raises DataError as Format.write does."""
    labels = lists.labels
    if labels is None or np.any(np.isnan(labels)):
        raise DataError(f"{path}: svmlight cannot hold items without a label; {STORE}")
    _check_features(lists, path)
    list_ids, ids = _list_ids(lists, path), lists.item_ids
    if ids is not None:
        _check_item_ids(ids, path)
    items, list_index = in_input_order(lists), lists.list_index
    given = (
        *(np.ascontiguousarray(labels), items, list_index),
        *((None, None) if list_ids is None else (list_ids.data, list_ids.offsets)),
        *((None, None) if ids is None else (ids.data, ids.offsets)),
    )
    sizes = np.full(lists.n_items, _LINE_BOUND, dtype=np.int64)
    if list_ids is not None:
        sizes += list_ids.lengths()[list_index]
    if ids is not None:
        sizes += ids.lengths()
    features = lists.features
    if isinstance(features, Dense):
        values = features.values
        sizes += _VALUE_BOUND * features.n_features

        def render(a: int, b: int, out: Bytes) -> int:
            return write_dense(values, *given, a, b, out)
    else:
        rows = features.compressed()
        sizes += _VALUE_BOUND * (np.diff(rows.indptr) + 1)
        # Readers take the largest index for the number of features, so the last one must be named.
        last = unnamed_last(rows)

        def render(a: int, b: int, out: Bytes) -> int:
            return write_sparse(rows.indptr, rows.indices, rows.data, last, *given, a, b, out)

    write_blocks(path, sizes[items], render)


def _check_features(lists: CandidateLists, path: str) -> None:
    if not lists.has_missing:
        return
    if not isinstance(lists.features, Dense):
        raise DataError(f"{path}: svmlight cannot hold both zeros and missing values left out; {STORE}")
    if np.all(np.isnan(lists.features.values[:, -1])):
        raise DataError(f"{path}: svmlight cannot hold a last feature that is missing everywhere; {STORE}")


def _list_ids(lists: CandidateLists, path: str) -> StringColumn | None:
    """The qids to write: the lists' ids or numbers, none for one list without an id."""
    ids = lists.list_ids
    if ids is None:
        if lists.n_lists == 1:
            return None
        return StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
    refuse_equal_ids(lists, "svmlight", path)
    bad = contains(ids, (ids.data <= 32) | (ids.data == ord("#"))) | (ids.lengths() == 0)
    if np.any(bad):
        name = ids[int(np.argmax(bad))]
        raise DataError(
            f"{path}: svmlight cannot hold the list id {name!r} (empty, or with a blank); {STORE}"
        )
    return ids


def _check_item_ids(ids: StringColumn, path: str) -> None:
    """Raise DataError for the first id that would be read back as another one."""
    bad = contains(ids, (ids.data == 10) | (ids.data == 0))
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
        raise DataError(f"{path}: svmlight would read the item id {ids[i]!r} back as another one; {STORE}")
