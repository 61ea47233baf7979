"""Writing Moses N-best files: what the format cannot hold is refused, what it holds reads back the same."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Index
from rerank.errors import DataError, DataNote
from rerank.files import atomic_write
from rerank.formats.common import note
from rerank.native.formats._moses_write import write_dense, write_sparse

_STORE = "format store holds it"
_BARS = re.compile(rb"(?<![^ \t])\|\|\|(?![^ \t])")
_BAD_ID = re.compile(rb"\n|\|\|\||^[ \t]|[ \t]$|^\xef\xbb\xbf")
_NUMBERED = re.compile(r"(.+)_0", re.DOTALL)
_LINE_BOUND = 48  # bars, blanks, total, newline
_VALUE_BOUND = 25
_BLOCK = 1 << 22


def write_lists(lists: CandidateLists, path: str) -> None:
    """Write ``lists`` to ``path``, lines in the order of the input where that keeps the lists' order.

    Columns Name_0, Name_1, ... of dense features become one ``Name= v v``, others ``Name= v``, those
    without names numbers alone; NaN is left out. Raises DataError where reading the file back would not
    give the same lists.
    """
    ids = _list_ids(lists, path)
    if lists.texts is not None:
        _check_texts(lists.texts, path)
    if lists.base_scores is not None and np.any(np.isnan(lists.base_scores)):
        raise DataError(f"{path}: moses cannot hold items without a score; {_STORE}")
    items = _item_order(lists, path)
    names = _names(lists, path)
    _check_missing(lists, items, path)
    for name, instead in (("texts", "texts are empty"), ("base_scores", "scores are 0")):
        if getattr(lists, name) is None:
            note(f"{path}: the lists have no {name}; {instead}")
    sizes = _sizes(lists, ids, names)[items]
    _write(lists, ids, names, items, sizes, path)


def _list_ids(lists: CandidateLists, path: str) -> StringColumn:
    """The ids to write: the lists' own, or their numbers from 0."""
    if lists.list_ids is None:
        return StringColumn.from_strings(str(i) for i in range(lists.n_lists))
    ids = lists.list_ids
    strings = [ids.bytes_at(i) for i in range(len(ids))]
    bad = next((i for i, name in enumerate(strings) if not name or _BAD_ID.search(name)), None)
    if bad is not None:
        raise DataError(
            f"{path}: moses cannot hold the list id {ids[bad]!r} (empty, or with blanks around it, "
            f"||| or a newline); {_STORE}"
        )
    if len(set(strings)) < len(strings):
        seen: set[bytes] = set()
        twice = next(i for i, s in enumerate(strings) if s in seen or seen.add(s))  # type: ignore[func-returns-value]
        raise DataError(f"{path}: two lists have the id {ids[twice]!r}, moses would read one; {_STORE}")
    return ids


def _check_texts(texts: StringColumn, path: str) -> None:
    """Raise DataError for the first text that holds a newline or the bars between columns."""
    data = texts.data
    suspects = data == ord("\n")
    bar = data == ord("|")
    suspects[: max(len(data) - 2, 0)] |= bar[:-2] & bar[1:-1] & bar[2:]
    for at in np.flatnonzero(suspects):
        i = int(np.searchsorted(texts.offsets, at, side="right")) - 1
        text = texts.bytes_at(i)
        if b"\n" in text or _BARS.search(text):
            shown = repr(texts[i][:60])
            raise DataError(f"{path}: moses cannot hold a text with a newline or ' ||| ', {shown}; {_STORE}")


def _item_order(lists: CandidateLists, path: str) -> Index:
    """Items in the order of their lines."""
    items = np.arange(lists.n_items, dtype=np.int64)
    if lists.rows is None:
        return items
    items[lists.rows] = np.arange(lists.n_items)
    _, firsts = np.unique(lists.list_index[items], return_index=True)
    if np.all(np.diff(firsts) > 0):
        return items
    note = f"{path}: the lists are not in the order of their lines; written one after the other"
    warnings.warn(note, DataNote, stacklevel=3)
    return np.arange(lists.n_items, dtype=np.int64)


