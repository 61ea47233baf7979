"""TREC runs: ``query Q0 document rank score tag``, one retrieved document per line; labels from qrels."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError
from rerank.core.files.streams import atomic_write
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import STORE, in_input_order, refuse_equal_ids
from rerank.formats.trec.read import Run, ranks_in, read_run
from rerank.formats.trec.runs import RunFormat

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
