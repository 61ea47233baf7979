"""Judged systems with their tables: what eval, compare, report and the page show."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TextIO, TypeAlias

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.tables.display import Display
from rerank.core.tables.table import Column, Row, Table, value_text
from rerank.core.tables.text import WIDTH, drawn, room, show, table_drawings
from rerank.core.tables.text import Part as Drawn
from rerank.core.text import count
from rerank.core.types import ArrayLike
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.overlap import check_apart
from rerank.evaluation import tables
from rerank.evaluation.bootstrap import Test
from rerank.evaluation.by_list import ListTable, TopChoices
from rerank.evaluation.results import FIRST_BEST, WHOLE, MetricResults, Part, Results, Run, Runs, plain
from rerank.evaluation.variance import Variance
from rerank.metrics.base import prepared_by
from rerank.metrics.judges import ReportJudge, Scores, checked_scores, first_stage, nothing_judged, statistics
from rerank.metrics.judging import Judging

# What is shown: systems against references, every two systems, or an experiment over folds.
View: TypeAlias = Literal["systems", "pairs", "folds"]


class Judged(Display, Results, frozen=True, eq=False, dict=True):
    """Result of ``judge``: ``Results`` with their tables.

    Attributes
    ----------
    view : {"systems", "pairs", "folds"}
        What tables, text and JSON show: those of ``rerank eval``, ``rerank compare`` or ``rerank report``.
    replicas : bool
        Whether the systems but the baseline are runs of one system.
    """

    view: View = "systems"
    replicas: bool = False

    @property
    def pairs(self) -> dict[str, Sequence[Test]]:
        """The tests by canonical name of the metric: of every two systems, or against the baseline."""
        return {name: metric.pairs for name, metric in self.metrics.items()}

    @property
    def variances(self) -> dict[str, Variance]:
        """The variance of replicas by canonical name of the metric; none of other systems."""
        return {name: metric.variance() for name, metric in self.metrics.items()} if self.replicas else {}

    def plot(self, metric: str | None = None, *, kind: str | None = None, ax: Any = None) -> Any:
        """Draw systems by one metric on axes of matplotlib, and return the axes.

        Parameters
        ----------
        metric : name of the metric; None = the first one.
        kind : "values" with intervals and references, "differences" of pairs, or another figure of the page,
            see ``rerank help python``. None = values or differences, by ``view``.
        ax : axes of matplotlib; None = those of a new figure.

        Raises
        ------
        ConfigError
            If matplotlib is not installed, a name is unknown, or there is nothing of that kind.
        """
        from rerank.evaluation.plots import plot_results

        return plot_results(self, metric, kind or ("differences" if self.view == "pairs" else "values"), ax)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON, by ``view``; None replaces absent values and NaN."""
        own = self.judging
        resampling = {"samples": own.samples, "level": own.level, "seed": own.seed}
        if self.view == "folds":
            folds = [
                {
                    "name": part.name,
                    "lists": part.lists.n_lists,
                    "items": part.lists.n_items,
                    "unjudged": part.unjudged,
                }
                for part in self.parts
            ]
            return {
                "name": self.name,
                "folds": folds,
                "baseline": self.against,
                "all_pairs": self.all_pairs,
                "share": self.fraction,
                "bootstrap": resampling,
                "metrics": {name: _folds_json(metric) for name, metric in self.metrics.items()},
                "notes": self.remarks(),
            }
        record: dict[str, Any] = {"lists": self.n_lists, "items": self.n_items, "unjudged": self.unjudged}
        if self.view == "pairs":
            metrics = {
                name: {
                    "signature": metric.signature,
                    "pairs": plain([test.as_json() for test in metric.pairs]),
                }
                for name, metric in self.metrics.items()
            }
            return record | {"resampling": resampling, "metrics": metrics}
        record |= {
            "baseline": self.against,
            "bootstrap": resampling,
            "metrics": {
                name: plain(
                    {
                        "signature": metric.signature,
                        "first_best": metric.first_best,
                        "random": metric.random,
                        "oracle": metric.oracle,
                    }
                )
                for name, metric in self.metrics.items()
            },
            "systems": [
                {"name": name, "metrics": {key: plain(row.tested_json()) for key, row in rows.items()}}
                for name, rows in self.systems.items()
            ],
        }
        if self.replicas:
            record["replicas"] = {name: found.as_json() for name, found in self.variances.items()}
        return record

    def tables(self, *, tests: bool = True) -> list[Table]:
        """Return the tables of ``view``; ``tests`` of an experiment are tables of their own."""
        if self.view == "folds":
            return tables.fold_tables(self, tests=tests)
        return [tables.system_table(self) if self.view == "systems" else tables.comparison_table(self)]

    def lines(self) -> list[str]:
        """Return tables and notes as plain text, line by line."""
        return self.text().splitlines()

    def variance_lines(self) -> list[str]:
        """Return what is known of the variance of replicas, by metric."""
        found = [
            variance.lines(digits=self.metrics[name].digits) for name, variance in self.variances.items()
        ]
        return [line for lines in found for line in ("", *lines)][1:]

    def text(self, width: int = WIDTH) -> str:
        """Return tables and notes as plain text; systems are one table if it fits in ``width`` columns."""
        return "".join(f"{line}\n" for part in self.shown(width) for line in drawn(part))

    def print(self, stream: TextIO | None = None) -> None:
        """Write tables and notes to ``stream`` (standard output): in styles on a terminal, which they fit."""
        stream = sys.stdout if stream is None else stream
        show(self.shown(room(stream), fitting=stream.isatty()), stream)

    def shown(self, width: int = WIDTH, *, fitting: bool = False) -> list[Drawn]:
        """Return tables, paragraphs and notes, with empty lines between them."""
        if self.view == "folds":
            return tables.fold_parts(self)
        (table,) = self.tables()
        drawings, notes = table_drawings(table, width, fitting=fitting)
        paragraphs = self.variance_lines()
        parts = [part for drawing in drawings for part in (drawing, "")]
        return [*parts, *([*paragraphs, ""] if paragraphs else []), *notes, *table.signatures]

    def by_list(self) -> ListTable:
        """Return a row for each list: its items, its best label, what each system chose, and its values.

        The first stage's ranking comes first, called "first_best".

        Raises
        ------
        ConfigError
            If there is no system.
        """
        lists, table = self.parts[0].lists, self.bootstrap_table()
        names = sorted(table.rows, key=[FIRST_BEST, *self.runs].index)
        if not names:
            raise ConfigError("by list: found no system, expected one at least")
        first = first_stage(lists) if self.has_first_best else None
        ranked = {} if first is None else {FIRST_BEST: first}
        ranked |= {name: lists.from_input_order(of[WHOLE][0][0].scores) for name, of in self.runs.items()}
        metrics = list(self.metrics.values())
        return ListTable(
            [name for _, name in self.list_keys()],
            TopChoices.of(lists, ranked),
            {metric.name: metric.digits for metric in metrics},
            {(name, one.name): table.list_values(name, one.place) for name in names for one in metrics},
            {(name, one.name): table.value(name, one.place) for name in names for one in metrics},
            tables.signatures(self),
        )


