"""CSV and TSV: a header of column names, one item per line, empty cells for missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.read import plain_suffix
from rerank.core.tables.data import csv_row
from rerank.core.types import Mask
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.names import CLASSES, KNOWN
from rerank.formats.answers import with_answers
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.common import NAMED_COLUMN_OPTIONS, STORE, in_input_order, refuse_equal_ids
from rerank.formats.table.read import read_table

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

_RESERVED = [name for names in KNOWN.values() for name in names]
_ROWS = 1024


@FORMATS.register("table", "csv", "tsv")
class TableFormat(Format):
    """Reader and writer of CSV and TSV, quoted as Python's csv module does it.

    ``list_column``, ``label_column``, ``id_column``, ``text_column`` and ``answer_column`` name the columns
    that are not features. If they are not given, columns are found by well-known names, which is reported:
    qid, list, list_id, query, query_id or target for the list; label, is_correct, correct, passed or
    relevance; id, item_id, docid, doc_id or docno; text, generated_text, completion or response;
    predicted_answer or answer. All other columns of numbers are features. Further columns with one of these
    names, and columns whose first cell is not a number, are left out and named in a warning. Names that
    resemble these are reported. A column that is meant as numbers (0,5 or 1_000, or mostly numbers) but is
    not is an error. An empty label is unjudged; an empty feature is an error, or NaN with missing=nan. NaN
    and infinite numbers are refused.

    The separator is the comma (.csv), the tab (.tsv), or the one of them that the header contains. If rows
    of a list are not contiguous, they are brought together. A table has no first-best order.

    With ``classes`` the label's column is text, also named labels, class, classes or target; several classes
    in a cell are separated by commas. Without a column of lists each row is a list of its own.
    """

    name: ClassVar[str] = "table"
    summary: ClassVar[str] = "CSV or TSV with a header, an item per line, empty cells for missing values"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")
    refuses_missing: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = NAMED_COLUMN_OPTIONS | {"classes"}
    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "list_ids", "item_ids", "rows", "feature_names", "texts", "answers"}
    )

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lists = read_table(path, options)
        return lists if options.answer_pattern is None else with_answers(lists, options.answer_pattern)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        return has_classes(lists) if column == "classes" else super().keeps(lists, column)

    def _write_stream(self, stream: ListStream, path: str) -> None:
        """Write rows in the order of the input, separated by tabs if the path ends in .tsv."""
        delimiter = "\t" if plain_suffix(path) == ".tsv" else ","
        names: list[str] = []
        empty: Mask | None = None  # whether each column has had no value
        with stream.open(path) as file:
            for lists in stream:
                check_columns(lists, path)
                names, texts = lists.names(), text_columns(lists, stream.n_lists)
                if empty is None or empty.any():
                    now = _are_empty(lists)
                    empty = now if empty is None else empty & now
                    if stream.whole:
                        _refuse_empty(names, empty, path)
                if not stream.n_items:
                    label = ["label"] if lists.labels is not None else []
                    file.write(_row([*texts, *label, *names], delimiter, path))
                _write_rows(lists, texts, file, delimiter, path)
            if empty is not None:
                _refuse_empty(names, empty, path)


def _are_empty(lists: CandidateLists) -> Mask:
    """Return whether all items lack each feature: bool (n_features)."""
    if not lists.has_missing:
        return np.zeros(lists.n_features, dtype=bool)
    return np.array([np.all(np.isnan(column)) for column in lists.features.columns()], dtype=bool)


def _refuse_empty(names: Sequence[str], empty: Mask, path: str) -> None:
    if empty.any():
        name = names[int(np.argmax(empty))]
        raise DataError(f"{path}: a table cannot hold feature {name!r}, which all miss; {STORE}")


def _write_rows(
    lists: CandidateLists, texts: Mapping[str, StringColumn], file: IO[bytes], delimiter: str, path: str
) -> None:
    items, labels = in_input_order(lists), lists.labels
    for start in range(0, lists.n_items, _ROWS):
        block = items[start : start + _ROWS]
        values = lists.features.take(block).to_dense().tolist()
        for item, row in zip(block.tolist(), values, strict=True):
            cells = [column[item] for column in texts.values()]
            numbers = row if labels is None else [float(labels[item]), *row]
            cells += ["" if number != number else repr(number) for number in numbers]
            file.write(_row(cells, delimiter, path))


def text_columns(lists: CandidateLists, before: int = 0) -> dict[str, StringColumn]:
    """Return the columns of texts, a string for each item, by name; ``before`` lists were written before."""
    classes = lists.classes if has_classes(lists) else None
    found: dict[str, StringColumn] = {}
    examples = classes is not None and lists.n_lists == lists.n_items and lists.list_ids is None
    if not (examples and lists.n_features):  # rows of examples need no list
        ids = lists.list_ids
        if ids is None:
            ids = StringColumn.from_strings(str(before + i + 1) for i in range(lists.n_lists))
        found["list"] = ids.take(lists.list_index)
    more = (("id", lists.item_ids), ("text", lists.texts), ("answer", lists.answers), ("label", classes))
    return found | {name: column for name, column in more if column is not None}


def has_classes(lists: CandidateLists) -> bool:
    """Return whether classes are written in the column of labels."""
    return lists.labels is None and lists.classes is not None


def _row(cells: list[str], delimiter: str, path: str) -> bytes:
    try:
        return csv_row(cells, delimiter).encode() + b"\n"
    except UnicodeEncodeError:
        found = f"list {cells[0]!r} holds other bytes"
        raise DataError(f"{path}: a table must be UTF-8, and {found}; {STORE}") from None


def check_columns(lists: CandidateLists, path: str) -> None:
    """Raise DataError if columns by name cannot hold the lists: names of features, ids of lists."""
    names = lists.names()
    if len(set(names)) < len(names) or "" in names:
        raise DataError(f"{path}: a table needs features with names of their own; {STORE}")
    for name in (*_RESERVED, *(CLASSES if has_classes(lists) else ())):
        if name in names:
            raise DataError(f"{path}: a table has a meaning for a column {name!r}; rename the feature")
    refuse_equal_ids(lists, "table", path)
    if lists.list_ids is not None and np.any(lists.list_ids.lengths() == 0):
        raise DataError(f"{path}: a table cannot hold an empty list id; {STORE}")
