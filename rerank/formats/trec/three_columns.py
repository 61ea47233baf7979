"""Runs of three columns: ``query document rank``, as MS MARCO's, or ``query document score``."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.streams import shown
from rerank.core.text import count
from rerank.data.column_roles import LISTS
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import not_a_number, note, quoted
from rerank.formats.growing import whole_lines
from rerank.formats.trec.lines import read_lines
from rerank.formats.trec.read import Run, ranks_in, run_of
from rerank.formats.trec.runs import RunFormat
from rerank.native.formats._trec import Scanner

_LINE = "three fields: query document rank, or query document score"
_THREE = re.compile(rb"[^ \t\r\n]+[ \t]+[^ \t\r\n]+[ \t]+[-+]?[0-9.][-+0-9.eE]*[ \t\r]*")
RANK = "reciprocal-rank"  # the name of the feature
SCORE = "score"


@FORMATS.register("msmarco")
class ThreeColumnRun(RunFormat):
    """Reader of runs without scores, as for MS MARCO, and of those with scores but no ranks.

    If every value of the third column is a whole number, they are ranks, and scores are 1 / rank: a document
    that a run lacks has 0 in a fusion, less than any that it returned. Ranks are then distinct and begin at
    1 in each query. Otherwise they are scores.
    """

    name: ClassVar[str] = "msmarco"
    summary: ClassVar[str] = "runs of three columns, query document rank (or score), with qrels"
    signs: ClassVar[tuple[bytes, ...]] = (b" ", b"\t")
    columns: ClassVar[int | None] = 3

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        lines = [line for line in head.split(b"\n") if line.strip()]
        whole = lines[:-1] or lines  # the last line may be cut off
        header = {token.decode("latin-1").lower() for line in whole[:1] for token in line.split()[:2]}
        return bool(whole) and header.isdisjoint(LISTS) and all(map(_THREE.fullmatch, whole[:1000]))

    @staticmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        source = shown(path)

        def words(text: bytes, line: int) -> FormatError:
            fields = text.split()
            if len(fields) != 3:
                return FormatError(source, line, count(len(fields), "field"), _LINE)
            return FormatError(source, line, *not_a_number(fields[2], "rank or score"))

        scanner = Scanner(3, query=0, document=1, value=2, together=options.strict)
        lines = read_lines(source, whole_lines(path), scanner, words)
        run, ranked = run_of(lines, _LINE), lines.ranked
        run.tag = RANK if ranked else SCORE
        if ranked:
            run.ranks = run.scores
            _check_ranks(run)
            run.scores = 1.0 / run.ranks
            note(f"{source}: the third column is taken as ranks (all are whole numbers); scores are 1 / rank")
        else:
            run.ranks = ranks_in(run.offsets, run.scores).astype(np.float64)
            note(f"{source}: the third column is taken as scores (not all are whole numbers)")
        return run

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: format msmarco is read only; write trec")


def _check_ranks(run: Run) -> None:
    """Raise FormatError unless the ranks of each query are distinct and begin at 1."""
    index = np.repeat(np.arange(len(run.offsets) - 1), np.diff(run.offsets))
    order = np.lexsort((run.ranks, index))
    ranks = run.ranks[order]
    first = np.zeros(len(ranks), dtype=bool)
    first[run.offsets[:-1]] = True
    before = np.append(0.0, ranks[:-1])
    faults = np.flatnonzero(np.where(first, ranks != 1, ranks == before))
    if len(faults):
        k = int(faults[0])
        rank, query = int(ranks[k]), quoted(run.queries[int(index[k])])
        found = (
            f"rank {rank} as the best of query {query}" if first[k] else f"rank {rank} twice in query {query}"
        )
        expected = (
            "ranks 1, 2, ... of each query (scores need a decimal point in some line, or format trec; "
            "judgements of three columns without a header are given by --qrels)"
        )
        raise FormatError(run.source, None, found, expected)