def _folds_json(metric: MetricResults) -> dict[str, Any]:
    """The systems of an experiment by one metric."""
    found = {
        "typed": metric.typed,
        "signature": metric.signature,
        "better": metric.better,
        "lists": metric.lists,
        "folds_left_out": metric.folds_left_out,
        "references": {
            name: {"value": getattr(metric, name), "by_fold": by_fold}
            for name, by_fold in metric.references.items()
        },
        "rows": [
            {"name": name, "share": fraction, **row.as_json()}
            for name, of in metric.rows.items()
            for fraction, row in of.items()
        ],
        "pairs": [test.as_json() for test in metric.pairs],
    }
    made: dict[str, Any] = plain(found)
    return made


def judge(
    parts: Sequence[Part],
    runs: Runs,
    judging: Judging,
    *,
    view: View = "folds",
    all_pairs: bool = False,
    name: str = "",
    notes: Sequence[str] = (),
    tested: bool = True,
    replicas: bool = False,
) -> Judged:
    """Judge systems on the test lists of folds. Numbers are computed when they are first asked for.

    Parameters
    ----------
    parts : sequence of Part
        The test lists of each fold, with the metrics of ``judging``.
    runs : mapping of str to mapping of int to sequence of sequences of Run
        By system and fraction of the training lists in percent: for each fold, the run of each seed.
    judging : Judging
        Without a baseline, systems are tested against the first stage's ranking if there is one.
    view, all_pairs, name, notes, replicas
        See ``Judged``.
    tested : bool
        Whether systems are tested against a baseline at all.

    Raises
    ------
    ConfigError
        If the baseline is unknown, a system is called "first_best", or there are too few systems.
    DataError
        If a list is in two parts, nothing is judged, scores do not fit, or a system lacks a fold or a seed.
    """
    baseline = judging.baseline
    if FIRST_BEST in runs:
        raise ConfigError(f"{FIRST_BEST!r} names the first stage's ranking; call the system something else")
    if baseline not in (None, FIRST_BEST, *runs):
        raise ConfigError(f"unknown baseline {baseline!r}; {did_you_mean(str(baseline), runs)}")
    n_replicas = len(runs) - (baseline in runs)
    if replicas and n_replicas < 2:
        raise ConfigError(f"replicas: found {n_replicas}, expected two or more score files of one system")
    if view == "pairs" and len(runs) < 2:
        raise ConfigError("a comparison needs two systems at least")
    _check_parts(parts)
    for system, by_fraction in runs.items():
        _check_runs(system, by_fraction, parts)
    if tested and baseline in (None, FIRST_BEST):
        ranked = all(first is not None for part in parts for first in part.first_best)
        if baseline == FIRST_BEST and not ranked:
            raise ConfigError("the baseline is first-best, but the test lists have no order of their own")
        baseline = FIRST_BEST if ranked else None
    return Judged(
        tuple(parts), runs, judging, baseline, all_pairs, name, tuple(notes), view=view, replicas=replicas
    )


