"""Reading one TREC run into arrays."""

from __future__ import annotations

import itertools
import math
import re
import warnings
from array import array
from collections import Counter
from dataclasses import dataclass

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.types import Floats, Index
from rerank.errors import DataNote, FormatError
from rerank.files import shown
from rerank.formats.base import ReadOptions
from rerank.formats.common import check_float32, quoted
from rerank.formats.growing import Grouping, Strings, each_line
from rerank.native.data._number import parse
from rerank.text import count

_LINE = "six fields: query Q0 document rank score tag"
_RANK = re.compile(rb"[-+]?[0-9]{1,15}")


@dataclass
class Run:
    """A run's documents, those of a query together, queries in order of first appearance."""

    source: str
    tag: str
    offsets: Index
    queries: StringColumn
    documents: StringColumn
    scores: Floats
    ranks: Floats
    rows: Index | None


def read_run(path: str, strict: bool) -> Run:
    """The run in ``path``. Raises FormatError at the first fault."""
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
        value = parse(score)
        if value is None or math.isinf(value):
            raise FormatError(source, line, f"score {_shown(score)}", "a finite number")
        if _RANK.fullmatch(rank) is None:
            raise FormatError(source, line, f"rank {_shown(rank)}", "a whole number")
        try:
            grouping.add(query.decode(), line)
        except UnicodeDecodeError:
            raise FormatError(source, line, "bytes that are not UTF-8", "a query") from None
        documents.add(document)
        scores.append(value)
        ranks.append(float(rank))
        lines.append(line)
        tags[tag] += 1
    if not lines:
        raise FormatError(source, None, "no line of a run", _LINE)
    offsets, queries, rows = grouping.finish()
    column = documents.column()
    order = np.arange(len(lines)) if rows is None else rows
    column = column if rows is None else column.take(rows)
    _refuse_twice(source, offsets, queries, column, np.frombuffer(lines, dtype=np.int64)[order])
    name = tags.most_common(1)[0][0].decode("utf-8", "surrogateescape")
    if len(tags) > 1:
        note = f"{source}: {len(tags)} tags in one run; it is taken as run {quoted(name)}"
        warnings.warn(note, DataNote, stacklevel=3)
    by_query = np.frombuffer(scores)[order], np.frombuffer(ranks)[order]
    run = Run(source, name, offsets, queries, column, *by_query, rows)
    _note_disorder(run)
    return run


def _shown(field: bytes) -> str:
    return quoted(field.decode("utf-8", "backslashreplace"))


def _refuse_twice(
    source: str, offsets: Index, queries: StringColumn, documents: StringColumn, lines: Index
) -> None:
    """Raise FormatError for the first line whose document its query has before."""
    first: tuple[int, int] | None = None
    bounds = offsets.tolist()
    for i, (start, stop) in enumerate(itertools.pairwise(bounds)):
        names = [documents.bytes_at(k) for k in range(start, stop)]
        if len(set(names)) == len(names):
            continue
        seen: set[bytes] = set()
        again = next(k for k, name in enumerate(names) if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        line = int(lines[start + again])
        if first is None or line < first[0]:
            first = line, start + again
            found = f"document {quoted(documents[start + again])} again in query {quoted(queries[i])}"
    if first is not None:
        raise FormatError(source, first[0], found, "each document once a query")


def _note_disorder(run: Run) -> None:
    """Say how many queries have an order by rank that is not one by score."""
    lists = np.repeat(np.arange(len(run.offsets) - 1), np.diff(run.offsets))
    order = np.lexsort((np.arange(len(lists)), run.ranks, lists))
    rises = (np.diff(run.scores[order]) > 0) & (np.diff(lists) == 0)
    n = len(np.unique(lists[:-1][rises]))
    if n:
        note = (
            f"{run.source}: in {count(n, 'query', 'queries')} of {len(run.queries)} the ranks order "
            "documents otherwise than the scores do; first-best goes by rank, trec_eval by score"
        )
        warnings.warn(note, DataNote, stacklevel=4)


def as_lists(run: Run, options: ReadOptions) -> CandidateLists:
    """One run as lists with its score for their feature."""
    if options.dtype == "float32":
        check_float32(run.scores, run.source)
    return CandidateLists(
        run.offsets,
        Dense(run.scores[:, None].astype(options.dtype)),
        base_scores=run.scores,
        first_best=-run.ranks,
        list_ids=run.queries,
        item_ids=run.documents,
        rows=run.rows,
        feature_names=["score"],
        source=run.source,
    )
