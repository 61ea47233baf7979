"""Runs as arrays, and reading one of TREC's form."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from dataclasses import dataclass

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Floats, Index
from rerank.errors import FormatError
from rerank.files import shown
from rerank.formats.base import ReadOptions
from rerank.formats.common import check_float32, finite, in_list_order, note, quoted
from rerank.formats.growing import Grouping, Strings, each_line
from rerank.text import count

_LINE = "six fields: query Q0 document rank score tag"
_RANK = re.compile(rb"[-+]?[0-9]{1,15}")


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


class RunLines:
    """A run that grows line by line; parameters are those of ``Grouping``."""

    def __init__(self, source: str, strict: bool) -> None:
        self._source = source
        self._grouping = Grouping(source, strict)
        self._documents = Strings()
        self._scores, self._ranks, self._lines = array("d"), array("d"), array("q")

    def add(self, line: int, query: bytes, document: bytes, score: float, rank: float) -> None:
        """Add the document of a line; raises FormatError if the query is not UTF-8."""
        try:
            self._grouping.add(query.decode(), line)
        except UnicodeDecodeError:
            raise FormatError(self._source, line, "bytes that are not UTF-8", "a query") from None
        self._documents.add(document)
        self._scores.append(score)
        self._ranks.append(rank)
        self._lines.append(line)

    def finish(self, expected: str) -> Run:
        """Return the run, without a tag; raises FormatError if it is empty or repeats a document."""
        if not self._lines:
            raise FormatError(self._source, None, "no line of a run", expected)
        offsets, queries, rows = self._grouping.finish()
        scores, ranks = np.frombuffer(self._scores), np.frombuffer(self._ranks)
        columns = in_list_order(rows, documents=self._documents.column(), scores=scores, ranks=ranks)
        run = Run(self._source, "", offsets, queries, rows=rows, **columns)
        _refuse_repeated(run, np.frombuffer(self._lines, dtype=np.int64))
        return run


def read_run(path: str, strict: bool) -> Run:
    """Return the run in ``path``; raises FormatError at the first fault."""
    source = shown(path)
    lines = RunLines(source, strict)
    tags: Counter[bytes] = Counter()
    for line, text in enumerate(each_line(path), start=1):
        fields = text.split()
        if len(fields) != 6:
            if not fields:
                continue
            raise FormatError(source, line, count(len(fields), "field"), _LINE)
        query, _, document, rank, score, tag = fields
        value = finite(score, source, line, "score")
        if _RANK.fullmatch(rank) is None:
            raise FormatError(source, line, f"rank {quoted(rank)}", "a whole number")
        lines.add(line, query, document, value, float(rank))
        tags[tag] += 1
    run = lines.finish(_LINE)
    run.tag = tags.most_common(1)[0][0].decode("utf-8", "surrogateescape")
    if len(tags) > 1:
        note(f"{source}: {len(tags)} tags in one run; it is taken as run {quoted(run.tag)}")
    _note_disorder(run)
    return run


def ranks_in(offsets: Index, order: Floats) -> Index:
    """Return ranks from 1 in each list by ``order``, largest first, ties by position: int64 (n_items)."""
    lengths = np.diff(offsets)
    index = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.lexsort((places, -order, index))] = places - offsets[:-1][index] + 1
    return ranks


def _refuse_repeated(run: Run, lines: Index) -> None:
    """Raise FormatError at the first of ``lines`` (n_documents) that repeats a document of its query."""
    repeated = np.flatnonzero(run.documents.repeated(run.offsets))
    if len(repeated):
        places = repeated if run.rows is None else run.rows[repeated]
        item = repeated[np.argmin(places)]
        query = run.queries[int(np.searchsorted(run.offsets, item, side="right")) - 1]
        found = f"document {quoted(run.documents[int(item)])} again in query {quoted(query)}"
        raise FormatError(run.source, int(lines[places.min()]), found, "each document once per query")


def _note_disorder(run: Run) -> None:
    """Warn if the ranks of queries, or lines of equal rank, order documents differently from the scores."""
    lists = np.repeat(np.arange(len(run.offsets) - 1), np.diff(run.offsets))

    def rising(order: Index) -> int:
        rises = (np.diff(run.scores[order]) > 0) & (np.diff(lists) == 0)
        return len(np.unique(lists[:-1][rises]))

    by_rank = rising(np.lexsort((-run.scores, run.ranks, lists)))
    by_line = rising(np.lexsort((np.arange(len(lists)), run.ranks, lists)))
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
