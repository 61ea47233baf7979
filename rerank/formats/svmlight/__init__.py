"""SVMlight, SVM-rank and LibSVM: one item per line, label and index:value pairs, with qid and comment."""

from __future__ import annotations

import itertools
import os
import re
from dataclasses import replace
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.read import Buffer, read_bytes, shown
from rerank.core.types import Index
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.names import numbers_in
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import BOM, write_blocks
from rerank.formats.common import (
    OF_IDS,
    STORE,
    check_missing,
    contains,
    in_input_order,
    note,
    refuse_equal_ids,
    unnamed_last,
)
from rerank.formats.feature_columns import is_wide, read_feature_names
from rerank.formats.svmlight.read import grouped_items, open_source, read_items
from rerank.native.formats._write import SvmlightLines, most_values

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

# The start of an item line: a label, or none if a qid or a feature is first. Nothing is read twice.
_START = re.compile(rb"^[ \t\r]*+(?:([^ \t\r\n#:]++)(?![^ \t\r\n#])|(?=[^ \t\r\n#]))", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\n[ \t\r]*+\n")
_NO_NAME = np.isin(np.arange(256), list(b" \t\r\n#:"))


class LabelTexts:
    """The labels of a file as text, and its content ``replaced``, line for line with the label 0 everywhere.

    A label such as ``1,3`` or ``setosa`` is a set of classes. A line that begins with a qid or a feature has
    none. A blank line is no example, here as in other files, which is reported.
    """

    def __init__(self, data: Buffer, path: str) -> None:
        self._data = bytes(data).removeprefix(BOM)
        self._path = path
        self._texts: list[bytes] = []
        self.replaced = _START.sub(self._replace, self._data)
        blank = _BLANK_LINE.search(self._data, 0, len(self._data.rstrip()))
        if blank is not None:
            line = self._data.count(b"\n", 0, blank.end())
            note(
                f"{path}: blank lines (the first is {line}) are skipped; an example has a class or a feature"
            )

    def _replace(self, match: re.Match[bytes]) -> bytes:
        self._texts.append(match[1] or b"")
        return b"0 " if match[1] is None else b"0"

    def of(self, lists: CandidateLists) -> CandidateLists:
        """Return the lists with classes for labels; raises FormatError if a label is not a set of classes."""
        classes = class_column(StringColumn.from_strings(self._texts), self._fault)
        if lists.rows is not None:
            classes = classes.take(lists.rows)
        return replace(lists, labels=None, classes=classes)

    def _fault(self, row: int, found: str) -> FormatError:
        match = next(itertools.islice(_START.finditer(self._data), row, None))
        line = self._data.count(b"\n", 0, match.end()) + 1
        return FormatError(self._path, line, found, EXPECTED.removeprefix("expected "))


def written(lists: CandidateLists, path: str) -> StringColumn:
    """Return the classes of each item as a line begins with them.

    Raises DataError if a class would be read back as another one, or an example without a class as a blank
    line.
    """
    assert lists.classes is not None
    classes = class_column(
        lists.classes, lambda item, found: DataError(f"{path}: item {item + 1}: found {found}")
    )
    bad = contains(classes, _NO_NAME[classes.data])
    if np.any(bad):
        name = classes[int(np.argmax(bad))]
        raise DataError(f"{path}: svmlight cannot hold the class {name!r} (a blank, # or :); {STORE}")
    blank = classes.lengths() == 0
    if np.any(blank) and lists.list_ids is None:
        values = lists.features.to_dense() if lists.has_missing else np.zeros((1, lists.n_features))
        if values.shape[1] == 0 or (lists.has_missing and np.isnan(values[blank]).all(axis=1).any()):
            raise DataError(f"{path}: svmlight cannot hold an example without classes and features; {STORE}")
    return classes


LARGE = 1 << 23  # bytes of a file from which on it is read in pieces
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
    far above the number of features present, only these have columns, named by their indices, see
    ``columns_to_keep``.
    With ``classes`` see ``LabelTexts``.
    """

    name: ClassVar[str] = "svmlight"
    summary: ClassVar[str] = "label qid:ID index:value ... # comment (LETOR, LIBSVM, RankLib)"
    leaves_out_zeros: ClassVar[bool] = True
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
        is_large = os.path.isfile(path) and os.path.getsize(path) >= LARGE  # a pipe is none
        if is_large and options.layout != "sparse" and not options.classes:
            from rerank.formats.streaming.pieces import read_pieces  # small files do without it

            found = read_pieces(path, options, names)
            if found is not None:
                return found
        data, source = read_bytes(path), shown(path)
        labels = LabelTexts(data, source) if options.classes else None
        items = open_source(data if labels is None else labels.replaced, source, options)
        lists = grouped_items(items, read_items(items, names))
        return lists if labels is None else labels.of(lists)

    def _write_stream(self, stream: ListStream, path: str) -> None:
        with stream.open(path) as file:
            width, unused, gone = 0, True, False
            for lists in stream:
                if lists.n_features > width:
                    width, unused = lists.n_features, True
                unused &= unnamed_last(lists.features) >= 0
                last = unnamed_last(lists.features) if stream.whole else -1
                if stream.last is not None and not stream.n_items:
                    last = stream.last
                    lists = lists.with_features(lists.features.widened(last + 1), lists.feature_names)
                gone = self._write_block(lists, path, file, stream, last, gone or not stream.n_items)
            if gone:
                raise _missing_last(path)
            if unused and not stream.whole and stream.last is None:
                from rerank.formats.list_stream import LearntError

                raise LearntError(width - 1)

    def _write_block(
        self, lists: CandidateLists, path: str, file: IO[bytes], stream: ListStream, last: int, gone: bool
    ) -> bool:
        """Write some lists; return whether the last feature is missing in all of them, and was before."""
        labels, classes = lists.labels, None
        if labels is None and lists.classes is not None:
            labels, classes = np.zeros(lists.n_items), written(lists, path)
        if labels is None or np.any(np.isnan(labels)):
            raise DataError(f"{path}: svmlight cannot hold items without a label; {STORE}")
        check_missing(lists, "svmlight", path)
        lists = rising(lists)
        features = lists.features
        # Readers take the largest index for the number of features, so the last one must be named.
        gone = gone and lists.has_missing and bool(np.all(np.isnan(features.column(-1))))
        if gone and stream.whole:
            raise _missing_last(path)
        n_plain = lists.n_items if lists.labels is None else 1
        list_ids, ids = qids_of(lists, path, self.name, n_plain, stream.n_lists), lists.item_ids
        if ids is not None:
            check_item_ids(ids, path, self.name)
        items, list_index, matrix = in_input_order(lists), lists.list_index, features.matrix()
        sizes = _LINE_BOUND + _VALUE_BOUND * (most_values(matrix) + 1)
        if list_ids is not None:
            sizes += list_ids.lengths()[list_index]
        for column in (ids, classes):
            sizes += 0 if column is None else column.lengths()
        values = (matrix, last, indices_of(lists), np.ascontiguousarray(labels))
        lines = SvmlightLines(*values, items, list_index, list_ids, ids, classes)
        write_blocks(file, sizes[items], lines.render)
        return gone

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column == "classes":  # they replace labels
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


def _missing_last(path: str) -> DataError:
    return DataError(f"{path}: svmlight cannot hold a last feature that is missing everywhere; {STORE}")


def qids_of(
    lists: CandidateLists, path: str, name: str, n_plain: int, before: int = 0
) -> StringColumn | None:
    """Return the qids that format ``name`` writes: the lists' ids or numbers.

    ``n_plain`` lists without ids need none; ``before`` lists were written before. Raises DataError if an id
    would be read back as another one.
    """
    ids = lists.list_ids
    if ids is None:
        if lists.n_lists == n_plain and not before:
            return None
        return StringColumn.from_strings(str(before + i + 1) for i in range(lists.n_lists))
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