def judge_systems(
    lists: CandidateLists, systems: Mapping[str, ArrayLike], judging: Judging, **settings: Any
) -> Judged:
    """Judge systems on one set of lists.

    Parameters
    ----------
    lists : CandidateLists
    systems : mapping of str to array_like (n_items)
        Scores by name, in the order of the caller's rows (see ``Model.score``); larger is better,
        NaN = not returned.
    judging : Judging
    settings
        Of ``judge``; the view is "systems" unless given.
    """
    part = Part("", lists, prepared_by(judging, lists))
    runs = {
        name: {WHOLE: ((Run(_checked(name, scores, lists.n_items)),),)} for name, scores in systems.items()
    }
    found = judge((part,), runs, judging, **{"view": "systems", "name": lists.source, **settings})
    found.bootstrap_table()
    for metric in found.metrics.values() if found.view != "pairs" else ():
        _ = metric.references
    return found


def _checked(system: str, scores: ArrayLike, n_items: int, where: str = "") -> Scores:
    """Scores as a vector of numbers; DataError with the system's name if they do not fit."""
    try:
        return checked_scores(scores, n_items, partial=True)
    except DataError as error:
        raise DataError(f"{system}{where}: {error}") from None


def _check_parts(parts: Sequence[Part]) -> None:
    """Raise DataError if parts have other metrics, share a list, or nothing is judged."""
    if not parts:
        raise DataError("results need one part of test lists at least")
    for part in parts:
        if list(part.judges) != list(parts[0].judges):
            raise DataError(f"{part.lists.source}: judged by other metrics than {parts[0].lists.source}")
        for metric, one in part.judges.items():
            first = parts[0].judges[metric].signature
            if one.signature != first:
                raise DataError(
                    f"{metric} in fold {part.name}: found {one.signature}, expected "
                    f"{first} as in fold {parts[0].name}"
                )
    if not any(part.judged.any() for part in parts):
        raise nothing_judged(parts[0].lists)
    if len(parts) > 1:
        check_apart([part.name for part in parts], [part.lists for part in parts])


