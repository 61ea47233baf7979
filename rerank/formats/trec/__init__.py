"""Formats of runs: TREC's six columns, MS MARCO's three, and JSON; one run or several become lists."""

from __future__ import annotations

import re
from abc import abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rerank.core.errors import ConfigError, DataError, FormatError, NeedsWholeError
from rerank.core.files.read import read_head, shown
from rerank.core.text import count
from rerank.core.types import Floats, Index
from rerank.data.columns.offsets import grouped, offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import ranks_in, rises
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.names import LISTS
from rerank.formats.base import FORMATS, Format, ReadOptions, recognising
from rerank.formats.buffers import BOM
from rerank.formats.builders import StringBuilder, whole_lines
from rerank.formats.common import (
    OF_IDS,
    STORE,
    absent_value,
    check_float32,
    in_input_order,
    in_list_order,
    is_finite,
    not_a_number,
    note,
    quoted,
    refuse_equal_ids,
)
from rerank.formats.feature_columns import read_feature_names
from rerank.formats.jsonl.schema import MisfitError
from rerank.formats.trec.lines import EXPECTED, Lines, read_lines, read_nested
from rerank.formats.trec.qrels import with_qrels
from rerank.native.formats._trec import Scanner

if TYPE_CHECKING:
    from rerank.formats.list_stream import ListStream

SIX_FIELDS = "six fields: query Q0 document rank score tag"


class Run(Struct):
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
    run, tags, disorder = run_in(shown(path), whole_lines(path), strict)
    if len(tags) > 1:
        note(f"{run.source}: {len(tags)} tags in one run; it is taken as run {quoted(run.tag)}")
    note_disorder(run.source, *disorder, len(run.queries))
    return run


def run_in(source: str, blocks: Iterable[bytes], strict: bool) -> tuple[Run, list[bytes], tuple[int, int]]:
    """Return a run, its tags, and in how many queries ranks, or lines of equal rank, differ from scores.

    ``blocks`` are whole lines; raises FormatError at the first fault.
    """

    def words(text: bytes, line: int) -> FormatError:
        fields = text.split()
        if len(fields) != 6:
            return FormatError(source, line, count(len(fields), "field"), SIX_FIELDS)
        if not is_finite(fields[4]):
            return FormatError(source, line, *not_a_number(fields[4], "score"))
        return FormatError(source, line, f"rank {quoted(fields[3])}", "a whole number")

    scanner = Scanner(6, query=0, document=2, value=4, rank=3, other=5, together=strict)
    lines = read_lines(source, blocks, scanner, words)
    run = run_of(lines, SIX_FIELDS)
    tags = lines.others.strings()
    run.tag = tags[int(np.argmax(lines.counts_of_others()))].decode("utf-8", "surrogateescape")
    with np.errstate(over="ignore"):
        scores = run.scores.astype(np.float32).astype(np.float64)  # as trec_eval reads them
    by_rank, by_line = rises(run.offsets, run.ranks, scores)
    return run, tags, (int(np.count_nonzero(by_rank)), int(np.count_nonzero(by_line)))


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


def note_disorder(source: str, by_rank: int, by_line: int, n_queries: int) -> None:
    """Warn if the ranks of queries, or lines of equal rank, order documents differently from the scores."""
    where = f"{source}: in {count(by_rank or by_line, 'query', 'queries')} of {n_queries} "
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


def fused(runs: Sequence[Run], options: ReadOptions) -> CandidateLists:
    """Return the lists of several runs, documents in the order in which they first appear."""
    numbers: dict[tuple[bytes, bytes], int] = {}
    places = [_places(run, numbers) for run in runs]
    n = len(numbers)
    queries: dict[bytes, int] = {}
    offsets, rows = grouped(np.array([queries.setdefault(q, len(queries)) for q, _ in numbers], np.int64))
    order = np.arange(n) if rows is None else rows
    item = np.empty(n, dtype=np.int64)
    item[order] = np.arange(n)
    fill = absent_value(options)
    values = np.full((n, len(runs)), fill, dtype=options.dtype)
    for j, (run, place) in enumerate(zip(runs, places, strict=True)):
        if options.dtype == "float32":
            check_float32(run.scores, run.source)
        values[item[place], j] = run.scores
    base_scores = np.full(n, np.nan)
    base_scores[item[places[0]]] = runs[0].scores
    first_best = np.asarray(-1.0 - runs[0].ranks.max() - order, dtype=np.float64)
    first_best[item[places[0]]] = -runs[0].ranks
    _note_absent(runs, n, fill)
    documents = [document for _, document in numbers]
    return CandidateLists(
        offsets,
        Dense(values),
        base_scores=base_scores,
        first_best=first_best,
        run_scores=base_scores,
        list_ids=StringColumn.from_strings(queries),
        item_ids=StringColumn.from_strings(documents[k] for k in order.tolist()),
        rows=rows,
        feature_names=_names(runs),
        source=runs[0].source,
    )


def _places(run: Run, numbers: dict[tuple[bytes, bytes], int]) -> Index:
    """Return the number of each document of a run, int64 (n_documents), after adding new ones."""
    out = np.empty(len(run.documents), dtype=np.int64)
    order = np.arange(len(out)) if run.rows is None else np.argsort(run.rows)
    queries = np.repeat(np.arange(len(run.queries)), np.diff(run.offsets))[order]
    for item, query in zip(order.tolist(), queries.tolist(), strict=True):
        document = run.queries.bytes_at(query), run.documents.bytes_at(item)
        out[item] = numbers.setdefault(document, len(numbers))
    return out


