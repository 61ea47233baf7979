"""Examples and pairs of SVM-light-TK (Moschitti), trees and vectors.

::

    +1 |BT| (Q (WP what)) |BT| (S (NN wicca)(VB is)) |ET| 1:0.667 4:0.233 |BV| 2:1 |EV|

A label, trees in brackets, each after |BT|, |ET|, then vectors (index:value, indices rise from 1) with |BV|
between them, |EV|. A tree that is blank or EMPTY is missing. A leaf may have brackets of its own, as in
``(BOX (a) (b))``. A single tree is the column ``trees``, several are tree1, tree2, ...; features of several
vectors are v1:1, v2:1. The program skips what is before the first tree and after |EV|. So a ``qid:ID`` after
the label names the list, ``trees:NAME,NAME`` on the first line the trees, and a comment after |EV| the item.
"""

from __future__ import annotations

from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.svmtk.read import read_examples, read_pairs
from rerank.formats.svmtk.scan import MARKERS
from rerank.formats.svmtk.write import keeps_names, write_examples, write_pairs

_HONOURS = frozenset({"strict", "ids", "qrels", "layout", "dtype"})


@FORMATS.register("svmtk")
class SVMTK(Format):
    """Reader and writer of examples: a candidate per line.

    Labels that are all -1, 0 or 1 are those of classification: -1 becomes 0, and 0, which means unlabelled to
    the program, not judged. ``ids`` names a file with a line per example that begins with the id of its list,
    ``qrels`` one whose lines begin with list, item and label.
    """

    name: ClassVar[str] = "svmtk"
    summary: ClassVar[str] = "label |BT| tree ... |ET| index:value ... |EV| (SVM-light-TK), an item per line"
    suffixes: ClassVar[tuple[str, ...]] = (".svmtk",)
    signs: ClassVar[tuple[bytes, ...]] = tuple(marker.encode() for marker in MARKERS)
    honours: ClassVar[frozenset[str]] = _HONOURS
    holds: ClassVar[frozenset[str]] = frozenset(
        {"features", "labels", "list_ids", "item_ids", "rows", "trees", "structures"}
    )

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = (line.strip() for line in head.splitlines())
        first = next((line for line in lines if line and not line.startswith(b"#")), b"")
        return any(marker.encode() in first for marker in MARKERS)

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_examples(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_examples(lists, path)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        return keeps_names(lists) if column == "feature_names" else super().keeps(lists, column)


@FORMATS.register("svmtk-pairs")
class SVMTKPairs(Format):
    """Reader and writer of pairs: the first half of a line's trees and vectors is candidate one.

    The label +1 means that candidate one is better, -1 candidate two. Each pair is read as a list of two. If
    no line has a second candidate, the lines are single candidates, grouped as those of svmtk. Lists are
    written as pairs of items with different labels, the better one first in every other pair; lists without
    labels as single candidates.
    """

    name: ClassVar[str] = "svmtk-pairs"
    summary: ClassVar[str] = "pairs of candidates of SVM-light-TK, half of the trees and vectors each"
    suffixes: ClassVar[tuple[str, ...]] = (".svmtk-pairs",)
    honours: ClassVar[frozenset[str]] = _HONOURS
    holds: ClassVar[frozenset[str]] = frozenset({"features", "labels", "trees", "structures"})
    as_pairs: ClassVar[bool] = True

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_pairs(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_pairs(lists, path)

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column in ("list_ids", "rows"):
            return lists.labels is None
        return keeps_names(lists) if column == "feature_names" else super().keeps(lists, column)
