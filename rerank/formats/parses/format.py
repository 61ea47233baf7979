"""N-best parses with their gold tree, a block a sentence.

::

    (S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))
    -12.5	(S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))
    -14.25	(S1 (NP (NP (DT The) (NN dog)) (NP (NNS barks))))

A block is the gold tree, then a line for each parse, log base 2 of its probability, blanks and the tree; an
empty line ends it, at the end of the file or not. Without a gold tree in any block the file is one of new
sentences. Trees are in Penn brackets (see ``data.columns.forests``): empty outer ones are read through,
S1 and TOP stay; a parse that is lacking, () or (()) is a missing one, whose F is 0.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.parses.read import read_parses
from rerank.formats.parses.write import write_parses

_BLOCK = re.compile(rb"\s*(\([^\n]*\n)?[-+]?[0-9.][-+0-9.eE]*[ \t]+\([^\n]*\)")


@FORMATS.register("parses")
class Parses(Format):
    """Reader and writer of N-best parses.

    The log probability (log base 2) is the one feature, ``logprob``, and ``base_scores``; the first-best
    order is that of the lines. Texts are the trees as they were read, in brackets on one line, so that the
    best of a list prints as a tree. Words of every parse must be those of gold. ``strip`` leaves out traces,
    function tags or both, ``ids`` names a file of a line for each block. Blocks without a parse are left out
    with a note, or refused under ``strict``.
    """

    name: ClassVar[str] = "parses"
    summary: ClassVar[str] = "gold tree, then log2 probability and tree a line (Penn brackets)"
    suffixes: ClassVar[tuple[str, ...]] = (".parses",)
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "distinct", "ids", "strip"})

    holds: ClassVar[frozenset[str]] = frozenset({"base_scores", "first_best", "trees", "gold", "texts"})
    ranked_by_line: ClassVar[bool] = True
    score_feature: ClassVar[str] = "logprob"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _BLOCK.match(head) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        return read_parses(path, options)

    def _write(self, lists: CandidateLists, path: str) -> None:
        write_parses(lists, path)
