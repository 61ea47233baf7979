"""TREC runs: ``query Q0 document rank score tag``, one retrieved document a line; labels by qrels."""

from __future__ import annotations

import re
from typing import ClassVar

from rerank.data.lists import CandidateLists
from rerank.errors import ConfigError
from rerank.formats.base import FORMATS, Format, ReadOptions
from rerank.formats.trec.fusion import fused
from rerank.formats.trec.qrels import with_qrels
from rerank.formats.trec.read import as_lists, read_run
from rerank.formats.trec.write import write_run

_LINE = re.compile(
    rb"[^ \t\n]+[ \t]+[Qq]0[ \t]+[^ \t\n]+[ \t]+[-+]?[0-9]+[ \t]+[-+0-9.eE]+[ \t]+[^ \t\r\n]+[ \t\r]*(\n|$)"
)


@FORMATS.register("trec", "run")
class TRECRun(Format):
    """Reader and writer of TREC runs.

    The score is both the one feature, "score", and ``base_scores``; the document is the item's id. The
    first-best order is that of the ranks, equal ones by line; where it is not that of the scores, which
    trec_eval goes by, that is said. ``qrels`` gives labels; a document that it does not judge has none.
    Lines of one query that stand apart are brought together.

    ``merge`` names further runs of the same queries: the candidates of a query are then all documents that
    any run has, and each run is a feature, by its tag. A document that a run lacks has 0 there, or NaN by
    missing=nan. Scores and order of the first stage are the first run's, which goes before what it lacks.
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
        write_run(lists, path)
