"""Reading of SVMlight: split at newlines, count, parse in place, group by qid.

A first pass counts lines, so that each part of the file knows its rows. The parse then writes straight into
the final arrays, with a thread per part. Whether rows are dense or compressed, and how wide, is guessed from
the head of the file. If the parse finds the guess to be wrong, it is done again, so that no result depends on
the guess.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

import numpy as np
from msgspec import Struct

from rerank.core import progress
from rerank.core.errors import FormatError
from rerank.core.files.read import Buffer
from rerank.core.text import count
from rerank.core.types import Bytes, Floats, Index, NDArray
from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn, first_again, hashes_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import content_start, parts_of_lines, strings_at
from rerank.formats.common import (
    CHANGED,
    KEPT,
    absent_value,
    check_contiguous,
    check_float32,
    empty_dense,
    exceeds,
    in_list_order,
    line_of,
    not_a_number,
    note,
    quoted,
    token_at,
    wants_dense,
)
from rerank.formats.feature_columns import WIDE, ColumnNames, columns_to_keep, narrowed
from rerank.native.formats._svmlight import FAULTS, parse_dense, scan
from rerank.native.formats._svmlight_sparse import parse_sparse

_LARGEST_INDEX = 2**31 - 1
_NEAR = 65536
_LATE_QID = "qid:ID directly after the label"
_LATER_QID = re.compile(rb"[^#\n]*?[ \t\r](qid:[^ \t\r\n#]*)")


def fault_error(
    path: str,
    text: Bytes,
    fault: str,
    offset: int,
    detail: int,
    *,
    first_item: int,
    has_qid: bool,
    first: int,
    dtype: str,
) -> FormatError:
    """Return the error for a fault of a file.

    fault, offset, detail : of the kernel's FAULTS, and as the kernel returns them.
    first_item, first : where the first item line starts, and the index of column 0.
    """
    token = token_at(text, offset, b" \t\r\n#")
    as_first = f"as on line {line_of(text, first_item)}"
    if fault == "label":
        found, expected = _label(token)
    elif fault == "qid" and token == "qid:":
        found, expected = "an empty qid", "qid:ID"
    elif fault == "qid":
        found, expected = f"a control character in {quoted(token)}", "qid:ID"
    elif fault == "no qid":
        late = _LATER_QID.match(bytes(text[offset : offset + _NEAR]))
        found, expected = "no qid", f"qid:ID, {as_first}"
        if late:
            found, expected = f"{quoted(late[1])} after a feature", _LATE_QID
    elif fault == "feature" and token.startswith("qid:") and not has_qid and _before(text, offset) == 1:
        found, expected = quoted(token), f"no qid, {as_first}"
    elif fault == "feature":
        found, expected = _feature(token, first, dtype, has_qid)
    elif fault == "twice":
        found, expected = f"feature {detail} twice", "each feature once per line"
    elif fault == "nul":
        found, expected = "a NUL byte", "text"
    else:
        found, expected = CHANGED
    return FormatError(path, line_of(text, offset), found, expected)


def _before(text: Bytes, offset: int) -> int:
    """Return the number of tokens before ``offset`` on its line (as far as 64 kB back)."""
    back = bytes(text[max(0, offset - _NEAR) : offset])
    return len(back[back.rfind(b"\n") + 1 :].removeprefix(b"\xef\xbb\xbf").split())


def _label(token: str) -> tuple[str, str]:
    if not token or ":" in token:
        found = quoted(token) if token else "nothing"
        return f"{found} instead of the label", "a label (a number) first"
    found, expected = not_a_number(token.encode(), "label")
    return found, f"{expected} (--classes reads sets of classes)" if "," in token else expected


def _feature(token: str, first: int, dtype: str, has_qid: bool) -> tuple[str, str]:
    """Return found and expected for a ``token`` that is not index:value."""
    name, colon, value = token.partition(":")
    if name == "qid" and colon:
        if has_qid:
            return f"a second qid {quoted(token)}", "one qid per line"
        return f"{quoted(token)} after a feature", _LATE_QID
    if name in ("cost", "sid") and colon:
        return quoted(token), "index:value (SVMlight's cost: and sid: are not supported)"
    if not colon:
        return quoted(token), "index:value"
    if re.fullmatch(r"-[0-9]+", name):
        return f"index {quoted(name)}", f"an index of {first} or more"
    if not re.fullmatch(r"[0-9]+", name):
        return f"index {quoted(name)}", "a whole number"
    if exceeds(name, _LARGEST_INDEX):
        return f"index {quoted(name)}", f"an index of at most {_LARGEST_INDEX}"
    digits = name.lstrip("0") or "0"
    if int(digits) < first:
        return "index 0", "indices from 1 (use --zero-based if the file counts from 0)"
    if not value:
        return f"no value for feature {digits}", "index:value"
    found, expected = not_a_number(value.encode(), f"value of feature {digits}:", dtype)
    if value.lower() in ("null", "nan"):
        expected = f"a number (use {KEPT}, if it is a missing value)"
    return found, expected


T = TypeVar("T")
Result = tuple[int, int, int, int, int]  # fault, its place in the part and detail, values, columns

_EXPECTED = "lines 'label qid:ID index:value ...'"
_SMALLEST_PART = 1 << 18
_LARGEST_PART = 1 << 25  # so that Ctrl-C is seen between two of them
_SAMPLE = 1 << 18
_MOST_STEPS = 8192
_LABEL_AND_QID = re.compile(rb"[^ \t\r#]+[ \t\r]+qid:")


class Source(Struct):
    """A file's bytes in parts of whole lines, and what its first item line shows."""

    path: str
    text: Bytes
    parts: list[tuple[Bytes, int]]  # bytes, offset in the file
    first_item: int
    has_qid: bool
    options: ReadOptions

    @property
    def first(self) -> int:
        """The index of column 0."""
        return 0 if self.options.zero_based else 1

    def each(self, work: Callable[[int], T]) -> list[T]:
        """Return the results of ``work`` on the number of each part, in order; uses threads if allowed."""
        threads = min(self.options.n_threads(), len(self.parts) - 1)  # the last part is some last lines
        results: list[T] = []
        shown = progress.step(f"parsing {os.path.basename(self.path)}", len(self.text), "byte")
        with shown as advance, ExitStack() as stack:
            pool = None
            if threads > 1:
                from concurrent.futures import ThreadPoolExecutor  # which small files do without

                pool = stack.enter_context(ThreadPoolExecutor(threads))
            for result in (map if pool is None else pool.map)(work, range(len(self.parts))):
                advance(len(self.parts[len(results)][0]))
                results.append(result)
        return results


