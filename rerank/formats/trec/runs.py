"""What formats of runs share: one run or several become lists, with judgements from qrels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from rerank.core.errors import ConfigError, DataError
from rerank.core.files.streams import read_head, shown
from rerank.data.lists import CandidateLists
from rerank.formats.base import FORMATS, Format, ReadOptions, recognising
from rerank.formats.buffers import BOM
from rerank.formats.common import OF_IDS, note
from rerank.formats.feature_names import read_feature_names
from rerank.formats.trec.fusion import fused
from rerank.formats.trec.qrels import with_qrels
from rerank.formats.trec.read import Run, as_lists


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
