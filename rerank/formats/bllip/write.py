"""Writing BLLIP's feature files: a line per list, from the counts of each parse's constituents."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Index
from rerank.data.lists import CandidateLists
from rerank.formats.buffers import write_blocks
from rerank.formats.common import unnamed_last
from rerank.native.formats._bllip import MOST_FEATURES
from rerank.native.formats._write import BllipLines, most_values

_VALUE_BOUND = 34  # bytes of " id=value" at most
_PARSE_BOUND = 28  # of " P=", " W=", the comma
_LINE_BOUND = 30  # of "G=", " N=", the newline
_LARGEST_COUNT = 999_999_999
WHOLE = re.compile(r"0|[1-9][0-9]{0,7}")


def ids_of(names: Sequence[str] | None, n_features: int) -> tuple[Index, bool]:
    """Return the ids of columns, int64 (n_features), and whether the ids tell all that the names do.

    Names that are increasing whole numbers are the ids. Otherwise an id is the number of its column, from 0.
    So it is too for "1", "2", ..., the names of columns without names.
    """
    columns = np.arange(n_features, dtype=np.int64)
    if names is None or all(name == str(j) for j, name in enumerate(names, start=1)):
        return columns, True
    if all(WHOLE.fullmatch(name) for name in names):
        ids = np.array([int(name) for name in names], dtype=np.int64)
        if np.all(np.diff(ids) > 0):
            return ids, True
    return columns, False


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, values exactly, zeros left out; raises DataError as Format.write does."""
    edges = _edges(lists, path)
    if lists.has_missing:
        raise DataError(f"{path}: bllip cannot hold missing values: absent values are 0")
    if lists.n_features > MOST_FEATURES:
        raise DataError(f"{path}: bllip holds {MOST_FEATURES} features at most, found {lists.n_features}")
    ids, _ = ids_of(lists.feature_names, lists.n_features)
    matrix, last = lists.features.matrix(), unnamed_last(lists.features)
    sizes = np.add.reduceat(_PARSE_BOUND + _VALUE_BOUND * most_values(matrix), lists.offsets[:-1])
    lines = BllipLines(matrix, last, lists.offsets, edges, ids)
    header = b"S=%d\n" % lists.n_lists
    write_blocks(path, sizes + _LINE_BOUND, lines.render, header=header, spare=_VALUE_BOUND)


def _edges(lists: CandidateLists, path: str) -> Index:
    """Constituents of the gold tree, of the parse, of both: int64 (n_items, 3)."""
    counts = lists.counts.get("PARSEVAL")
    if counts is None or counts.shape[1] < 3:
        found = ", ".join(lists.counts) or "none"
        raise DataError(f"{path}: bllip needs counts of PARSEVAL (matched, gold, test), found {found}")
    given = np.ascontiguousarray(counts[:, [1, 2, 0]])
    with np.errstate(invalid="ignore"):
        edges = given.astype(np.int64)
    good = (edges == given) & (edges >= 0) & (edges <= _LARGEST_COUNT)
    good &= (edges[:, 2] <= edges[:, :2].min(axis=1))[:, None]
    if not np.all(good):
        item = int(np.argmin(np.all(good, axis=1)))
        gold, test, matched = given[item].tolist()
        raise DataError(
            f"{path}: item {item} has {matched:g} matched, {gold:g} gold, {test:g} test constituents; "
            "bllip holds whole numbers, matched at most as many as either"
        )
    same = edges[:, 0] == np.repeat(edges[lists.offsets[:-1], 0], lists.lengths)
    if not np.all(same):
        i = int(lists.list_index[int(np.argmin(same))])
        raise DataError(f"{path}: list {lists.list_id(i)!r} has several numbers of gold constituents")
    return edges
