"""Plain texts, a candidate per line; each list is the same number of lines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.core.files.read import shown
from rerank.core.files.write import atomic_write
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.buffers import BOM
from rerank.formats.common import STORE, quoted
from rerank.formats.texts import attach_references, read_lines, split_lines


@FORMATS.register("flat", "text")
class Flat(Format):
    """Reader and writer of texts alone, ``n_best`` lines per list, a number that the file does not contain.

    If references are given, ``n_best`` is by default the number of lines divided by that of references. Lines
    end at newlines alone. Lists have no ids and no features; first-best is the first line of a list.
    """

    name: ClassVar[str] = "flat"
    summary: ClassVar[str] = "texts alone, --n-best lines per list"
    honours: ClassVar[frozenset[str]] = frozenset({"n_best", "refs", "distinct"})
    holds: ClassVar[frozenset[str]] = frozenset({"texts", "first_best"})
    ranked_by_line: ClassVar[bool] = True
    reads_references: ClassVar[bool] = True

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        if not options.n_best and not options.refs:
            raise ConfigError(
                f"{shown(path)}: flat does not contain the length of lists; give n_best or refs"
            )
        texts, references = read_lines(path), [read_lines(name) for name in options.refs]
        n, n_best = len(texts), options.n_best
        if n_best == 0:
            n_lists = len(references[0])
            if n % n_lists:
                expected = f"the same number for each of {n_lists} references"
                raise FormatError(shown(path), None, f"{n} lines", expected)
            n_best = n // n_lists
        elif n % n_best:
            raise FormatError(shown(path), None, f"{n} lines", f"a multiple of n_best={n_best}")
        lists = CandidateLists(
            np.arange(0, n + 1, n_best, dtype=np.int64),
            Dense(np.empty((n, 0))),
            first_best=-np.arange(n, dtype=np.float64),
            texts=texts,
            source=shown(path),
        )
        return attach_references(lists, options.refs, references)

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write texts, list after list."""
        if lists.texts is None:
            raise DataError(f"{path}: flat holds texts, and the lists have none")
        lengths = lists.lengths
        if np.any(lengths != lengths[0]):
            i = int(np.argmax(lengths != lengths[0]))
            raise DataError(
                f"{path}: flat holds lists of one length: list {lists.list_id(0)!r} has {lengths[0]} items, "
                f"{lists.list_id(i)!r} has {lengths[i]}"
            )
        data = np.insert(lists.texts.data, lists.texts.offsets[1:], ord("\n"))
        again = split_lines(data[3:] if data[:3].tobytes() == BOM else data)
        if again != lists.texts:
            pairs = zip(lists.texts, again, strict=False)
            text = next(text for text, other in pairs if text != other)
            raise DataError(f"{path}: flat would read the text {quoted(text)} back as another; {STORE}")
        with atomic_write(path) as file:
            file.write(data.data)
