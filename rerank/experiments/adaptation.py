"""Adaptation of a transductive model to the test lists of a cell, without times: it never differs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rerank.core.records import Number, Record, fact
from rerank.core.types import ArrayLike
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse_all, prepare_all
from rerank.metrics.judges import statistics
from rerank.models.adaptation import Adaptation, diagnostic_names

_GAIN = 1e-9  # of a list; less is rounding


class ChangeRecord(Record):
    """A metric of the unadapted rankings, and how many lists are better or worse in the model's own."""

    unadapted: Number[float]
    improved: int
    harmed: int


class AdaptationRecord(Record):
    """Record of the adaptation to test lists.

    Attributes
    ----------
    lists, adapted
        Test lists, and those that are ranked by a ranker of their own.
    tau
        The mean of Kendall's tau-b between the adapted and the unadapted rankings.
    diagnostics
        The mean of each diagnostic of the method over the lists that have it.
    changes
        By metric, of the test lists as they were judged when the cell was trained.
    together
        Figures of all test lists together.
    """

    lists: int
    adapted: int
    tau: Number[float]
    diagnostics: dict[str, Number[float]]
    changes: dict[str, ChangeRecord]
    together: dict[str, Number[float]] = fact({})

    def facts(self) -> Iterator[tuple[str, float]]:
        """Yield every number with its name, for tables."""
        yield from (("lists", self.lists), ("adapted", self.adapted), ("tau", self.tau))
        yield from self.together.items()
        yield from self.diagnostics.items()
        for metric, change in self.changes.items():
            yield f"unadapted {metric}", change.unadapted
            yield f"improved {metric}", change.improved
            yield f"harmed {metric}", change.harmed


def adaptation_record(found: Adaptation, test: CandidateLists, metrics: Sequence[str]) -> AdaptationRecord:
    """Return what is recorded of the adaptation to test lists.

    Parameters
    ----------
    found
        With scores in the order of the caller's rows of ``test``.
    test
        The test lists.
    metrics
        By which lists are better or worse.
    """
    rows = found.rows
    names = diagnostic_names(rows)
    return AdaptationRecord(
        lists=len(rows),
        adapted=sum(row.adapted for row in rows),
        tau=_mean([row.tau for row in rows]),
        diagnostics={name: _mean([row.diagnostics.get(name, np.nan) for row in rows]) for name in names},
        changes=_changes(found, test, metrics),
        together=dict(found.facts),
    )


def _changes(found: Adaptation, test: CandidateLists, metrics: Sequence[str]) -> dict[str, ChangeRecord]:
    """The lists that each metric finds better or worse than unadapted, among those that it judges."""
    judges = prepare_all(test, parse_all(metrics).values())
    rankings = found.scores, found.unadapted
    own, before = (statistics(judges, test.from_input_order(scores)) for scores in rankings)
    changes = {}
    for judge, mine, theirs in zip(judges, own, before, strict=True):
        gains = judge.better * (
            np.asarray(judge.score_from_sums(mine)) - np.asarray(judge.score_from_sums(theirs))
        )
        gains = gains[judge.judged]
        changes[judge.name] = ChangeRecord(
            unadapted=corpus_value(judge, theirs),
            improved=int(np.count_nonzero(gains > _GAIN)),
            harmed=int(np.count_nonzero(gains < -_GAIN)),
        )
    return dict(sorted(changes.items()))


def _mean(values: ArrayLike) -> float:
    """The mean of the values that are not NaN; NaN if all are."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")