def open_source(data: Buffer, path: str, options: ReadOptions) -> Source:
    """Split ``data`` into parts; raises FormatError if it has no item line."""
    start = content_start(data, path, _EXPECTED)
    place, has_qid = first_item(data, start, path)
    threads = options.n_threads()
    n = max(8 * threads if threads > 1 else 1, len(data) // _LARGEST_PART)
    parts = parts_of_lines(data, start, n, _SMALLEST_PART)
    return Source(path, np.frombuffer(data, dtype=np.uint8), parts, place, has_qid, options)


def first_item(data: Buffer, start: int, path: str) -> tuple[int, bool]:
    """Return where the first item line from ``start`` on starts, and whether it has a qid.

    Raises FormatError if there is none.
    """
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip(b" \t\r")
        if line and not line.startswith(b"#"):
            return start, _LABEL_AND_QID.match(line) is not None
        start = end + 1
    raise FormatError(path, None, "no item line", _EXPECTED)


class _Shape(Struct):
    """Rows of each part, and what is known or guessed of values and columns."""

    row_bounds: Index
    width: int
    values: list[int] | None  # of each part; None = not counted

    @property
    def n_rows(self) -> int:
        return int(self.row_bounds[-1])

    def is_dense(self, source: Source) -> bool:
        """Return whether the features are dense, as far as the values are known."""
        cells = self.n_rows * self.width
        values = cells if self.values is None else sum(self.values)
        return wants_dense(source.options, values, cells, source.path)


def looks_dense(text: Bytes, first: int) -> bool:
    """Return whether the first lines of a part have a value for half of their columns."""
    if len(text) > _SAMPLE:
        ends = np.flatnonzero(text[:_SAMPLE] == 10)
        text = text[: ends[-1] + 1] if len(ends) else text
    rows, values, columns = scan(text, first, True)
    return bool(2 * values >= rows * columns)


def _measure(source: Source, least_width: int) -> _Shape:
    """Count rows; values too, unless the head of the file looks dense."""
    options = source.options
    counts_values = options.layout == "sparse"
    if options.layout == "auto" and options.missing != "nan":
        counts_values = not looks_dense(source.parts[0][0], source.first)
    counts = source.each(lambda p: scan(source.parts[p][0], source.first, counts_values))
    width = max(least_width, *(columns for _, _, columns in counts))
    values_of_parts = [values for _, values, _ in counts] if counts_values else None
    return _Shape(offsets_of([rows for rows, _, _ in counts]), width, values_of_parts)


class Items(Struct):
    """Content of the item lines of a file, in their order."""

    features: Features
    names: list[str] | None  # None if nothing is named and no column left out
    labels: Floats
    spans: Index  # (n, 4): start and length of the qid (start -1: the one before) and of the comment


def read_items(source: Source, given: ColumnNames | None, width: int = 0) -> Items:
    """Return items with the names ``given`` and ``width`` columns at least; FormatError at a bad line."""
    shape = _measure(source, max(width, 0 if given is None else given.n_columns))
    labels = np.empty(shape.n_rows)
    spans = np.empty((shape.n_rows, 4), dtype=np.int64)
    features, names = _named_features(source, shape, labels, spans, given)
    return Items(features, names, labels, spans)


def grouped_items(source: Source, items: Items) -> CandidateLists:
    """Return items as the lists that their qids name; without qids they are one list."""
    labels, spans, names = items.labels, items.spans, items.names
    item_ids = item_ids_of(source, spans)
    starts = np.flatnonzero(spans[:, 0] >= 0)
    if len(starts):
        offsets, rows, list_ids = _grouped(source, starts, spans[starts, 0], spans[starts, 1], len(labels))
    elif source.options.classes:
        offsets, rows, list_ids = offsets_of(np.ones(len(labels))), None, None
    else:
        note_one_list(source.path, len(labels))
        offsets, rows, list_ids = offsets_of([len(labels)]), None, None
    return CandidateLists(
        offsets,
        **in_list_order(rows, features=items.features, labels=labels, item_ids=item_ids),
        list_ids=list_ids,
        rows=rows,
        feature_names=names,
        source=source.path,
    )


def _grouped(
    source: Source, starts: Index, places: Index, lengths: Index, n_items: int
) -> tuple[Index, Index | None, StringColumn]:
    """Offsets, rows and ids of the lists, from the items that start a run and where their qids are."""
    column = strings_at([(source.text, np.stack([places, lengths], axis=1), np.arange(len(places)))])
    hashes = hashes_of(column)
    begins = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))  # a part may begin within a list
    if first_again(hashes[begins]) is None:
        return np.append(starts[begins], n_items), None, column.take(begins)
    qids = [column.bytes_at(k) for k in range(len(column))]
    numbers: dict[bytes, int] = {}
    codes = np.array([numbers.setdefault(qid, len(numbers)) for qid in qids], dtype=np.int64)
    check_contiguous(
        codes,
        lambda run: line_of(source.text, int(places[run])),
        lambda run: quoted(b"qid:" + qids[run]),
        source.path,
        source.options.strict,
    )
    offsets, rows = grouped(np.repeat(codes, np.diff(starts, append=n_items)))
    return offsets, rows, StringColumn.from_strings(numbers)


