"""SVMlight, as the LETOR sets use it: ``label qid:ID index:value ... # comment``, one item per line."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.streams import read_bytes, shown
from rerank.core.types import Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.names import numbers_in
from rerank.data.width import is_wide
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import write_blocks
from rerank.formats.common import (
    OF_IDS,
    STORE,
    check_missing,
    contains,
    in_input_order,
    refuse_equal_ids,
    unnamed_last,
)
from rerank.formats.feature_names import read_feature_names
from rerank.formats.svmlight.classes import LabelTexts, written
from rerank.formats.svmlight.read import open_source, read_lists
from rerank.formats.svmlight.stream import read_pieces
from rerank.native.formats._write import SvmlightLines, most_values

_BLANKS = (9, 13, 32)
_VALUE_BOUND = 40  # bytes of " index:value" at most
_LINE_BOUND = 48  # of label, "qid:", "#", blanks, newline

# The first item line: a number, then a qid or an index.
_ITEM_LINE = re.compile(rb"[-+]?\.?[0-9][^ \t]*[ \t]+(qid:[^ \t]|[0-9]+:[^ \t:]+([ \t]|$))")


@FORMATS.register("svmlight", "letor")
class SVMLight(Format):
    """Reader and writer of SVMlight files.

    A file without qids is one list. Lines of one qid that are not contiguous are brought together, lists in
    the order of their first lines, and ``rows`` records the lines. A comment is the item's id; of LETOR's
    ``#docid = X ...`` the id is X. Indices count from 1: feature j is column j - 1. If the largest index is
    far above the number of features present, only these have columns, named by their indices (data.width).
    With ``classes`` see ``svmlight.classes``.
    """

    name: ClassVar[str] = "svmlight"
    summary: ClassVar[str] = "label qid:ID index:value ... # comment (LETOR, LIBSVM, RankLib)"
    suffixes: ClassVar[tuple[str, ...]] = (".letor", ".svm", ".svmlight", ".libsvm", ".txt", ".dat")
    signs: ClassVar[tuple[bytes, ...]] = (b":",)
    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "zero_based", "feature_names", "layout", "dtype", "classes"} | OF_IDS
    )

    holds: ClassVar[frozenset[str]] = frozenset({"features", "labels", "list_ids", "item_ids", "rows"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = (line.strip() for line in head.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        return _ITEM_LINE.match(first) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        names = None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0 if options.zero_based else 1)
        found = read_pieces(path, options, names)
        if found is not None:
            return found
        data, source = read_bytes(path), shown(path)
        if not options.classes:
            return read_lists(open_source(data, source, options), names)
        labels = LabelTexts(data, source)
        return labels.of(read_lists(open_source(labels.replaced, source, options), names))

    def _write(self, lists: CandidateLists, path: str) -> None:
        labels, classes = lists.labels, None
        if labels is None and lists.classes is not None:
            labels, classes = np.zeros(lists.n_items), written(lists, path)
        if labels is None or np.any(np.isnan(labels)):
            raise DataError(f"{path}: svmlight cannot hold items without a label; {STORE}")
        check_missing(lists, "svmlight", path)
        lists = rising(lists)
        features = lists.features
        # Readers take the largest index for the number of features, so the last one must be named.
        if lists.has_missing and np.all(np.isnan(features.column(-1))):
            raise DataError(
                f"{path}: svmlight cannot hold a last feature that is missing everywhere; {STORE}"
            )
        n_plain = lists.n_items if lists.labels is None else 1
        list_ids, ids = qids_of(lists, path, self.name, n_plain), lists.item_ids
        if ids is not None:
            check_item_ids(ids, path, self.name)
        items, list_index, matrix = in_input_order(lists), lists.list_index, features.matrix()
        sizes = _LINE_BOUND + _VALUE_BOUND * (most_values(matrix) + 1)
        if list_ids is not None:
            sizes += list_ids.lengths()[list_index]
        for column in (ids, classes):
            sizes += 0 if column is None else column.lengths()
        values = (matrix, unnamed_last(features), indices_of(lists), np.ascontiguousarray(labels))
        lines = SvmlightLines(*values, items, list_index, list_ids, ids, classes)
        write_blocks(path, sizes[items], lines.render)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column == "classes":  # they take the place of labels
            return lists.labels is None
        if column == "feature_names":
            return lists.names() == list(map(str, indices_of(lists).tolist()))
        return super().keeps(lists, column)


def indices_of(lists: CandidateLists) -> Index:
    """Return the index of each column in the file, int64 (n_features).

    Columns that are far apart or selected keep theirs.
    """
    n = lists.n_features
    indices = np.arange(1, n + 1, dtype=np.int64)
    names = lists.feature_names
    if names is None or not names[:1] or not names[0].isdecimal():
        return indices
    last = max(j for j, name in enumerate(names) if name.isdecimal())
    numbers = numbers_in(names[: last + 1])
    if numbers is not None and (lists.selection or is_wide(int(numbers.max()) + 1, n)):
        indices[: last + 1] = numbers + 1
        indices[last + 1 :] = np.arange(n - last - 1) + numbers.max() + 2
    return indices


def rising(lists: CandidateLists) -> CandidateLists:
    """Return the same lists with their columns in the order of their indices in the file."""
    order = np.argsort(indices_of(lists), kind="stable")
    if np.all(order[1:] > order[:-1]):
        return lists
    names = lists.names()
    return lists.with_columns([names[j] for j in order.tolist()])


def qids_of(lists: CandidateLists, path: str, name: str, n_plain: int) -> StringColumn | None:
    """Return the qids that format ``name`` writes: the lists' ids or numbers.

    ``n_plain`` lists without ids need none. Raises DataError if an id would be read back as another one.
    """
    ids = lists.list_ids
    if ids is None:
        if lists.n_lists == n_plain:
            return None
        return StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
    refuse_equal_ids(lists, name, path)
    bad = contains(ids, (ids.data <= 32) | (ids.data == ord("#"))) | (ids.lengths() == 0)
    if np.any(bad):
        one = ids[int(np.argmax(bad))]
        raise DataError(f"{path}: {name} cannot hold the list id {one!r} (empty, or with a blank); {STORE}")
    return ids


def check_item_ids(ids: StringColumn, path: str, name: str) -> None:
    """Raise DataError for the first id that format ``name`` would read back as another one."""
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
        raise DataError(f"{path}: {name} would read the item id {ids[i]!r} back as another one; {STORE}")
