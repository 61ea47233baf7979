"""Writing BLLIP's feature files: a line a list, from what is known of each parse's constituents."""

from __future__ import annotations

import numpy as np

from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.data.types import Index
from rerank.errors import DataError
from rerank.files import atomic_write
from rerank.formats.bllip.ids import ids_of
from rerank.native.formats._bllip import MOST_FEATURES
from rerank.native.formats._bllip_write import write_sentences

_VALUE_BOUND = 34  # bytes of " id=value" at most
_PARSE_BOUND = 28  # of " P=", " W=", the comma
_LINE_BOUND = 30  # of "G=", " N=", the newline
_BLOCK = 1 << 22
_LARGEST_COUNT = 999_999_999


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, lists in their order, values exactly, zeros left out.

    Raises DataError where a list has no counts of constituents, or values are missing.
    """
    edges = _edges(lists, path)
    if lists.has_missing:
        raise DataError(f"{path}: bllip cannot hold missing values: what a parse leaves out is 0")
    if lists.n_features > MOST_FEATURES:
        raise DataError(f"{path}: bllip holds {MOST_FEATURES} features at most, found {lists.n_features}")
    ids, _ = ids_of(lists.feature_names, lists.n_features)
    features = lists.features.compressed()
    sizes = np.add.reduceat(
        _PARSE_BOUND + _VALUE_BOUND * np.diff(features.indptr), lists.offsets[:-1], dtype=np.int64
    )
    bounds = _blocks(sizes + _LINE_BOUND)
    out = np.empty(max(end - start for *_, start, end in bounds) + _VALUE_BOUND, dtype=np.uint8)
    last = _unnamed(features, ids)
    with atomic_write(path) as file:
        file.write(b"S=%d\n" % lists.n_lists)
        for a, b, *_ in bounds:
            length = write_sentences(
                lists.offsets[a : b + 1],
                edges,
                features.indptr,
                features.indices,
                features.data,
                ids,
                last if a == 0 else -1,
                out,
            )
            file.write(out[:length].data)


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


def _unnamed(features: Sparse, ids: Index) -> int:
    """The last feature's id where no parse has a value of it, which would make it unknown; else -1."""
    written = features.indices if features.data is None else features.indices[features.data != 0]
    last = features.n_features - 1
    return int(ids[last]) if last >= 0 and not np.any(written == last) else -1


def _blocks(sizes: Index) -> list[tuple[int, int, int, int]]:
    """Ranges of lists that fit the buffer, one list at least each, and their bytes as a range."""
    ends = np.cumsum(sizes)
    bounds = []
    start = done = 0
    while start < len(sizes):
        stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
        bounds.append((start, stop, done, int(ends[stop - 1])))
        start, done = stop, int(ends[stop - 1])
    return bounds