def _named_features(
    source: Source, shape: _Shape, labels: Floats, spans: Index, given: ColumnNames | None
) -> tuple[Features, list[str] | None]:
    """Parse all item lines; names are None if nothing is named and no column left out. OUT as _features."""
    found = _features(source, shape, labels, spans)
    if given is not None:
        given.check(found.n_features, source.path)
    if not (isinstance(found, Sparse) and shape.width > WIDE):
        return found, None if given is None else given.at(range(found.n_features))
    named = np.empty(0, dtype=np.int64) if given is None else given.columns
    kept = columns_to_keep(found, named, zeros=source.options.missing == "nan")
    if kept is not None:
        found = narrowed(found, kept)
    features: Features = found
    options = source.options
    if wants_dense(options, found.n_values, found.n_items * found.n_features, source.path):
        if options.dtype == "float32" and found.data is not None:
            check_float32(found.data, source.path)
        features = Dense(found.to_dense(np.dtype(options.dtype), absent_value(options)))
    columns = range(found.n_features) if kept is None else kept.tolist()
    if given is not None:
        return features, given.at(columns)
    return features, None if kept is None else [str(column + 1) for column in columns]


def _features(source: Source, shape: _Shape, labels: Floats, spans: Index) -> Features:
    """Parse all item lines until what was guessed holds. OUT labels (n_rows), spans (n_rows, 4).

    Features of many columns are sparse here: how many of the columns are present is known afterwards.
    """
    auto = source.options.layout == "auto" and source.options.missing != "nan"
    ones = True
    features: Features
    while True:
        wide = shape.width > WIDE
        dense = not wide and shape.is_dense(source)
        if dense:
            features, results = _dense(source, shape, labels, spans)
        else:
            if shape.values is None:
                shape.values = _count_values(source)
            features, results = _sparse(source, shape, labels, spans, ones)
        width = max(columns for *_, columns in results)
        if dense and width > shape.width:
            shape.width = width
            shape.values = _count_values(source) if auto else None
        elif any(FAULTS[fault] == "not ones" for fault, *_ in results):
            ones = False
        else:
            _raise_first(source, results)
            if shape.values is None and auto:
                shape.values = [values for *_, values, _ in results]
            shape.width = max(shape.width, width)
            if shape.width > WIDE or shape.is_dense(source) == dense:
                return features
        del features  # before the next try takes memory


