"""Runs as arrays, and reading one of TREC's form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.streams import shown
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.order import rises
from rerank.formats.base import ReadOptions
from rerank.formats.common import check_float32, in_list_order, is_finite, not_a_number, note, quoted
from rerank.formats.growing import whole_lines
from rerank.formats.trec.lines import Lines, read_lines
from rerank.native.formats._trec import Scanner

_LINE = "six fields: query Q0 document rank score tag"


@dataclass
class Run:
    """A run's documents, those of a query together, queries in order of first appearance.

    documents, scores, ranks and rows have an entry per document; see CandidateLists.
    """

    source: str
    tag: str
    offsets: Index
    queries: StringColumn
    documents: StringColumn
    scores: Floats
    ranks: Floats
    rows: Index | None


def read_run(path: str, strict: bool) -> Run:
    """Return the run in ``path``; raises FormatError at the first fault."""
    source = shown(path)

    def words(text: bytes, line: int) -> FormatError:
        fields = text.split()
        if len(fields) != 6:
            return FormatError(source, line, count(len(fields), "field"), _LINE)
        if not is_finite(fields[4]):
            return FormatError(source, line, *not_a_number(fields[4], "score"))
        return FormatError(source, line, f"rank {quoted(fields[3])}", "a whole number")

    scanner = Scanner(6, query=0, document=2, value=4, rank=3, other=5, together=strict)
    lines = read_lines(source, whole_lines(path), scanner, words)
    run = run_of(lines, _LINE)
    tags = lines.others.strings()
    run.tag = tags[int(np.argmax(lines.counts_of_others()))].decode("utf-8", "surrogateescape")
    if len(tags) > 1:
        note(f"{source}: {len(tags)} tags in one run; it is taken as run {quoted(run.tag)}")
    _note_disorder(run)
    return run


def run_of(lines: Lines, expected: str) -> Run:
    """Return the run of these lines, without a tag.

    Raises FormatError at their fault, if there is no line, or if a document is repeated. Warns if the lines
    of a query are not contiguous.
    """
    lines.check_names()
    if lines.fault is not None:
        raise lines.fault
    if not len(lines):
        raise FormatError(lines.source, None, "no line of a run", expected)
    offsets, rows = lines.groups(warn=True)
    columns = in_list_order(rows, documents=lines.documents, scores=lines.numbers, ranks=lines.ranks)
    run = Run(lines.source, "", offsets, lines.names, rows=rows, **columns)
    lines.refuse_repeated(offsets, run.documents, rows, "in")
    return run


def ranks_in(offsets: Index, order: Floats) -> Index:
    """Return ranks from 1 in each list by ``order``, largest first, ties by position: int64 (n_items)."""
    lengths = np.diff(offsets)
    index = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.lexsort((places, -order, index))] = places - offsets[:-1][index] + 1
    return ranks


def _note_disorder(run: Run) -> None:
    """Warn if the ranks of queries, or lines of equal rank, order documents differently from the scores."""
    by_rank, by_line = (int(np.count_nonzero(rising)) for rising in rises(run.offsets, run.ranks, run.scores))
    where = f"{run.source}: in {count(by_rank or by_line, 'query', 'queries')} of {len(run.queries)} "
    if by_rank:
        text = "the ranks order documents differently from the scores; first-best follows the ranks"
        note(f"{where}{text}, trec_eval the scores")
    elif by_line:
        text = "documents of equal rank are not in the order of their scores; for metrics of one chosen item"
        note(f"{where}{text} the first line of equal rank comes first")


def as_lists(run: Run, options: ReadOptions) -> CandidateLists:
    """Return one run as lists with its score as their feature, which has the name of its tag."""
    if options.dtype == "float32":
        check_float32(run.scores, run.source)
    return CandidateLists(
        run.offsets,
        Dense(run.scores[:, None].astype(options.dtype)),
        base_scores=run.scores,
        first_best=-run.ranks,
        run_scores=run.scores,
        list_ids=run.queries,
        item_ids=run.documents,
        rows=run.rows,
        feature_names=[run.tag],
        source=run.source,
    )
