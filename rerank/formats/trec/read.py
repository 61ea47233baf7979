"""Reading one TREC run into arrays."""

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


def read_run(path: str, strict: bool) -> Run:
    """Return the run in ``path``; raises FormatError at the first fault."""
    source = shown(path)
    grouping = Grouping(source, strict)
    documents = Strings()
    scores, ranks, lines = array("d"), array("d"), array("q")
    tags: Counter[bytes] = Counter()
    for line, text in enumerate(each_line(path), start=1):
        fields = text.split()
        if len(fields) != 6:
            if not fields:
                continue
            raise FormatError(source, line, count(len(fields), "field"), _LINE)
        query, _, document, rank, score, tag = fields
        scores.append(finite(score, source, line, "score"))
        if _RANK.fullmatch(rank) is None:
            raise FormatError(source, line, f"rank {quoted(rank)}", "a whole number")
        try:
            grouping.add(query.decode(), line)
        except UnicodeDecodeError:
            raise FormatError(source, line, "bytes that are not UTF-8", "a query") from None
        documents.add(document)
        ranks.append(float(rank))
        lines.append(line)
        tags[tag] += 1
    if not lines:
        raise FormatError(source, None, "no line of a run", _LINE)
    offsets, queries, rows = grouping.finish()
    name = tags.most_common(1)[0][0].decode("utf-8", "surrogateescape")
    if len(tags) > 1:
        note(f"{source}: {len(tags)} tags in one run; it is taken as run {quoted(name)}")
    columns = in_list_order(
        rows, documents=documents.column(), scores=np.frombuffer(scores), ranks=np.frombuffer(ranks)
    )
    run = Run(source, name, offsets, queries, rows=rows, **columns)
    _refuse_repeated(run, np.frombuffer(lines, dtype=np.int64))
    _note_disorder(run)
    return run


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
