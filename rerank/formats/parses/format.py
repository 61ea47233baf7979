"""N-best parses with their gold tree, a block per sentence.

::

    (S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))
    -12.5	(S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))
    -14.25	(S1 (NP (NP (DT The) (NN dog)) (NP (NNS barks))))

A block is the gold tree, then a line for each parse: log base 2 of its probability, blanks and the tree. An
empty line ends a block; the last one may lack it. If no block has a gold tree, the file holds new sentences.
Trees are in Penn brackets (see ``data.columns.forests``). Empty outer brackets are skipped, S1 and TOP are
kept. A parse that is empty, () or (()) is missing; its F is 0.
"""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.streams import atomic_write
from rerank.data.columns.forests import Forest
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.brackets import bracket_strings
from rerank.formats.common import STORE
from rerank.formats.parses.read import read_parses

_MISSING = b"()"
_BLOCK = re.compile(rb"\s*(\([^\n]*\n)?[-+]?[0-9.][-+0-9.eE]*[ \t]+\([^\n]*\)")


@FORMATS.register("parses")
class Parses(Format):
    """Reader and writer of N-best parses.

    The log probability (log base 2) is the one feature, ``logprob``, and ``base_scores``; the first-best
    order is that of the lines. Texts are the trees as they were read, in brackets on one line, so that the
    best of a list prints as a tree. Words of every parse must be those of gold. ``strip`` leaves out traces,
    function tags or both; ``ids`` names a file with an id per block, one per line. Blocks without a parse are
    left out with a note, or refused under ``strict``.
    """

    name: ClassVar[str] = "parses"
    summary: ClassVar[str] = "gold tree, then log2 probability and tree per line (Penn brackets)"
    suffixes: ClassVar[tuple[str, ...]] = (".parses",)
    signs: ClassVar[tuple[bytes, ...]] = (b" (", b"\t(")
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
        if lists.trees is None:
            raise DataError(f"{path}: parses holds trees, and the lists have none")
        scores = lists.base_scores
        if scores is None or np.isnan(scores).any():
            lacking = "the lists have none" if scores is None else "some are missing"
            raise DataError(f"{path}: parses holds log probabilities (base scores), and {lacking}")
        trees = _bytes_of(lists.trees, "tree", path)
        gold = None if lists.gold is None else _bytes_of(lists.gold, "gold tree", path)
        if gold is not None and _MISSING in gold:
            raise DataError(f"{path}: parses cannot hold a gold tree without a word; {STORE}")
        values = scores.tolist()
        with atomic_write(path) as file:
            for i in range(lists.n_lists):
                rows = [] if gold is None else [gold[i]]
                for k in range(int(lists.offsets[i]), int(lists.offsets[i + 1])):
                    rows.append(b"%s\t%s" % (repr(values[k]).encode(), trees[k]))
                file.write(b"\n".join(rows) + b"\n\n")


def _bytes_of(forest: Forest, what: str, path: str) -> list[bytes]:
    """The trees in brackets; raises DataError if one would not read back as itself."""
    strings = bracket_strings(forest, what, "parses", path)
    return [strings.bytes_at(t) or _MISSING for t in range(len(strings))]
