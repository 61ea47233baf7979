"""Runs as JSON, ``{query: {document: score}}``: BEIR, ranx, pytrec_eval, and MTEB's predictions."""

from __future__ import annotations

from array import array
from typing import ClassVar

import numpy as np

from rerank.core.errors import DataError, FormatError
from rerank.core.files.streams import shown
from rerank.core.text import count
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, ReadOptions
from rerank.formats.common import note
from rerank.formats.growing import Strings
from rerank.formats.jsonl.keys import MisfitError
from rerank.formats.jsonl.nested import EXPECTED, holds_objects_only, read_nested
from rerank.formats.trec.read import Run, ranks_in
from rerank.formats.trec.runs import RunFormat

SCORE = "score"


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
