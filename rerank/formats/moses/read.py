"""Reading Moses N-best files: a pass for lines, ids and names, one for numbers, straight into place.

Between the two the shape of everything is known, so that no array is made twice: lines go to the row
of their list, also where lists are not contiguous or come from several files.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import Index
from rerank.errors import DataError, DataNote, FormatError
from rerank.formats.base import ReadOptions
from rerank.formats.moses.columns import Columns, columns_of, place_of
from rerank.formats.moses.faults import number_error, quoted
from rerank.formats.moses.source import Lines, Part, Vocabulary, open_parts, scan_parts
from rerank.native.formats._moses import gather
from rerank.native.formats._moses_fill import fill_dense, fill_sparse


def read_lists(paths: Sequence[str], options: ReadOptions) -> CandidateLists:
    """The lists of one file, or of several joined by id; raises FormatError at the first bad line."""
    parts: list[Part] = []
    for path in paths:
        parts += open_parts(path, parts[-1].rows.stop if parts else 0)
    vocabulary = Vocabulary()
    lines = scan_parts(parts, vocabulary)
    columns = columns_of(parts, lines, vocabulary)
    _note_apart(parts, lines, vocabulary, options.strict)
    sizes = np.bincount(lines.codes)
    n = len(lines.codes)
    rows: Index | None = None
    places = np.arange(n, dtype=np.int64)
    if np.any(lines.codes[1:] < lines.codes[:-1]):
        rows = np.argsort(lines.codes, kind="stable").astype(np.int64)
        places[rows] = np.arange(n)
    totals = lines.totals if rows is None else lines.totals[rows]
    texts = _texts(parts, lines, places)
    features = _features(parts, lines, vocabulary, columns, places, options)
    return CandidateLists(
        offsets_of(sizes),
        features,
        base_scores=totals,
        first_best=-(np.arange(n) if rows is None else rows).astype(np.float64),
        list_ids=StringColumn.from_strings(vocabulary.ids.strings()),
        rows=rows,
        feature_names=columns.feature_names,
        texts=texts,
        source=parts[0].path,
    )


def _note_apart(parts: Sequence[Part], lines: Lines, vocabulary: Vocabulary, strict: bool) -> None:
    """Say, or under ``strict`` refuse, lists of one file whose lines are not contiguous."""
    for path in dict.fromkeys(part.path for part in parts):
        mine = [part for part in parts if part.path == path]
        before = mine[0].rows.start
        codes = lines.codes[before : mine[-1].rows.stop]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        runs = codes[starts]
        _, firsts = np.unique(runs, return_index=True)
        again = np.ones(len(runs), dtype=bool)
        again[firsts] = False
        if not np.any(again):
            continue
        at = int(np.argmax(again))
        _, line = place_of(mine, before + int(starts[at]))
        if strict:
            name = quoted(vocabulary.ids.strings()[runs[at]])
            raise FormatError(path, line, f"id {name} again", "the lines of a list together")
        n = len(np.unique(runs[again]))
        note = f"{path}: the lines of {n} list{'s' * (n > 1)} are not contiguous (from line {line}); "
        warnings.warn(note + "they are brought together", DataNote, stacklevel=2)


def _texts(parts: Sequence[Part], lines: Lines, places: Index) -> StringColumn:
    lengths = np.empty(len(places), dtype=np.int64)
    lengths[places] = lines.spans[:, 1]
    offsets = offsets_of(lengths)
    data = np.empty(offsets[-1], dtype=np.uint8)
    if len(data):
        for part in parts:
            gather(part.text, lines.spans[part.rows], places[part.rows], offsets, data)
    return StringColumn(data, offsets)


def _features(
    parts: Sequence[Part],
    lines: Lines,
    vocabulary: Vocabulary,
    columns: Columns,
    places: Index,
    options: ReadOptions,
) -> Features:
    """Dense where half of the cells are present: 8 bytes a cell against 12 a value."""
    n, source = len(places), parts[0].path
    dense = options.layout == "dense" or options.missing == "nan"
    if options.layout == "auto" and not dense:
        dense = 2 * int(lines.counts.sum()) >= n * columns.width
    if not dense and options.dtype == "float32":
        raise DataError(f"{source}: sparse features are float64; float32 needs layout=dense")
    return (_dense if dense else _sparse)(parts, lines, vocabulary, columns, places, options)


def _dense(
    parts: Sequence[Part],
    lines: Lines,
    vocabulary: Vocabulary,
    columns: Columns,
    places: Index,
    options: ReadOptions,
) -> Dense:
    n, width = len(places), columns.width
    try:
        X = np.empty((n, width), dtype=options.dtype)
    except (MemoryError, ValueError):
        raise DataError(
            f"{parts[0].path}: {n} items x {width} features are too many for a dense array"
        ) from None
    nothing = float("nan") if options.missing == "nan" else 0.0
    longest = max(int(lines.counts.max()), 1)
    scratch = np.empty(longest, dtype=np.int32), np.empty(longest)
    for part in parts:
        fault = fill_dense(
            part.text,
            lines.spans[part.rows],
            part.kinds,
            vocabulary.names,
            vocabulary.followers,
            columns.first,
            places[part.rows],
            nothing,
            *scratch,
            X,
        )
        _raise_number(parts, part, fault, options.dtype)
    return Dense(X)


def _sparse(
    parts: Sequence[Part],
    lines: Lines,
    vocabulary: Vocabulary,
    columns: Columns,
    places: Index,
    options: ReadOptions,
) -> Sparse:
    counts = np.empty(len(places), dtype=np.int64)
    counts[places] = lines.counts
    indptr = offsets_of(counts)
    indices = np.empty(indptr[-1] + 1, dtype=np.int32)  # one more, so that every row has a place
    data = np.empty(indptr[-1] + 1)
    for part in parts:
        fault = fill_sparse(
            part.text,
            lines.spans[part.rows],
            part.kinds,
            vocabulary.names,
            vocabulary.followers,
            columns.first,
            places[part.rows],
            indptr,
            indices,
            data,
        )
        _raise_number(parts, part, fault, options.dtype)
    return Sparse(indptr, indices[:-1], data[:-1], columns.width)


def _raise_number(parts: Sequence[Part], part: Part, fault: tuple[int, int], dtype: str) -> None:
    row, place = fault
    if row >= 0:
        path, line = place_of(parts, part.rows.start + row)
        raise number_error(path, line, part.text[place:], dtype)
