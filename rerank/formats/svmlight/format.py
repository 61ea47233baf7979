"""SVMlight, as the LETOR sets use it: ``label qid:ID index:value ... # comment``, one item per line."""

from __future__ import annotations

import re
from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.files import read_bytes, shown
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.feature_names import read_feature_names
from rerank.formats.svmlight.read import open_source, read_lists
from rerank.formats.svmlight.write import write_lists

# The first item line: a number, then a qid or an index.
_ITEM_LINE = re.compile(rb"[-+]?\.?[0-9][^ \t]*[ \t]+(qid:[^ \t]|[0-9]+:[^ \t:]+([ \t]|$))")


@FORMATS.register("svmlight", "letor")
class SVMLight(Format):
    """Reader and writer of SVMlight files.

    A file without qids is one list. Lines of one qid that are not contiguous are brought together, lists in
    the order of their first lines, and ``rows`` records the lines. A comment is the item's id; of LETOR's
    ``#docid = X ...`` the id is X. Indices count from 1: feature j is column j - 1.
    """

    name: ClassVar[str] = "svmlight"
    summary: ClassVar[str] = "label qid:ID index:value ... # comment (LETOR, LIBSVM, RankLib)"
    suffixes: ClassVar[tuple[str, ...]] = (".letor", ".svm", ".svmlight", ".libsvm", ".txt", ".dat")
    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "zero_based", "feature_names", "layout", "dtype"}
    )

    holds: ClassVar[frozenset[str]] = frozenset({"features", "labels", "list_ids", "item_ids", "rows"})

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = (line.strip() for line in head.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        return _ITEM_LINE.match(first) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        names = None
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names, first=0 if options.zero_based else 1)
        return read_lists(open_source(read_bytes(path), shown(path), options), names)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_lists(lists, path)
