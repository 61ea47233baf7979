"""Reading Parquet files in batches of rows into arrays that are made once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, Any, ClassVar

import numpy as np

from rerank.core import memory
from rerank.core.errors import DataError, FormatError
from rerank.core.files.archives import check_inflated
from rerank.core.files.read import first_bytes, is_pipe, opened, read_bytes, shown
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats, Index
from rerank.data.columns.class_sets import EXPECTED, class_column
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features
from rerank.data.names import is_of_number, spells_number
from rerank.data.text_reading import with_text_columns
from rerank.formats.answers import with_answers
from rerank.formats.arrow import arrow, arrow_faults
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.builders import Grouper, StringBuilder
from rerank.formats.common import (
    NAMED_COLUMN_OPTIONS,
    NULLS,
    STORE,
    check_float32,
    empty_dense,
    in_input_order,
    in_list_order,
    quoted,
)
from rerank.formats.table import check_columns, has_classes, text_columns
from rerank.formats.table.read import note_left_out, roles_of

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

MAGIC = b"PAR1"
_ROWS = 1 << 14  # of a batch: its columns stay in the caches while rows are made of them
_BUFFER = 1 << 18  # bytes that are read ahead of each column
_LOOKED_AT = 100  # first rows whose texts may spell numbers

Array = Any  # of pyarrow, which has no types


def read_parquet(path: str, options: ReadOptions) -> CandidateLists:
    """Return the lists of a file; raises FormatError at a fault, ConfigError if a column is absent."""
    with batch_reader(path, options) as reader:
        reader.begin(reader.n_rows)
        for batch in reader.batches():
            reader.add(batch)
        return reader.finish()


@contextmanager
def batch_reader(path: str, options: ReadOptions) -> Iterator[ParquetReader]:
    """Yield a reader of a file, whose errors name it; of pipes and archives memory holds the content."""
    pa, source = arrow(), shown(path)
    with arrow_faults(source, pa):
        if not is_pipe(path) and first_bytes(path, len(MAGIC)) == MAGIC:  # not compressed either
            with opened(path) as file:
                yield ParquetReader(pa, file.rewound(), options, source)
        else:
            yield ParquetReader(pa, io.BytesIO(read_bytes(path)), options, source)


class ParquetReader:
    """One file: what its columns are, and arrays that are filled batch by batch."""

    def __init__(self, pa: Any, opened: Any, options: ReadOptions, source: str) -> None:
        self.pa, self.options, self.source = pa, options, source
        packed = opened.seek(0, io.SEEK_END)
        opened.seek(0)
        self.file = pa.parquet.ParquetFile(opened, pre_buffer=False, buffer_size=_BUFFER)
        self.schema = self.file.schema_arrow
        self.names: list[str] = self.schema.names
        self.roles = roles_of(self.names, options, source)
        self.features = [j for j in self.roles.features if self._is_feature(j)]
        self.n_rows = int(self.file.metadata.num_rows)
        if self.n_rows < 1:
            raise FormatError(source, None, f"{self.n_rows} rows", "a row at least")
        self._check_texts()
        memory.require(8 * self.n_rows, f"{self.n_rows:,} rows of {source}")
        check_inflated(8 * self.n_rows * len(self.names), packed, source, "Parquet data")
        roles = self.roles
        as_text = [roles.id, roles.text, roles.answer, roles.label if options.classes else None]
        as_text += roles.categories.values()
        self.as_text = [j for j in as_text if j is not None]
        single = [roles.lists, roles.label, *self.as_text]
        self.wanted = list(dict.fromkeys(j for j in [*single, *self.features] if j is not None))

    def begin(self, n_rows: int) -> None:
        """Make room for rows."""
        self.X = empty_dense(n_rows, len(self.features), self.options.dtype, self.source)
        self.strings = {j: StringBuilder() for j in self.as_text}
        self.labels = None if self.roles.label is None or self.options.classes else np.empty(n_rows)
        self.grouper = Grouper(self.source, self.options.strict)
        self.empty: dict[int, int] = {}  # the first row, from 1, without a value of a feature
        self.at = 0

    def _is_feature(self, j: int) -> bool:
        """Return whether a column holds numbers; FormatError if it holds several of them in a row."""
        kind, types = self._value_type(j), self.pa.types
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            if self._is_number(kind.value_type):
                found = f"column {quoted(self.names[j])} of type {kind}"
                raise FormatError(self.source, None, found, "one number in a row: a column for each element")
            return False
        return self._is_number(kind)

    def _check_texts(self) -> None:
        """Raise FormatError if the first text of a column without a role spells a number."""
        types = self.pa.types
        names = [
            self.names[j]
            for j in self.roles.features
            if is_of_number(self.names[j])
            and (types.is_string(self._value_type(j)) or types.is_large_string(self._value_type(j)))
        ]
        batches = self.file.iter_batches(_LOOKED_AT, columns=names, use_threads=False) if names else ()
        batch = next(iter(batches), None)
        if batch is None:
            return
        for name in names:
            texts = batch.column(batch.schema.get_field_index(name)).to_pylist()
            first = next((text for text in texts if text is not None), "")
            if spells_number(first):
                found = f"texts such as {quoted(first)} in column {quoted(name)}"
                raise FormatError(self.source, None, found, "numbers")

    def _value_type(self, j: int) -> Any:
        """The type of a column's values, also of one whose values are numbered."""
        kind = self.schema.field(j).type
        return kind.value_type if self.pa.types.is_dictionary(kind) else kind

    def _is_number(self, kind: Any) -> bool:
        types = self.pa.types
        kinds = types.is_floating, types.is_integer, types.is_boolean, types.is_decimal
        return any(is_kind(kind) for is_kind in kinds)

    def batches(self) -> Iterator[Any]:
        """Yield some rows at a time."""
        at, names = 0, [self.names[j] for j in self.wanted]
        for batch in self.file.iter_batches(_ROWS, columns=names, use_threads=False):
            at += batch.num_rows
            if at > self.n_rows:
                raise FormatError(self.source, None, "more rows than its end says", f"{self.n_rows:,}")
            yield batch
        if at < self.n_rows:
            raise FormatError(self.source, None, f"{at:,} rows", f"{self.n_rows:,}, as its end says")

    def finish(self) -> CandidateLists:
        """Return the lists of the rows that were added; raises FormatError if a value is absent."""
        roles, n_rows = self.roles, self.at
        if self.empty and self.options.missing is None:
            j = min(self.empty, key=self.empty.__getitem__)
            others = f" (and in {count(len(self.empty) - 1, 'more column')})" if len(self.empty) > 1 else ""
            found = f"a missing value in column {quoted(self.names[j])}{others}"
            raise FormatError(self.source, self.empty[j], found, f"a number ({NULLS} accepts missing values)")
        kept = set(self.features)
        left = [quoted(self.names[j]) for j in roles.features if j not in kept]
        note_left_out(self.source, left + roles.left)
        offsets, list_ids, rows = offsets_of(np.ones(n_rows)), None, None
        if roles.lists is not None:
            offsets, list_ids, rows = self.grouper.finish()
        features: Features = Dense(self.X)
        texts = {"item_ids": roles.id, "texts": roles.text, "answers": roles.answer}
        by_item: dict[str, Any] = {k: self.strings[j].column() for k, j in texts.items() if j is not None}
        if roles.label is not None and self.options.classes:
            column, expected = self.strings[roles.label].column(), EXPECTED.removeprefix("expected ")
            by_item["classes"] = class_column(
                column, lambda row, found: FormatError(self.source, row + 1, found, expected)
            )
        by_item["features"] = features.compressed() if self.options.layout == "sparse" else features
        lists = CandidateLists(
            offsets,
            **in_list_order(rows, labels=self.labels, **by_item),
            list_ids=list_ids,
            rows=rows,
            feature_names=[self.names[j] for j in self.features],
            source=self.source,
        )
        columns = {name: self.strings[j].column() for name, j in roles.categories.items()}
        return with_text_columns(lists, columns, self.options)

    def add(self, batch: Any) -> None:
        """Add a batch of rows."""
        columns = {j: batch.column(batch.schema.get_field_index(self.names[j])) for j in self.wanted}
        start, roles, n = self.at, self.roles, batch.num_rows
        rows = slice(start, start + n)
        for k, j in enumerate(self.features):
            values = self._numbers(columns[j], j, start)
            if self.options.dtype == "float32":
                check_float32(values, self.source)
            if j not in self.empty and (gone := np.isnan(values)).any():
                self.empty[j] = start + 1 + int(np.argmax(gone))
            self.X[rows, k] = values
        if self.labels is not None and roles.label is not None:
            kind = self._value_type(roles.label)
            if not self._is_number(kind):
                found = f"labels of type {kind} in column {quoted(self.names[roles.label])}"
                raise FormatError(self.source, None, found, "numbers, or classes (--classes)")
            self.labels[rows] = self._numbers(columns[roles.label], roles.label, start)
        for j, strings in self.strings.items():
            strings.join(self._texts(columns[j], j, start, blank=j != roles.id))
        if roles.lists is not None:
            self._add_lists(columns[roles.lists], roles.lists, start)
        self.at += n

    def _numbers(self, column: Array, j: int, start: int) -> Floats:
        """The values of a column as float64, NaN for nulls; FormatError at an infinite one."""
        if self.pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self.pa.types.is_decimal(column.type):
            column = column.cast(self.pa.float64())
        elif self.pa.types.is_boolean(column.type):
            column = column.cast(self.pa.uint8())
        if self.pa.types.is_integer(column.type):
            column = column.cast(self.pa.float64(), safe=False)
        values = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            found = f"column {quoted(self.names[j])} with {values[row]:g}"
            raise FormatError(self.source, start + row + 1, found, "a finite number or null")
        return values

    def _texts(self, column: Array, j: int, start: int, blank: bool) -> StringColumn:
        """The values of a column as strings, "" for nulls if ``blank``, otherwise FormatError at one."""
        pa = self.pa
        if column.null_count and not blank:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise FormatError(
                self.source, start + row + 1, f"null in column {quoted(self.names[j])}", "an id"
            )
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            known = column.drop_null().to_numpy(zero_copy_only=False)
            if np.array_equal(known, np.trunc(known)) and np.all(np.abs(known) < 2**53):
                column = column.cast(pa.int64())  # 1.0 is the id "1"
        if pa.types.is_nested(column.type):
            found = f"column {quoted(self.names[j])} of type {column.type}"
            raise FormatError(self.source, None, found, "texts or numbers")
        column = column.cast(pa.large_string()).fill_null("")
        column.validate(full=True)
        _, bounds, data = column.buffers()
        offsets = np.frombuffer(bounds, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
        content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
        return StringColumn(content[offsets[0] : offsets[-1]], offsets - offsets[0])

    def _add_lists(self, column: Array, j: int, start: int) -> None:
        """Add the list of each row, by runs of equal ids."""
        ids = self._texts(column, j, start, blank=False)
        empty = np.flatnonzero(ids.lengths() == 0)
        if len(empty):
            raise FormatError(
                self.source, start + int(empty[0]) + 1, "an empty id of the list", "the list's id"
            )
        numbered = self.pa.array(list(ids)).dictionary_encode()
        codes, names = numbered.indices.to_numpy(), numbered.dictionary.to_pylist()
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        for row, end in zip(starts.tolist(), [*starts[1:].tolist(), len(codes)], strict=True):
            self.grouper.add(names[codes[row]], start + row + 1, end - row)


_VALUES, _LEAST = 1 << 23, 1 << 12  # features' values of a row group, and its rows at least


@FORMATS.register("parquet")
class Parquet(Format):
    """Reader and writer of Parquet files, whose columns have the roles that those of a table have.

    See ``rerank.formats.table.TableFormat``: columns of lists, labels, ids, texts and answers are
    found by well-known names or named by options. All other columns of numbers (integers, booleans, decimals,
    also if they are dictionary-encoded) are features, columns of other types are left out and named in a
    warning; a column of lists of numbers is an error. Nulls and NaN are missing values, infinite numbers are
    refused. Rows are read in batches: memory holds the features and one batch. Errors count rows from 1.
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

    def _write_stream(self, stream: ListStream, path: str) -> None:
        """Write rows in the order of the input, numbers as they are: reading gives the same bits.

        Row groups have the same rows however lists are divided into blocks.
        """
        pa = arrow()
        writer: Any = None
        waiting: list[Any] = []
        n_waiting = 0
        with stream.open(path) as file, ExitStack() as stack:
            for lists in stream:
                check_columns(lists, path)
                n = max(_LEAST, _VALUES // max(lists.n_features, 1))
                for batch in _batches(pa, lists, stream.n_lists, n, path):
                    if writer is None:
                        writer = stack.enter_context(pa.parquet.ParquetWriter(_Sink(file), batch.schema))
                    waiting.append(batch)
                    n_waiting += batch.num_rows
                    if n_waiting >= n:
                        table = pa.Table.from_batches(waiting)
                        writer.write_batch(_one(table.slice(0, n)))
                        waiting, n_waiting = table.slice(n).to_batches(), n_waiting - n
            if n_waiting:
                writer.write_batch(_one(pa.Table.from_batches(waiting)))


def _one(table: Any) -> Any:
    """The rows of a table as one batch."""
    return table.combine_chunks().to_batches()[0]


def _batches(pa: Any, lists: CandidateLists, before: int, n: int, path: str) -> Iterator[Any]:
    """Yield the rows of lists, ``n`` at a time; ``before`` lists were written before."""
    texts, order = text_columns(lists, before), in_input_order(lists)
    fields = [(name, pa.large_string()) for name in texts]
    fields += [("label", pa.float64())] * (lists.labels is not None)
    kind = pa.float32() if lists.features.dtype == np.float32 else pa.float64()
    schema = pa.schema(fields + [(name, kind) for name in lists.names()])
    for start in range(0, len(order), n):
        items = order[start : start + n]
        columns = [_strings(pa, column, items, path) for column in texts.values()]
        if lists.labels is not None:
            columns.append(_numbers(pa, lists.labels[items]))
        values = lists.features.take(items).to_dense()
        columns += [_numbers(pa, values[:, j]) for j in range(lists.n_features)]
        yield pa.record_batch(columns, schema=schema)


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


def _numbers(pa: Any, values: AnyArray) -> Any:
    """Numbers of some rows; NaN is written as null, as other programs have it."""
    return pa.array(np.ascontiguousarray(values), mask=np.isnan(values))


def _strings(pa: Any, column: StringColumn, items: Index, path: str) -> Any:
    """StringBuilder of some rows; DataError if they are not UTF-8."""
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