def _names(runs: Sequence[Run]) -> list[str]:
    """Return the runs' tags; one that an earlier run has too gets a number, with a warning."""
    names: list[str] = []
    for run in runs:
        name, n = run.tag, 1
        while name in names:
            n += 1
            name = f"{run.tag}-{n}"
        if n > 1:
            note(f"{run.source}: an earlier run has the tag {quoted(run.tag)} too; named {quoted(name)}")
        names.append(name)
    return names


def _note_absent(runs: Sequence[Run], n: int, fill: float) -> None:
    absent = [f"{quoted(run.tag)} {n - len(run.scores)}" for run in runs if len(run.scores) < n]
    if absent:
        taken = "0 (missing=nan keeps them apart)" if fill == 0.0 else "missing (NaN)"
        note(f"{runs[0].source}: of {n} documents runs lack {', '.join(absent)}; taken as {taken}")
    below = [quoted(run.tag) for run in runs if fill == 0.0 and len(run.scores) < n and run.scores.min() < 0]
    if below:
        found = f"{', '.join(below)} {'has' if len(below) == 1 else 'have'} scores below 0"
        note(f"{runs[0].source}: {found}, so that documents that are absent there (0) rank above others")


class RunFormat(Format):
    """Base of formats of runs: the documents that one system retrieved for each query, with their scores.

    The score is both the only feature and ``base_scores``; the document is the item's id. ``qrels`` gives
    labels; documents that it does not judge have none. If the lines of a query are not contiguous, they are
    brought together.

    ``merge`` names further runs of the same queries, each in any format of runs, which its content tells:
    the candidates of a query are then the documents of all runs, and each run is a feature. A document that
    a run lacks has 0 there, or NaN with missing=nan. Scores and order of the first stage are the first
    run's; documents that it lacks come last. ``feature_names`` names the runs, one per line.
    """

    honours: ClassVar[frozenset[str]] = frozenset(
        {"strict", "missing", "dtype", "refs", "merge", "qrels", "feature_names"} | OF_IDS
    )

    of_runs: ClassVar[bool] = True

    @staticmethod
    @abstractmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        """Return the run in a file; raises FormatError at the first fault."""

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        if options.missing == "nan" and not options.merge:
            found = f"missing={options.missing!r}"
            raise ConfigError(
                f"format {self.name}: {found} needs further runs (merge); one run lacks nothing"
            )
        runs = [self.read_run(path, options)]
        runs += [self._kind_of(name).read_run(name, options) for name in options.merge]
        lists = fused(runs, options) if options.merge else as_lists(runs[0], options)
        if options.feature_names is not None:
            names = read_feature_names(options.feature_names)
            if names.n_columns != len(runs):
                found = f"found {names.n_columns} feature names, expected {len(runs)}"
                raise DataError(f"{options.feature_names}: {found}, one for each run")
            lists = replace(lists, feature_names=names.at(range(len(runs))))
        return lists if options.qrels is None else with_qrels(lists, options.qrels)

    def _kind_of(self, path: str) -> type[RunFormat]:
        """Return the format of a further run: the one that its content tells, otherwise this one."""
        head = read_head(path).removeprefix(BOM)
        for name in recognising(head, FORMATS.names()):
            kind = FORMATS.get(name)
            if issubclass(kind, RunFormat):
                if name != self.name:
                    note(f"{shown(path)}: read as {name} (by content)")
                return kind
        return type(self)


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

    def _write_stream(self, stream: ListStream, path: str) -> None:
        """Write ``base_scores``, lines in the order of the input.

        Ranks follow ``first_best``, or the scores if the lists have none; on ties the first item comes first.
        """
        tag = None
        with stream.open(path) as file:
            for lists in stream:
                found = self._write_block(lists, path, file, stream.n_lists)
                if tag not in (None, found):
                    what = "base scores that are not the feature, unlike those before, or the other way round"
                    raise NeedsWholeError(lists.source, None, what, "one tag for all lines")
                tag = found

    def _write_block(self, lists: CandidateLists, path: str, file: IO[bytes], before: int) -> bytes:
        """Write some lists and return the tag; ``before`` lists were written before."""
        scores, ids = lists.base_scores, lists.item_ids
        if scores is None or np.any(np.isnan(scores)):
            raise DataError(f"{path}: a run needs a base score of every item, which {lists.source} lacks")
        if ids is None:
            raise DataError(f"{path}: a run needs ids of items, which {lists.source} does not hold")
        queries = lists.list_ids
        if queries is None:
            queries = StringColumn.from_strings(str(before + i + 1) for i in range(lists.n_lists))
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
        for item in in_input_order(lists).tolist():
            score = repr(float(scores[item])).encode()
            place = names[list_index[item]], ids.bytes_at(item), ranks[item]
            file.write(b"%b Q0 %b %d %b %b\n" % (*place, score, tag))
        return tag

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


_OF_ARRAYS = re.compile(rb'\s*\{\s*"(?!mteb_)[^"]*"\s*:\s*\{\s*"[^"]*"\s*:\s*\[')  # where scores would be


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
        if not head.lstrip().startswith(b"{") or _OF_ARRAYS.match(head):
            return False
        from rerank.formats.jsonl import holds_objects_only  # runs of lines do without JSON

        return holds_objects_only(head)

    @staticmethod
    def read_run(path: str, options: ReadOptions) -> Run:
        source = shown(path)
        nested = read_nested(path, options.subset)
        queries, documents, scores, lengths = [], StringBuilder(), array("d"), array("q")
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
