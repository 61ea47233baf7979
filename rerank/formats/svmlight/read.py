"""The steps of reading SVMlight: split at newlines, count, parse in place, group by qid.

A first pass counts lines, so that each part of the file knows its rows; the parse then writes straight
into the final arrays, by as many threads as there are parts. Whether rows are dense or compressed, and
how wide, is guessed from the head of the file; the parse finds out what holds and is done anew where
the guess was wrong, so that no result depends on it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rerank.data.columns.offsets import fresh_array
from rerank.data.columns.strings import StringColumn
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import AnyArray, Floats, Index
from rerank.errors import DataError, DataNote, FormatError
from rerank.formats.common import note_regrouped
from rerank.formats.svmlight.faults import fault_error, line_of, quoted
from rerank.formats.svmlight.source import Source
from rerank.native.formats._svmlight import FAULTS, gather, parse_dense, scan
from rerank.native.formats._svmlight_sparse import parse_sparse

_SAMPLE = 1 << 18
_MOST_STEPS = 8192


@dataclass
class Table:
    """What was read, in the order of the lines."""

    features: Features
    labels: Floats
    qids: Sequence[bytes]  # of runs of lines
    run_starts: Index
    run_places: Index  # offsets in the file
    item_ids: StringColumn | None


@dataclass
class _Shape:
    """Rows of each part, and what is known or guessed of values and columns."""

    row_bounds: Index
    width: int
    values: list[int] | None  # of each part; None = not counted

    @property
    def n_rows(self) -> int:
        return int(self.row_bounds[-1])

    def is_dense(self, layout: str) -> bool:
        """Dense where half of the cells are present: 8 bytes a cell against 12 a value."""
        if layout == "auto":
            return self.values is None or 2 * sum(self.values) >= self.n_rows * self.width
        return layout == "dense"


def _measure(source: Source, layout: str, least_width: int) -> _Shape:
    """Count rows; values too, unless the head of the file looks dense."""
    count = layout == "sparse"
    if layout == "auto":
        head = source.parts[0][0]
        if len(head) > _SAMPLE:
            ends = np.flatnonzero(head[:_SAMPLE] == 10)
            head = head[: ends[-1] + 1] if len(ends) else head
        rows, values, columns = scan(head, source.first, True)
        count = 2 * values < rows * columns
    counts = source.each(lambda p: scan(source.parts[p][0], source.first, count))
    bounds = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum([rows for rows, _, _ in counts], out=bounds[1:])
    width = max(least_width, *(columns for _, _, columns in counts))
    return _Shape(bounds, width, [values for _, values, _ in counts] if count else None)


def parse(source: Source, least_width: int) -> Table:
    """All item lines; raises FormatError for the first bad line of the file."""
    options = source.options
    layout = "dense" if options.missing == "nan" else options.layout
    shape = _measure(source, layout, least_width)
    labels = np.empty(shape.n_rows)
    spans = np.empty((shape.n_rows, 4), dtype=np.int64)
    ones = True
    features: Features
    while True:
        dense = shape.is_dense(layout)
        if not dense and options.dtype == "float32":
            raise DataError(f"{source.path}: sparse features are float64; float32 needs layout=dense")
        if dense:
            features, results = _dense(source, shape, labels, spans)
        else:
            if shape.values is None:
                shape.values = _count_values(source)
            features, results = _sparse(source, shape, labels, spans, ones)
        width = max(columns for *_, columns in results)
        if dense and width > shape.width:
            shape.width = width
            shape.values = _count_values(source) if layout == "auto" else None
        elif any(FAULTS[fault] == "not ones" for fault, *_ in results):
            ones = False
        else:
            _raise_first(source, results)
            if shape.values is None and layout == "auto":
                shape.values = [values for *_, values, _ in results]
            if shape.is_dense(layout) == dense:
                break
        del features  # before the next try takes memory
    return _finish(source, features, labels, spans)


def _count_values(source: Source) -> list[int]:
    return source.each(lambda p: scan(source.parts[p][0], source.first, True)[1])


def _steps(width: int, first: int) -> npt.NDArray[np.uint64]:
    """uint64 (n_steps, 3): " INDEX:" of the leading columns as a word, its mask and its length."""
    texts = [b" %d:" % (column + first) for column in range(min(width, _MOST_STEPS))]
    texts = [text for text in texts if len(text) <= 8]
    steps = np.empty((len(texts), 3), dtype=np.uint64)
    steps[:, 0] = np.frombuffer(b"".join(text.ljust(8, b"\0") for text in texts), dtype=np.uint64)
    masks = b"".join((b"\xff" * len(text)).ljust(8, b"\0") for text in texts)
    steps[:, 1] = np.frombuffer(masks, dtype=np.uint64)
    steps[:, 2] = [len(text) for text in texts]
    return steps


def _array(n_rows: int, width: int, source: Source) -> AnyArray:
    """An array with anything in it; DataError where there is no memory for it."""
    try:
        return fresh_array((n_rows, width), source.options.dtype)
    except (MemoryError, ValueError, OverflowError, OSError):
        raise DataError(
            f"{source.path}: {n_rows} items x {width} features are too many for a dense array"
        ) from None


Result = tuple[int, int, int, int, int]


def _dense(source: Source, shape: _Shape, labels: Floats, spans: Index) -> tuple[Dense, list[Result]]:
    X = _array(shape.n_rows, shape.width, source)
    fill = float("nan") if source.options.missing == "nan" else 0.0
    steps = _steps(shape.width, source.first)

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
    bounds = np.zeros(len(source.parts) + 1, dtype=np.int64)
    np.cumsum(shape.values or [], out=bounds[1:])
    indptr = np.zeros(shape.n_rows + 1, dtype=np.int64)
    indices = np.empty(bounds[-1], dtype=np.int32)
    data = None if ones else np.empty(bounds[-1])

    def work(p: int) -> Result:
        text, origin = source.parts[p]
        rows = slice(shape.row_bounds[p], shape.row_bounds[p + 1])
        values = slice(bounds[p], bounds[p + 1])
        ends = indptr[1:][rows]
        result = parse_sparse(
            text,
            origin,
            source.has_qid,
            source.first,
            ends,
            indices[values],
            None if data is None else data[values],
            labels[rows],
            spans[rows],
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


def _finish(source: Source, features: Features, labels: Floats, spans: Index) -> Table:
    """Ids out of the file's bytes, which are of no use afterwards."""
    starts = np.flatnonzero(spans[:, 0] >= 0)
    places = spans[starts, 0]
    qids = [
        source.text[at : at + length].tobytes()
        for at, length in zip(places.tolist(), spans[starts, 1].tolist(), strict=True)
    ]
    table = Table(features, labels, qids, starts, places, _item_ids(source, spans))
    _note_apart(source, table)
    return table


