"""TREC runs: ``query Q0 document rank score tag``, one retrieved document per line; labels from qrels."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.types import Floats, Index
from rerank.errors import ConfigError, DataError
from rerank.files import atomic_write
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.common import STORE, in_input_order, refuse_equal_ids
from rerank.formats.trec.fusion import fused
from rerank.formats.trec.qrels import with_qrels
from rerank.formats.trec.read import as_lists, read_run

_FIELD = re.compile(rb"[^ \t\n\r\x0b\x0c]+")
_LINE = re.compile(
    rb"[^ \t\n]+[ \t]+[Qq]0[ \t]+[^ \t\n]+[ \t]+[-+]?[0-9]+[ \t]+[-+0-9.eE]+[ \t]+[^ \t\r\n]+[ \t\r]*(\n|$)"
)


@FORMATS.register("trec", "run")
class TRECRun(Format):
    """Reader and writer of TREC runs.

    The score is both the only feature, named by the tag, and ``base_scores``; the document is the item's id.
    The first-best order is that of the ranks, on ties that of the lines; a warning reports if the scores,
    which trec_eval sorts by, give another order. ``qrels`` gives labels; documents that it does not judge
    have none. If the lines of a query are not contiguous, they are brought together.

    ``merge`` names further runs of the same queries: the candidates of a query are then the documents of all
    runs, and each run is a feature, named by its tag. A document that a run lacks has 0 there, or NaN with
    missing=nan. Scores and order of the first stage are the first run's; documents that it lacks come last.
    """

    name: ClassVar[str] = "trec"
    summary: ClassVar[str] = "TREC runs, query Q0 document rank score tag, with judgements from qrels"
    suffixes: ClassVar[tuple[str, ...]] = (".run", ".trec")
    honours: ClassVar[frozenset[str]] = frozenset({"strict", "missing", "dtype", "refs", "merge", "qrels"})

    holds: ClassVar[frozenset[str]] = frozenset({"base_scores", "first_best", "list_ids", "item_ids", "rows"})
    score_feature: ClassVar[str] = "score"

    @classmethod
    def recognises(cls, head: bytes) -> bool:
        return _LINE.match(head.lstrip()) is not None

    def _read(self, path: str, options: ReadOptions) -> CandidateLists:
        if options.missing != "zero" and not options.merge:
            raise ConfigError("format trec: missing='nan' needs further runs (merge); one run lacks nothing")
        runs = [read_run(name, options.strict) for name in (path, *options.merge)]
        lists = fused(runs, options) if options.merge else as_lists(runs[0], options)
        return lists if options.qrels is None else with_qrels(lists, options.qrels)

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
        ranks = _ranks(lists, scores if lists.first_best is None else lists.first_best)
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


def _ranks(lists: CandidateLists, order: Floats) -> Index:
    """Return ranks from 1 in each list by ``order``, largest first, ties by position: int64 (n_items)."""
    index = lists.list_index
    by_list = np.lexsort((np.arange(lists.n_items), -order, index))
    ranks = np.empty(lists.n_items, dtype=np.int64)
    ranks[by_list] = np.arange(lists.n_items) - lists.offsets[:-1][index] + 1
    return ranks


def _check_ids(column: StringColumn, what: str, path: str) -> None:
    for i in range(len(column)):
        if _FIELD.fullmatch(column.bytes_at(i)) is None:
            found = f"the {what} id {column[i]!r} (empty, or a blank in it)"
            raise DataError(f"{path}: a run cannot hold {found}; {STORE}")