def _count_values(source: Source) -> list[int]:
    return source.each(lambda p: scan(source.parts[p][0], source.first, True)[1])


def steps_of(width: int, first: int) -> NDArray[np.uint64]:
    """Return uint64 (n_steps, 3): " INDEX:" of the leading columns as a word, its mask and its length."""
    texts = [b" %d:" % (column + first) for column in range(min(width, _MOST_STEPS))]
    texts = [text for text in texts if len(text) <= 8]
    steps = np.empty((len(texts), 3), dtype=np.uint64)
    steps[:, 0] = np.frombuffer(b"".join(text.ljust(8, b"\0") for text in texts), dtype=np.uint64)
    masks = b"".join((b"\xff" * len(text)).ljust(8, b"\0") for text in texts)
    steps[:, 1] = np.frombuffer(masks, dtype=np.uint64)
    steps[:, 2] = [len(text) for text in texts]
    return steps


def _dense(source: Source, shape: _Shape, labels: Floats, spans: Index) -> tuple[Dense, list[Result]]:
    X = empty_dense(shape.n_rows, shape.width, source.options.dtype, source.path)
    fill = absent_value(source.options)
    steps = steps_of(shape.width, source.first)

    def work(p: int) -> Result:
        text, origin = source.parts[p]
        rows = slice(shape.row_bounds[p], shape.row_bounds[p + 1])
        return parse_dense(
            text, origin, source.has_qid, source.first, fill, steps, X[rows], labels[rows], spans[rows]
        )

    return Dense(X), source.each(work)


def _sparse(
    source: Source, shape: _Shape, labels: Floats, spans: Index, ones: bool
) -> tuple[Sparse, list[Result]]:
    bounds = offsets_of(shape.values or [])
    indptr = np.zeros(shape.n_rows + 1, dtype=np.int64)
    indices = np.empty(bounds[-1], dtype=np.int32)
    data = None if ones else np.empty(bounds[-1])

    def work(p: int) -> Result:
        text, origin = source.parts[p]
        rows = slice(shape.row_bounds[p], shape.row_bounds[p + 1])
        values = slice(bounds[p], bounds[p + 1])
        some = None if data is None else data[values]
        ends = indptr[1:][rows]
        out = (ends, indices[values], some, labels[rows], spans[rows])
        result = parse_sparse(
            text, origin, source.has_qid, source.first, source.options.missing == "nan", *out
        )
        ends += bounds[p]
        return result

    results = source.each(work)
    width = max(shape.width, *(columns for *_, columns in results))
    return Sparse(indptr, indices, data, width), results


def _raise_first(source: Source, results: list[Result]) -> None:
    for (_, origin), (fault, place, detail, _, _) in zip(source.parts, results, strict=True):
        if fault:
            raise fault_error(
                source.path,
                source.text,
                FAULTS[fault],
                origin + place,
                detail,
                first_item=source.first_item,
                has_qid=source.has_qid,
                first=source.first,
                dtype=source.options.dtype,
            )


def item_ids_of(source: Source, spans: Index) -> StringColumn | None:
    """Return the comments of items, see ``Items``, None if there are none; warns if some have none."""
    if not spans[:, 3].any():
        return None
    note_without_ids(source.path, int(np.count_nonzero(spans[:, 3] == 0)), len(spans))
    return strings_at([(source.text, spans[:, 2:], np.arange(len(spans)))])


def note_without_ids(path: str, without: int, n_items: int) -> None:
    """Warn if some items, ``without`` of ``n_items``, have no id, but not all."""
    if 0 < without < n_items:
        note(f"{path}: {without} of {n_items} items have no comment; their ids are empty")


def note_one_list(path: str, n_items: int) -> None:
    """Warn that a file has no qid."""
    note(f"{path}: no qid: the file is one list of {count(n_items, 'item')}")
