"""Moses' N-best lists, ``id ||| text ||| features ||| score``, one candidate per line; Marian's too."""

from __future__ import annotations

import re
from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.moses.read import read_lists
from rerank.formats.moses.write import write_lists

_LINE = re.compile(rb"[^|\n]*[^|\s][^|\n]*\|\|\|[^\n]*[ \t]\|\|\|([ \t]|$)")


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
        write_lists(lists, path)
