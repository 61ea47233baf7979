"""Plain texts, a candidate a line: each list is the same number of lines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Bytes
from rerank.errors import ConfigError, DataError, FormatError
from rerank.files import atomic_write, shown
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.texts import read_lines


@FORMATS.register("flat", "text")
class Flat(Format):
    """Reader and writer of texts alone, ``n_best`` lines a list, which nothing in the file tells.

    With references and no ``n_best`` it is the number of lines over that of references. Lines end at
    newlines alone; lists have no ids and no features; first-best is the first line of a list.
    """

    name: ClassVar[str] = "flat"
    summary: ClassVar[str] = "texts alone, --n-best lines a list"
    honours: ClassVar[frozenset[str]] = frozenset({"n_best", "refs", "distinct"})
    holds: ClassVar[frozenset[str]] = frozenset({"texts", "first_best"})
    ranked_by_line: ClassVar[bool] = True

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        if not options.n_best and not options.refs:
            raise ConfigError(f"{shown(path)}: flat does not say how long lists are; give n_best or refs")
        texts = read_lines(path)
        n, n_best = len(texts), options.n_best
        if n_best == 0:
            n_lists = len(read_lines(options.refs[0]))
            if n % n_lists:
                raise FormatError(
                    shown(path), None, f"{n} lines", f"as many for each of {n_lists} references"
                )
            n_best = n // n_lists
        elif n % n_best:
            raise FormatError(shown(path), None, f"{n} lines", f"a multiple of n_best={n_best}")
        return CandidateLists(
            np.arange(0, n + 1, n_best, dtype=np.int64),
            Dense(np.empty((n, 0))),
            first_best=-np.arange(n, dtype=np.float64),
            texts=texts,
            source=shown(path),
        )

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write texts, list after list; raises DataError where lists are not equally long."""
        if lists.texts is None:
            raise DataError(f"{path}: flat holds texts, and the lists have none")
        lengths = lists.lengths
        if np.any(lengths != lengths[0]):
            i = int(np.argmax(lengths != lengths[0]))
            raise DataError(
                f"{path}: flat holds lists of one length: list {lists.list_id(0)!r} has {lengths[0]} items, "
                f"{lists.list_id(i)!r} has {lengths[i]}"
            )
        _check_texts(lists.texts, path)
        with atomic_write(path) as file:
            file.write(_joined(lists.texts).data)


def _check_texts(texts: StringColumn, path: str) -> None:
    """Raise DataError for the first text that would read back as another one."""
    breaks = np.flatnonzero(texts.data == ord("\n"))
    bad = set((np.searchsorted(texts.offsets, breaks[:1], side="right") - 1).tolist())
    ends = texts.offsets[1:][texts.lengths() > 0] - 1
    returns = ends[texts.data[ends] == ord("\r")]
    bad |= set((np.searchsorted(texts.offsets, returns[:1], side="right") - 1).tolist())
    if texts.bytes_at(0).startswith(b"\xef\xbb\xbf"):
        bad.add(0)
    if bad:
        shown_text = repr(texts[min(bad)][:60])
        raise DataError(
            f"{path}: flat would read the text {shown_text} back as another; format store holds it"
        )


def _joined(texts: StringColumn) -> Bytes:
    """All texts with a newline behind each."""
    out = np.full(len(texts.data) + len(texts), ord("\n"), dtype=np.uint8)
    kept = np.ones(len(out), dtype=bool)
    kept[texts.offsets[1:] + np.arange(len(texts))] = False
    out[kept] = texts.data
    return out
