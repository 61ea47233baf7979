"""Reading Moses N-best files: a pass for lines, ids and names, one for numbers, straight into place.

After the first pass the shape of everything is known, so that no array is made twice: lines go to the row of
their list, also if lists are not contiguous or come from several files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import Index
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import strings_at
from rerank.formats.common import absent_value, check_contiguous, empty_dense, quoted, wants_dense
from rerank.formats.moses.faults import number_error
from rerank.formats.moses.scan import (
    Columns,
    Lines,
    Part,
    Vocabulary,
    columns_of,
    open_parts,
    part_of,
    scan_parts,
)
from rerank.native.formats._moses_fill import fill_dense, fill_sparse


def read_lists(paths: Sequence[str], options: ReadOptions) -> CandidateLists:
    """Return the lists of one file, or of several joined by id; raises FormatError at the first bad line."""
    parts: list[Part] = []
    for path in paths:
        parts += open_parts(path, parts[-1].rows.stop if parts else 0)
    vocabulary = Vocabulary()
    lines = scan_parts(parts, vocabulary)
    columns = columns_of(parts, lines, vocabulary)
    ids = vocabulary.ids.strings()
    codes = lines.codes.astype(np.int64)
    for path in dict.fromkeys(part.path for part in parts):
        _check_file([part for part in parts if part.path == path], codes, ids, options.strict)
    n = len(codes)
    offsets, rows = grouped(codes)
    places = np.arange(n, dtype=np.int64)
    if rows is not None:
        places[rows] = np.arange(n)
    return CandidateLists(
        offsets,
        _features(parts, lines, vocabulary, columns, places, options),
        base_scores=lines.totals if rows is None else lines.totals[rows],
        first_best=-(np.arange(n) if rows is None else rows).astype(np.float64),
        list_ids=StringColumn.from_strings(ids),
        rows=rows,
        feature_names=columns.names,
        texts=strings_at([(part.text, lines.spans[part.rows], places[part.rows]) for part in parts]),
        source=parts[0].path,
    )


def _check_file(parts: Sequence[Part], codes: Index, ids: Sequence[bytes], strict: bool) -> None:
    """Report, or under ``strict`` refuse, lists of one file (its parts) whose lines are not contiguous."""
    first = parts[0].rows.start
    check_contiguous(
        codes[first : parts[-1].rows.stop],
        lambda at: part_of(parts, first + at).line_of(first + at),
        lambda at: f"id {quoted(ids[codes[first + at]])}",
        parts[0].path,
        strict,
    )


def _features(
    parts: Sequence[Part],
    lines: Lines,
    vocabulary: Vocabulary,
    columns: Columns,
    places: Index,
    options: ReadOptions,
) -> Features:
    """The features of all lines, that of line i in row ``places[i]``."""
    n, width, source = len(places), columns.width, parts[0].path
    if wants_dense(options, int(lines.counts.sum()), n * width, source):
        X = empty_dense(n, width, options.dtype, source)
        longest = max(int(lines.counts.max()), 1)
        scratch = np.empty(longest, dtype=np.int32), np.empty(longest)
        _fill(
            fill_dense, parts, lines, vocabulary, columns, places, options, absent_value(options), *scratch, X
        )
        return Dense(X)
    counts = np.empty(n, dtype=np.int64)
    counts[places] = lines.counts
    indptr = offsets_of(counts)
    indices = np.empty(indptr[-1] + 1, dtype=np.int32)  # one more, so that every row has a place
    data = np.empty(indptr[-1] + 1)
    _fill(fill_sparse, parts, lines, vocabulary, columns, places, options, indptr, indices, data)
    return Sparse(indptr, indices[:-1], data[:-1], width)


def _fill(
    kernel: Callable[..., tuple[int, int]],
    parts: Sequence[Part],
    lines: Lines,
    vocabulary: Vocabulary,
    columns: Columns,
    places: Index,
    options: ReadOptions,
    *out: object,
) -> None:
    """Call the kernel of a layout on every part; raises FormatError at the first bad number."""
    for part in parts:
        row, place = kernel(
            part.text,
            lines.spans[part.rows],
            part.kinds,
            vocabulary.names,
            vocabulary.followers,
            columns.first,
            places[part.rows],
            *out,
        )
        if row >= 0:
            number = part.line_of(part.rows.start + row)
            raise number_error(part.path, number, part.text[place:], options.dtype)
