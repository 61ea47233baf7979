"""Formats of runs: TREC's six columns, MS MARCO's three, and JSON."""

from __future__ import annotations

import re
from array import array
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.streams import atomic_write, shown
from rerank.core.text import count
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.names import LISTS
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.builders import Strings, whole_lines
from rerank.formats.common import STORE, in_input_order, not_a_number, note, quoted, refuse_equal_ids
from rerank.formats.jsonl.format import holds_objects_only
from rerank.formats.jsonl.schema import MisfitError
from rerank.formats.trec.lines import EXPECTED, read_lines, read_nested
from rerank.formats.trec.runs import Run, RunFormat, ranks_in, read_run, run_of
from rerank.native.formats._trec import Scanner

_FIELD = re.compile(rb"[^ \t\n\r\x0b\x0c]+")
_LINE = re.compile(
    rb"[^ \t\n]+[ \t]+[Qq]0[ \t]+[^ \t\n]+[ \t]+[-+]?[0-9]+[ \t]+[-+0-9.eE]+[ \t]+[^ \t\r\n]+[ \t\r]*(\n|$)"
)


@FORMATS.register("trec", "run")
class TRECRun(RunFormat):
    """Reader and writer of TREC runs, as trec_eval, Anserini and Pyserini write them.

    The feature's name is the tag. The first-best order is that of the ranks, on ties that of the lines; a
    warning reports if the scores, which trec_eval sorts by, give another order.
    """

    name: ClassVar[str] = "trec"
    summary: ClassVar[str] = "TREC runs, query Q0 document rank score tag, with judgements from qrels"
    suffixes: ClassVar[tuple[str, ...]] = (".run", ".trec")
    signs: ClassVar[tuple[bytes, ...]] = (b"Q0", b"q0")
    holds: ClassVar[frozenset[str]] = frozenset({"base_scores", "first_best", "list_ids", "item_ids", "rows"})
    score_feature: ClassVar[str] = "score"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _LINE.match(head.lstrip()) is not None

    @staticmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        return read_run(path, options.strict)

    def _write(self, lists: CandidateLists, path: str) -> None:
        """Write ``base_scores``, lines in the order of the input.

        Ranks follow ``first_best``, or the scores if the lists have none; on ties the first item comes first.
        """
        scores, ids = lists.base_scores, lists.item_ids
        if scores is None or np.any(np.isnan(scores)):
            which = "base_scores" if scores is None else "base_scores of every item"
            raise DataError(f"{path}: a run needs {which}, which {lists.source} does not hold")
        if ids is None:
            raise DataError(f"{path}: a run needs ids of items, which {lists.source} does not hold")
        queries = lists.list_ids
        if queries is None:
            queries = StringColumn.from_strings(str(i + 1) for i in range(lists.n_lists))
        _check_ids(queries, "list", path)
        _check_ids(ids, "item", path)
        refuse_equal_ids(lists, "trec", path)
        repeated = np.flatnonzero(ids.repeated(lists.offsets)).tolist()
        if repeated:
            query = queries[int(lists.list_index[repeated[0]])]
            found = f"two items of list {query!r} have the id {ids[repeated[0]]!r}"
            raise DataError(f"{path}: {found}, which a run cannot hold; {STORE}")
        ranks = ranks_in(lists.offsets, scores if lists.first_best is None else lists.first_best)
        names = [queries.bytes_at(i) for i in range(lists.n_lists)]
        list_index, tag = lists.list_index, _tag(lists)
        with atomic_write(path) as file:
            for item in in_input_order(lists).tolist():
                score = repr(float(scores[item])).encode()
                place = names[list_index[item]], ids.bytes_at(item), ranks[item]
                file.write(b"%b Q0 %b %d %b %b\n" % (*place, score, tag))

    def keeps(self, lists: CandidateLists, column: str) -> bool:
        if column == "feature_names":
            return _tag(lists) == lists.names()[0].encode("utf-8", "surrogateescape")
        return super().keeps(lists, column)


def _tag(lists: CandidateLists) -> bytes:
    """The tag of a run that is written: the name of the feature that its scores are, otherwise rerank."""
    scores = lists.base_scores
    alone = lists.n_features == 1 and np.array_equal(lists.features.column(0), scores)  # type: ignore[arg-type]
    tag = lists.names()[0].encode("utf-8", "surrogateescape") if alone else b""
    return tag if _FIELD.fullmatch(tag) else b"rerank"


def _check_ids(column: StringColumn, what: str, path: str) -> None:
    for i in range(len(column)):
        if _FIELD.fullmatch(column.bytes_at(i)) is None:
            found = f"the {what} id {column[i]!r} (empty, or a blank in it)"
            raise DataError(f"{path}: a run cannot hold {found}; {STORE}")


_THREE_FIELDS = "three fields: query document rank, or query document score"
_THREE_COLUMNS = re.compile(rb"[^ \t\r\n]+[ \t]+[^ \t\r\n]+[ \t]+[-+]?[0-9.][-+0-9.eE]*[ \t\r]*")
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
        return bool(whole) and header.isdisjoint(LISTS) and all(map(_THREE_COLUMNS.fullmatch, whole[:1000]))

    @staticmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        source = shown(path)

        def words(text: bytes, line: int) -> FormatError:
            fields = text.split()
            if len(fields) != 3:
                return FormatError(source, line, count(len(fields), "field"), _THREE_FIELDS)
            return FormatError(source, line, *not_a_number(fields[2], "rank or score"))

        scanner = Scanner(3, query=0, document=1, value=2, together=options.strict)
        lines = read_lines(source, whole_lines(path), scanner, words)
        run, ranked = run_of(lines, _THREE_FIELDS), lines.ranked
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


@FORMATS.register("json-run", "mteb", "beir")
class JSONRun(RunFormat):
    """Reader of scores by query and document in one JSON object.

    MTEB's predictions have subsets and splits around it, ``{subset: {split: {query: {document: score}}}}``,
    beside ``mteb_model_meta``, whose model names the feature; ``subset`` chooses if there are several. The
    first-best order is that of the scores, on ties that of the file.
    """

    name: ClassVar[str] = "json-run"
    summary: ClassVar[str] = "runs as JSON {query: {document: score}}: MTEB, BEIR, ranx, pytrec_eval"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    signs: ClassVar[tuple[bytes, ...]] = (b"{",)
    honours: ClassVar[frozenset[str]] = RunFormat.honours | {"subset"}

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return head.lstrip().startswith(b"{") and holds_objects_only(head)

    @staticmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        source = shown(path)
        nested = read_nested(path, options.subset)
        queries, documents, scores, lengths = [], Strings(), array("d"), array("q")
        empty = 0
        try:
            for query, found, numbers in nested.each(truths=False):
                if not found:
                    empty += 1
                    continue
                queries.append(query)
                documents.extend([document.encode() for document in found])
                scores.extend(numbers)
                lengths.append(len(found))
        except MisfitError as misfit:
            raise misfit.at(source, None) from None
        if not queries:
            raise FormatError(source, None, "no document of a run", EXPECTED)
        if empty:
            note(f"{source}: {count(empty, 'query has', 'queries have')} no document; left out")
        offsets, values = offsets_of(lengths), np.frombuffer(scores)
        ranks = ranks_in(offsets, values).astype(np.float64)
        column = StringColumn.from_strings(queries)
        return Run(source, nested.model or SCORE, offsets, column, documents.column(), values, ranks, None)

    def _write(self, lists: CandidateLists, path: str) -> None:
        raise DataError(f"{path}: format json-run is read only; write trec")