def _check_runs(
    system: str, by_fraction: Mapping[int, Sequence[Sequence[Run]]], parts: Sequence[Part]
) -> None:
    """Raise DataError if a system lacks a fold or a seed, or its scores do not fit."""
    if not by_fraction:
        raise DataError(f"{system}: no results")
    for fraction, folds in by_fraction.items():
        if len(folds) != len(parts):
            raise DataError(f"{system}: results of {count(len(folds), 'fold')}, expected {len(parts)}")
        seeds = [tuple(run.seed for run in fold) for fold in folds]
        if not seeds[0] or any(of_fold != seeds[0] for of_fold in seeds):
            raise DataError(f"{system}: its folds at {fraction} % have different seeds")
        for fold, part in zip(folds, parts, strict=True):
            for run in fold:
                where = f" in fold {part.name}" if part.name else ""
                if run.known is None:
                    _checked(system, run.scores, part.lists.n_items, where)


class Values(dict[str, float], Display):
    """Metrics of one ranking: a dictionary of names as typed and values.

    Attributes
    ----------
    signatures : mapping of str to str
        What was measured, by name as typed.
    digits : mapping of str to int
        Decimals to show.
    """

    def __init__(
        self,
        values: Iterable[tuple[str, float]] | Mapping[str, float],
        signatures: Mapping[str, str] | None = None,
        digits: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(values)
        self.signatures = dict(signatures or {})
        self.digits = dict(digits or {})

    def tables(self) -> list[Table]:
        """Return a row for each metric."""
        rows = tuple(Row((name, (value, self.digits.get(name, 4)))) for name, value in self.items())
        columns = (
            Column("metric", ("metric",), left=True),
            Column("value", ("value", "digits"), lambda cell: value_text(*cell)),
        )
        return [Table(columns, rows, signatures=tuple(self.signatures.values()))]

    def frame_columns(self) -> dict[str, Any]:
        """Return the columns of the data frame by name."""
        signatures = [self.signatures.get(name) for name in self]
        return {"metric": list(self), "value": list(self.values()), "signature": signatures}

    def lines(self) -> list[str]:
        """Return a line for each metric."""
        return [f"{name} {value!r}" for name, value in self.items()]

    __repr__ = dict.__repr__


def values_of(lists: CandidateLists, scores: ArrayLike, judging: Judging) -> Values:
    """Return the metrics of one ranking, by their names as typed; NaN if no list counts.

    Parameters
    ----------
    lists : CandidateLists
    scores : array_like (n_items)
        In the order of the caller's rows (see ``Model.score``); larger is better, NaN = not returned.
    judging : Judging

    Raises
    ------
    ConfigError
        If a metric is unknown.
    DataError
        If scores or columns do not fit, or no list is judged.
    """
    judges: Mapping[str, ReportJudge] = prepared_by(judging, lists)
    ranking = checked_scores(scores, lists.n_items, partial=True)
    if not any(one.judged.any() for one in judges.values()):
        raise nothing_judged(lists)
    found = statistics(list(judges.values()), lists.from_input_order(ranking))
    pairs = zip(judges.items(), found, strict=True)
    return Values(
        {name: corpus_value(one, per_list) for (name, one), per_list in pairs},
        {name: one.signature for name, one in judges.items()},
        {name: one.digits for name, one in judges.items()},
    )
