"""Moses' N-best lists, ``id ||| text ||| features ||| score``, one candidate per line; Marian's too."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.types import Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import write_blocks
from rerank.formats.common import (
    STORE,
    check_missing,
    in_input_order,
    note,
    refuse_equal_ids,
)
from rerank.formats.moses.read import read_lists
from rerank.native.formats._write import MosesLines, most_values

_LINE = re.compile(rb"[^\S\n]*+[^|\s][^|\n]*+\|\|\|[^\n]*[ \t]\|\|\|([ \t]|$)")  # *+: no backtracking

_BARS = re.compile(rb"(?<![^ \t])\|\|\|(?![^ \t])")
_BAD_ID = re.compile(rb"\n|\|\|\||^[ \t]|[ \t]$|^\xef\xbb\xbf|^$")
_BAD_NAME = re.compile(r"[ \t\n]|^WordScores$|^$")
_NUMBERED = re.compile(r"(.+)_0", re.DOTALL)
_LINE_BOUND = 48  # bars, blanks, total, newline
_VALUE_BOUND = 25


@FORMATS.register("moses", "nbest")
class Moses(Format):
    """Reader and writer of N-best lists as Moses, its tuners and Marian write them.

    Lines end at newlines alone. Columns are separated by " ||| "; the text is what is between two of
    them without one blank on each side. Features are ``d: 0 -7.6``, ``Name= v v``, ``Name=v``, or
    numbers alone. A name with several values is the columns Name_0, Name_1, ...; Marian's ``WordScores=``
    become their sum and mean. A feature that a line leaves out is 0 (or NaN, ``missing``). The score
    is ``base_scores`` and not a feature; alignments are left out. First-best is the first line of a list.
    Lines of one id that are not contiguous, or are in files that are merged, are brought together.
    References are attached to the ids as sentence numbers from 0.
    """

    name: ClassVar[str] = "moses"
    summary: ClassVar[str] = "id ||| text ||| features ||| score (Moses, Marian)"
    suffixes: ClassVar[tuple[str, ...]] = (".moses",)
    signs: ClassVar[tuple[bytes, ...]] = (b"|||",)
    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "layout", "dtype", "refs", "distinct", "merge"}
    )

    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "base_scores", "first_best", "list_ids", "rows", "feature_names", "texts"}
    )
    ranked_by_line: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _LINE.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_lists([path, *options.merge], options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        # Columns Name_0, Name_1, ... of dense features become one ``Name= v v``, others ``Name= v``, those
        # without names numbers alone. NaN is left out.
        ids = _list_ids(lists, path)
        texts, scores, matrix = lists.texts, lists.base_scores, lists.features.matrix()
        if texts is not None:
            _check_texts(texts, path)
        if scores is not None and np.any(np.isnan(scores)):
            raise DataError(f"{path}: moses cannot hold items without a score; {STORE}")
        items, list_index = _item_order(lists, path), lists.list_index
        names = _names(lists, path)
        _check_missing(lists, items, path)
        for column, instead in (("texts", "texts are empty"), ("base_scores", "scores are 0")):
            if getattr(lists, column) is None:
                note(f"{path}: the lists have no {column}; {instead}")
        of_names = names.lengths() + _VALUE_BOUND  # a line has no name twice
        sizes = np.minimum(most_values(matrix) * of_names.max(initial=0), of_names.sum())
        sizes += _LINE_BOUND + ids.lengths()[list_index]
        if texts is not None:
            sizes += texts.lengths()
        lines = MosesLines(matrix, names, scores, items, list_index, ids, texts)
        write_blocks(path, sizes[items], lines.render, spare=len(names.data) + len(names))


def _list_ids(lists: CandidateLists, path: str) -> StringColumn:
    """The ids to write: the lists' own, or their numbers from 0."""
    ids = lists.list_ids
    if ids is None:
        return StringColumn.from_strings(str(i) for i in range(lists.n_lists))
    bad = next((i for i in range(len(ids)) if _BAD_ID.search(ids.bytes_at(i))), None)
    if bad is not None:
        raise DataError(
            f"{path}: moses cannot hold the list id {ids[bad]!r} (empty, or with blanks around it, "
            f"||| or a newline); {STORE}"
        )
    refuse_equal_ids(lists, "moses", path)
    return ids


def _check_texts(texts: StringColumn, path: str) -> None:
    """Raise DataError for the first text that contains a newline or the bars between columns."""
    data = texts.data
    suspects = data == ord("\n")
    bar = data == ord("|")
    suspects[: max(len(data) - 2, 0)] |= bar[:-2] & bar[1:-1] & bar[2:]
    for at in np.flatnonzero(suspects):
        i = int(np.searchsorted(texts.offsets, at, side="right")) - 1
        text = texts.bytes_at(i)
        if b"\n" in text or _BARS.search(text):
            found = repr(texts[i][:60])
            raise DataError(f"{path}: moses cannot hold a text with a newline or ' ||| ', {found}; {STORE}")


def _item_order(lists: CandidateLists, path: str) -> Index:
    """Items in the order of their lines."""
    items = in_input_order(lists)
    _, firsts = np.unique(lists.list_index[items], return_index=True)
    if np.all(np.diff(firsts) > 0):
        return items
    note(f"{path}: the lists are not in the order of their lines; written one after the other")
    return np.arange(lists.n_items, dtype=np.int64)


def _names(lists: CandidateLists, path: str) -> StringColumn:
    """What precedes the value of each column."""
    dense = lists.features.layout == "dense"
    if dense and lists.feature_names is None and not lists.has_missing:
        return StringColumn.from_strings([" "] * lists.n_features)
    names = lists.names()
    known = set(names)
    if len(known) < len(names):
        raise DataError(f"{path}: moses cannot hold two features of one name; {STORE}")
    bad = next((name for name in names if _BAD_NAME.search(name)), None)
    if bad is not None:
        raise DataError(f"{path}: moses cannot hold a feature named {bad!r}; {STORE}")
    before = [f" {name}= " for name in names]
    if dense and not lists.has_missing:
        for j, base, n in _groups(names, known):
            before[j : j + n] = [f" {base}= ", *([" "] * (n - 1))]
    return StringColumn.from_strings(before)


def _groups(names: Sequence[str], known: set[str]) -> list[tuple[int, str, int]]:
    """Consecutive columns Base_0, Base_1, ...: (first column, Base, how many)."""
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
    """Raise DataError if leaving NaN out would lose a column or its place."""
    if not lists.has_missing:
        return
    check_missing(lists, "moses", path)
    here = ~np.isnan(lists.features.to_dense()[items])
    firsts = np.where(here.any(axis=0), here.argmax(axis=0), len(items))
    if np.any(np.diff(firsts) < 0) or firsts[-1] == len(items):
        raise DataError(f"{path}: moses would read features with missing values in another order; {STORE}")