def _item_ids(source: Source, spans: Index) -> StringColumn | None:
    lengths = spans[:, 3]
    without = int(np.count_nonzero(lengths == 0))
    if without == len(lengths):
        return None
    if without:
        note = f"{source.path}: {without} of {len(lengths)} items have no comment; their ids are empty"
        warnings.warn(note, DataNote, stacklevel=2)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(offsets[-1], dtype=np.uint8)
    bounds = np.linspace(0, len(lengths), len(source.parts) + 1).astype(np.int64)

    def work(p: int) -> None:
        rows = slice(bounds[p], bounds[p + 1])
        gather(source.text, spans[rows], offsets[bounds[p] : bounds[p + 1] + 1], data)

    source.each(work)
    return StringColumn(data, offsets)


def _note_apart(source: Source, table: Table) -> None:
    """Say, or under ``strict`` refuse, lists whose lines are not contiguous."""
    seen: set[bytes] = set()
    apart: dict[bytes, int] = {}  # to the place of the first line that is apart
    last = None
    for qid, place in zip(table.qids, table.run_places.tolist(), strict=True):
        if qid != last and qid in seen:
            apart.setdefault(qid, place)
        seen.add(qid)
        last = qid
    if not apart:
        return
    first, where = next(iter(apart.items()))
    line = line_of(source.text, where)
    if source.options.strict:
        found = f"{quoted((b'qid:' + first).decode('utf-8', 'backslashreplace'))} again"
        raise FormatError(source.path, line, found, "the lines of a list together")
    note_regrouped(source.path, len(apart), line)