def _names(lists: CandidateLists, path: str) -> StringColumn:
    """What stands before the value of each column."""
    dense = isinstance(lists.features, Dense)
    if dense and lists.feature_names is None and not lists.has_missing:
        return StringColumn.from_strings([" "] * lists.n_features)
    names = lists.names()
    known = set(names)
    if len(known) < len(names):
        raise DataError(f"{path}: moses cannot hold two features of one name; {_STORE}")
    for name in names:
        if not name or re.search(r"[ \t\n]", name) or name == "WordScores":
            raise DataError(f"{path}: moses cannot hold a feature named {name!r}; {_STORE}")
    before = [f" {name}= " for name in names]
    if dense and not lists.has_missing:
        for j, base, n in _blocks(names, known):
            before[j : j + n] = [f" {base}= ", *([" "] * (n - 1))]
    return StringColumn.from_strings(before)


def _blocks(names: Sequence[str], known: set[str]) -> list[tuple[int, str, int]]:
    """Columns Base_0, Base_1, ... that stand together: (first column, Base, how many)."""
    out = []
    for j, name in enumerate(names):
        match = _NUMBERED.fullmatch(name)
        if match is None or match[1] in known or match[1] == "WordScores":
            continue
        base = match[1]
        n = next(k for k in itertools.count() if names[j + k : j + k + 1] != [f"{base}_{k}"])
        if n > 1:
            out.append((j, base, n))
    return out


def _check_missing(lists: CandidateLists, items: Index, path: str) -> None:
    """Raise DataError where leaving NaN out would lose a column or its place."""
    if not lists.has_missing:
        return
    if not isinstance(lists.features, Dense):
        raise DataError(f"{path}: moses cannot hold both zeros and missing values left out; {_STORE}")
    here = ~np.isnan(lists.features.values[items])
    firsts = np.where(here.any(axis=0), here.argmax(axis=0), len(items))
    if np.any(np.diff(firsts) < 0) or firsts[-1] == len(items):
        raise DataError(f"{path}: moses would read features that items miss in another order; {_STORE}")


def _sizes(lists: CandidateLists, ids: StringColumn, names: StringColumn) -> Index:
    """Bytes that the line of each item takes at most, int64 (n_items); zeros of sparse ones not counted."""
    features = lists.features
    sizes = np.full(lists.n_items, _LINE_BOUND, dtype=np.int64)
    lengths = names.lengths() + _VALUE_BOUND
    if isinstance(features, Dense):
        sizes += lengths.sum()
    else:
        rows = features.compressed()
        ends = np.concatenate([[0], np.cumsum(lengths[rows.indices])])
        sizes += np.diff(ends[rows.indptr])
    sizes += ids.lengths()[lists.list_index]
    if lists.texts is not None:
        sizes += lists.texts.lengths()
    return sizes


def _parts(sizes: Index) -> list[tuple[int, int]]:
    """Ranges of lines that fit the buffer, one line at least each."""
    ends = np.cumsum(sizes)
    parts = []
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, done + _BLOCK, side="right")), start + 1)
        parts.append((start, stop))
        start = stop
    return parts


def _write(
    lists: CandidateLists, ids: StringColumn, names: StringColumn, items: Index, sizes: Index, path: str
) -> None:
    features, texts = lists.features, lists.texts
    parts = _parts(sizes)
    room = max(int(sizes[a:b].sum()) for a, b in parts)
    rows = None if isinstance(features, Dense) else features.compressed()
    if rows is not None:  # zeros that name columns
        room += len(names.data) + len(names)
    out = np.empty(room, dtype=np.uint8)
    list_index = lists.list_index
    named = 0
    with atomic_write(path) as file:
        for a, b in parts:
            columns = (
                names.data,
                names.offsets,
                lists.base_scores,
                items[a:b],
                list_index,
                ids.data,
                ids.offsets,
                None if texts is None else texts.data,
                None if texts is None else texts.offsets,
                out,
            )
            if isinstance(features, Dense):
                written = write_dense(features.values, *columns)
            elif rows is not None:
                written, named = write_sparse(
                    rows.indptr,
                    rows.indices,
                    rows.data,
                    rows.n_features,
                    named,
                    *columns,
                    b == len(items),
                )
            file.write(out[:written].data)
