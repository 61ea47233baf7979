"""Reading Moses N-best files: a pass for lines, ids and names, one for numbers, straight into place.

After the first pass the shape of everything is known, so that no array is made twice: lines go to the row of
their list, also if lists are not contiguous or come from several files.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Features, Sparse
from rerank.data.types import Index
from rerank.formats.base import ReadOptions
from rerank.formats.buffers import strings_at
from rerank.formats.common import absent_value, check_contiguous, empty_dense, quoted, wants_dense
from rerank.formats.moses.scan import (
    Columns,
    Part,
    Scanned,
    columns_of,
    fill,
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
    scanned = scan_parts(parts)
    columns = columns_of(scanned)
    lines, ids = scanned.lines, scanned.vocabulary.ids.strings()
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
        _features(scanned, columns, places, options),
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


def _features(scanned: Scanned, columns: Columns, places: Index, options: ReadOptions) -> Features:
    """The features of all lines, that of line i in row ``places[i]``."""
    n, width, source = len(places), columns.width, scanned.parts[0].path
    values = scanned.lines.counts
    if wants_dense(options, int(values.sum()), n * width, source):
        X = empty_dense(n, width, options.dtype, source)
        longest = max(int(values.max()), 1)
        line = np.empty(longest, dtype=np.int32), np.empty(longest)  # scratch
        out = absent_value(options), *line, X
        fill(fill_dense, scanned, columns.first, places, *out, dtype=options.dtype)
        return Dense(X)
    counts = np.empty(n, dtype=np.int64)
    counts[places] = values
    indptr = offsets_of(counts)
    indices = np.empty(indptr[-1] + 1, dtype=np.int32)  # one more, so that every row has a place
    data = np.empty(indptr[-1] + 1)
    fill(fill_sparse, scanned, columns.first, places, indptr, indices, data)
    return Sparse(indptr, indices[:-1], data[:-1], width)
