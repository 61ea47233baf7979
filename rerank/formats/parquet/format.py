"""Parquet: the rules of tables for its columns, nulls for missing values; needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.streams import atomic_write
from rerank.core.types import AnyArray, Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.answers import with_answers
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.common import NAMED_COLUMN_OPTIONS, STORE, in_input_order
from rerank.formats.parquet.read import MAGIC, arrow, read_parquet
from rerank.formats.table.format import check_columns, has_classes

_VALUES, _LEAST = 1 << 23, 1 << 12  # features' values of a row group, and its rows at least


@FORMATS.register("parquet")
class Parquet(Format):
    """Reader and writer of Parquet files, whose columns have the roles that those of a table have.

    See ``rerank.formats.table.format.Table``: columns of lists, labels, ids, texts and answers are found by
    well-known names or named by options. All other columns of numbers (integers, booleans, decimals, also if
    they are dictionary-encoded) are features, columns of other types are left out and named in a warning; a
    column of lists of numbers is an error. Nulls and NaN are missing values, infinite numbers are refused.
    Rows are read in batches: memory holds the features and one batch. Errors count rows from 1.
    """

    name: ClassVar[str] = "parquet"
    summary: ClassVar[str] = (
        "Parquet, columns as in a table, nulls for missing values (extra rerank[parquet])"
    )
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)
    signs: ClassVar[tuple[bytes, ...]] = (MAGIC,)
    refuses_missing: ClassVar[bool] = True
    honours: ClassVar[frozenset[str]] = NAMED_COLUMN_OPTIONS | {"classes"}
    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "list_ids", "item_ids", "rows", "feature_names", "texts", "answers"}
    )

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return head.startswith(MAGIC)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        lists = read_parquet(path, options)
        return lists if options.answer_pattern is None else with_answers(lists, options.answer_pattern)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        return has_classes(lists) if column == "classes" else super().keeps(lists, column)

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write rows in the order of the input, numbers as they are: reading gives the same bits."""
        pa = arrow()
        check_columns(lists, path)
        texts = _texts(lists)
        fields = [(name, pa.large_string()) for name in texts]
        fields += [("label", pa.float64())] * (lists.labels is not None)
        kind = pa.float32() if lists.features.dtype == np.float32 else pa.float64()
        schema = pa.schema(fields + [(name, kind) for name in lists.names()])
        with atomic_write(path) as file, pa.parquet.ParquetWriter(_Sink(file), schema) as writer:
            for items in _blocks(in_input_order(lists), lists.n_features):
                columns = [_strings(pa, column, items, path) for column in texts.values()]
                if lists.labels is not None:
                    columns.append(_numbers(pa, lists.labels[items]))
                values = lists.features.take(items).to_dense()
                columns += [_numbers(pa, values[:, j]) for j in range(lists.n_features)]
                writer.write_batch(pa.record_batch(columns, schema=schema))


class _Sink:
    """A file that pyarrow writes to: pipes and compressors do not know their position."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._at = file, 0

    def write(self, data: Any) -> int:
        """Write bytes and return how many."""
        content = memoryview(data).cast("B")
        self._file.write(content)
        self._at += len(content)
        return len(content)

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._at

    def flush(self) -> None:
        """Do nothing: what is below is flushed when it is closed."""

    def close(self) -> None:
        """Do nothing: who opened the file closes it."""


def _texts(lists: CandidateLists) -> dict[str, StringColumn]:
    """The columns of texts, a string for each item, by name."""
    classes = lists.classes if has_classes(lists) else None
    found: dict[str, StringColumn] = {}
    examples = classes is not None and lists.n_lists == lists.n_items and lists.list_ids is None
    if not (examples and lists.n_features):  # rows of examples need no list
        ids = lists.list_ids
        if ids is None:
            ids = StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
        found["list"] = ids.take(lists.list_index)
    more = (("id", lists.item_ids), ("text", lists.texts), ("answer", lists.answers), ("label", classes))
    return found | {name: column for name, column in more if column is not None}


def _blocks(items: Index, width: int) -> Iterator[Index]:
    """The items of each row group, of so many values at most."""
    n = max(_LEAST, _VALUES // max(width, 1))
    for start in range(0, len(items), n):
        yield items[start : start + n]


def _numbers(pa: Any, values: AnyArray) -> Any:
    """Numbers of some rows; NaN is written as null, as other programs have it."""
    return pa.array(np.ascontiguousarray(values), mask=np.isnan(values))


def _strings(pa: Any, column: StringColumn, items: Index, path: str) -> Any:
    """Strings of some rows; DataError if they are not UTF-8."""
    part = column.take(items)
    found = pa.LargeStringArray.from_buffers(
        len(part),
        pa.py_buffer(np.ascontiguousarray(part.offsets)),
        pa.py_buffer(np.ascontiguousarray(part.data)),
    )
    try:
        found.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError(f"{path}: parquet must be UTF-8, and the texts hold other bytes; {STORE}") from None
    return found
