"""Systems judged on the test lists of folds: values, intervals, references and paired tests.

There is one table of statistics for each fraction of the training lists (``bootstrap.BootstrapTable``), and
everything is computed from it when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import count, some
from rerank.core.types import Floats, Mask
from rerank.data.first_best import differ
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.data.overlap import shared_ids
from rerank.evaluation.bootstrap import BootstrapTable, Statistics, Test, tests_of
from rerank.evaluation.significance import interval
from rerank.evaluation.variance import Variance
from rerank.metrics.judges import ReportJudge, Scores, statistics
from rerank.metrics.judging import Judging
from rerank.metrics.selecting import Selection

FIRST_BEST = "first_best"
WHOLE = 100  # percent of the training lists


class Known(Struct, frozen=True, eq=False):
    """Statistics of a system by each metric, and the lists that it switched, without its scores."""

    statistics: Sequence[Floats]
    switched: Sequence[int | None]


class Run(Struct, frozen=True, eq=False):
    """A system's scores of the test lists of a fold, from one seed, and what a page shows of its model.

    Attributes
    ----------
    scores : float (n_items)
        In the order of the caller's rows of the fold's test lists; larger is better, NaN = not returned.
    seed : int, optional
        None if the learner draws nothing.
    curve : sequence of mappings
        The learning curve: round, train and dev.
    weights : mapping of str to float
        Standardised weights by feature.
    chosen : mapping of str to value
        The settings chosen from a grid.
    dev : float, optional
        The value that they were chosen by.
    rounds : int, optional
        The rounds that were kept.
    known : Known, optional
        What is kept of scores that were not.
    """

    scores: Scores
    seed: int | None = None
    curve: Sequence[Mapping[str, float]] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    dev: float | None = None
    rounds: int | None = None
    known: Known | None = None


# By system and fraction of the training lists in percent: for each fold, the run of each seed.
Runs: TypeAlias = Mapping[str, Mapping[int, Sequence[Sequence[Run]]]]


class Part(Struct, frozen=True, eq=False, dict=True):
    """The test lists of a fold, and the metrics prepared for them by their names as typed."""

    name: str
    lists: CandidateLists
    judges: Mapping[str, ReportJudge]

    @cached_property
    def judged(self) -> Mask:
        """The lists that a metric can judge, bool (n_lists)."""
        judged: Mask = np.logical_or.reduce([judge.judged for judge in self.judges.values()])
        return judged

    @property
    def unjudged(self) -> int:
        """Return the number of lists that have no item that a metric can judge."""
        return int(np.count_nonzero(~self.judged))

    @cached_property
    def first_best(self) -> list[Floats | None]:
        """The statistics of the first stage's ranking by each metric, None without one."""
        return [judge.first_best() for judge in self.judges.values()]


class SystemResult:
    """A system by one metric, trained on one fraction of the training lists.

    Attributes
    ----------
    value : float
        The mean over folds of the mean over seeds; NaN if a fold that counts has none.
    ci : (float, float), optional
        Percentile interval: lists are resampled within each fold.
    gap : float, optional
        Share of the way from first-best to oracle; None if these are equal or unknown.
    values : tuple of tuples of float
        For each fold, the value of each seed; NaN without a value.
    by_fold, by_seed : tuple of float
        The mean over seeds in each fold, and the mean over folds of each seed.
    seeds : tuple of int, optional
        In the order of ``by_seed``; a learner that draws nothing has one, None.
    sd_seeds : float, optional
        Standard deviation of ``by_seed``, divided by n - 1; None for one seed.
    switched : int, optional
        Judged lists whose chosen item is not first-best, for metrics of one chosen item.
    test : Test, optional
        Against the baseline.
    """

    KEYS = ("value", "ci", "gap")
    OF_FOLDS = ("values", "by_fold", "by_seed", "seeds", "sd_seeds")
    OF_TEST = ("p_bootstrap", "p_wilcoxon", "wins", "ties", "losses")

    def __init__(self, metric: MetricResults, system: str, fraction: int) -> None:
        self._metric, self._system, self._fraction = metric, system, fraction
        self._table, self._m = metric.results.bootstrap_table(fraction), metric.place
        self.value = self._table.value(system, self._m)

    @cached_property
    def ci(self) -> tuple[float, float] | None:
        return interval(self._table.sampled[self._system][self._m], self._metric.results.judging.level)

    @property
    def gap(self) -> float | None:
        first, oracle = self._metric.first_best, self._metric.oracle
        known = first is not None and abs(oracle - first) > 1e-12 and np.isfinite(self.value)
        return (self.value - first) / (oracle - first) if known and first is not None else None

    @property
    def values(self) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, self._table.values(self._system, self._m).tolist()))

    @property
    def by_fold(self) -> tuple[float, ...]:
        return tuple(self._table.by_fold(self._system, self._m).tolist())

    @property
    def by_seed(self) -> tuple[float, ...]:
        return tuple(self._table.by_seed(self._system, self._m).tolist())

    @property
    def seeds(self) -> tuple[int | None, ...]:
        return tuple(run.seed for run in self._metric.results.runs_of(self._system, self._fraction)[0])

    @property
    def sd_seeds(self) -> float | None:
        return float(np.std(self.by_seed, ddof=1)) if len(self.by_seed) > 1 else None

    @cached_property
    def switched(self) -> int | None:
        results = self._metric.results
        found = [
            switched_lists(judge, part.lists.from_input_order(runs[0].scores))
            if runs[0].known is None
            else runs[0].known.switched[self._m]
            for judge, part, runs in zip(
                self._metric.judges, results.parts, results.runs_of(self._system, self._fraction), strict=True
            )
        ]
        return None if None in found else sum(n for n in found if n is not None)

    @property
    def test(self) -> Test | None:
        return self._metric.against(self._system, self._metric.results.against)

    def as_json(self) -> dict[str, Any]:
        """Return the value with its spread over folds and seeds, by name."""
        return {key: getattr(self, key) for key in (*self.KEYS, *self.OF_FOLDS)}

    def tested_json(self) -> dict[str, Any]:
        """Return the value with its test against the baseline, by name."""
        found = {key: getattr(self, key) for key in self.KEYS}
        found |= {key: getattr(self.test, key, None) for key in self.OF_TEST}
        return found if self.switched is None else found | {"switched": self.switched}


class MetricResults:
    """All systems by one metric.

    Attributes
    ----------
    results : Results
    place : int
        The metric's place among those of the results.
    typed, name : str
        The name as the user wrote it, and the canonical one.
    judges : list of ReportJudge
        The metric prepared for each fold.
    signature : str
        Everything that changes the number.
    better : int
        1 if a larger value is better, -1 if a smaller one is.
    digits : int
        Decimals to show.
    lists : int
        How many lists the metric can judge.
    """

    def __init__(self, results: Results, place: int, typed: str) -> None:
        self.results, self.place, self.typed = results, place, typed
        self.judges = [list(part.judges.values())[place] for part in results.parts]
        first = self.judges[0]
        self.name, self.signature = first.name, first.signature
        self.better, self.digits = first.better, first.digits
        self.lists = sum(int(np.count_nonzero(judge.judged)) for judge in self.judges)

    @cached_property
    def references(self) -> dict[str, tuple[float, ...]]:
        """The values of first_best (if the lists have an order), random and oracle in each fold."""
        first, random, oracle = [], [], []
        for part, judge in zip(self.results.parts, self.judges, strict=True):
            statistics = part.first_best[self.place]
            if statistics is not None:
                first.append(corpus_value(judge, statistics))
            random.append(judge.random())
            oracle.append(judge.oracle())
        known = {FIRST_BEST: tuple(first)} if len(first) == len(oracle) else {}
        return known | {"random": tuple(random), "oracle": tuple(oracle)}

    @cached_property
    def _means(self) -> dict[str, float]:
        """The means of references over the folds that count."""
        counted = self.results.bootstrap_table().folds(self.place)
        return {
            name: float(np.mean([values[k] for k in counted])) if counted else math.nan
            for name, values in self.references.items()
        }

    @property
    def first_best(self) -> float | None:
        """The first stage's value, None if the lists have no order of their own."""
        return self._means.get(FIRST_BEST)

    @property
    def random(self) -> float:
        """The value that a random ranking has on average; NaN if no list counts."""
        return self._means["random"]

    @property
    def oracle(self) -> float:
        """The best value that any order reaches; NaN if no list counts."""
        return self._means["oracle"]

    @property
    def folds_left_out(self) -> tuple[str, ...]:
        """Folds in which no system has a value: means are over the others."""
        counted = self.results.bootstrap_table().folds(self.place)
        return tuple(part.name for k, part in enumerate(self.results.parts) if k not in counted)

    @cached_property
    def rows(self) -> dict[str, dict[int, SystemResult]]:
        """The results by system and fraction of the training lists."""
        return {
            name: {fraction: SystemResult(self, name, fraction) for fraction in sorted(fractions)}
            for name, fractions in self.results.runs.items()
        }

    @cached_property
    def pairs(self) -> tuple[Test, ...]:
        """Every two systems, or each against the baseline, at the fraction that systems are compared at."""
        systems, baseline = list(self.results.runs), self.results.against
        names = [(name, baseline) for name in systems if baseline is not None and name != baseline]
        if self.results.all_pairs:
            names = list(combinations(systems, 2))
        return tuple(tests_of(self.results.bootstrap_table(), names, self.place, self.results.judging.level))

    @cached_property
    def _by_names(self) -> dict[tuple[str, str], Test]:
        return {(test.a, test.b): test for test in self.pairs}

    def against(self, system: str, baseline: str | None) -> Test | None:
        """Return the test of a system against the baseline, None if there is none."""
        return None if baseline is None else self._by_names.get((system, baseline))

    def variance(self) -> Variance:
        """Return how much the systems but the baseline differ, as runs of one system."""
        names = [name for name in self.results.runs if name != self.results.judging.baseline]
        return self.results.bootstrap_table().variance(names, self.place, self.results.judging.level)


class Results(Struct, frozen=True, eq=False, dict=True):
    """Systems on the same test lists.

    Attributes
    ----------
    parts : tuple of Part
        A part for each fold; no list is in two of them.
    runs : mapping of str to mapping of int to sequence of sequences of Run
        By system and fraction of the training lists in percent: for each fold, the run of each seed.
    judging : Judging
    baseline : str, optional
        The system that the others are compared with, or "first_best".
    all_pairs : bool
        Whether every two systems are tested, instead of each against the baseline.
    name : str
        The experiment or the set.
    notes : tuple of str
        What a reader must know, such as systems that were left out.
    """

    parts: tuple[Part, ...]
    runs: Runs
    judging: Judging
    baseline: str | None = None
    all_pairs: bool = False
    name: str = ""
    notes: tuple[str, ...] = ()

    @property
    def against(self) -> str | None:
        """The system or "first_best" that the others are tested against; None if all pairs are tested."""
        return None if self.all_pairs else self.baseline

    @property
    def fractions(self) -> tuple[int, ...]:
        """The fractions of the training lists that some system was trained on, from the smallest."""
        return tuple(sorted({one for of in self.runs.values() for one in of})) or (WHOLE,)

    @cached_property
    def fraction(self) -> int:
        """The fraction that systems are compared at: the largest one that every system has."""
        common = set.intersection(*map(set, self.runs.values())) if self.runs else {WHOLE}
        if not common:
            raise DataError(f"{self.name}: no share of the training lists is common to all rows")
        return max(common)

    @cached_property
    def has_first_best(self) -> bool:
        """Return whether the first stage ranked the lists of every part."""
        return all(first is not None for part in self.parts for first in part.first_best)

    @property
    def n_lists(self) -> int:
        """Return the number of lists of all parts."""
        return sum(part.lists.n_lists for part in self.parts)

    @property
    def n_items(self) -> int:
        """Return the number of items of all parts."""
        return sum(part.lists.n_items for part in self.parts)

    @property
    def unjudged(self) -> int:
        """Lists left out because no metric can judge them."""
        return sum(part.unjudged for part in self.parts)

    @cached_property
    def metrics(self) -> dict[str, MetricResults]:
        """The metrics by canonical name."""
        made = [MetricResults(self, m, typed) for m, typed in enumerate(self.parts[0].judges)]
        return {metric.name: metric for metric in made}

    @property
    def systems(self) -> dict[str, dict[str, SystemResult]]:
        """The results by system and canonical name of the metric, at the fraction that all systems have."""
        return {
            name: {key: metric.rows[name][self.fraction] for key, metric in self.metrics.items()}
            for name in self.runs
        }

    def metric(self, name: str) -> MetricResults:
        """Return a metric by its canonical name or as typed; ConfigError if it is unknown."""
        for metric in self.metrics.values():
            if name in (metric.name, metric.typed):
                return metric
        raise ConfigError(f"unknown metric {name!r}; {did_you_mean(name, self.metrics)}")

    def runs_of(self, system: str, fraction: int | None = None) -> Sequence[Sequence[Run]]:
        """Return a system's runs, for each fold that of each seed, by default at ``fraction``.

        Raises
        ------
        ConfigError
            If the system is unknown or was not trained on that fraction.
        """
        if system not in self.runs:
            raise ConfigError(f"unknown system {system!r}; {did_you_mean(system, self.runs)}")
        fraction = self.fraction if fraction is None else fraction
        if fraction not in self.runs[system]:
            known = ", ".join(map(str, self.runs[system]))
            raise ConfigError(f"{system}: no results of {fraction} % of the training lists, found {known}")
        return self.runs[system][fraction]

    @cached_property
    def _by_fraction(self) -> dict[int, BootstrapTable]:
        return {}

    def bootstrap_table(self, fraction: int | None = None) -> BootstrapTable:
        """Return the statistics at a fraction of the training lists, by default that of comparisons.

        The first stage is among them unless every two systems of one set are compared, which needs no
        reference.
        """
        fraction = self.fraction if fraction is None else fraction
        if fraction not in self._by_fraction:
            rows: dict[str, list[Statistics]] = {}
            for name, of in self.runs.items():
                by_fold: list[list[list[Floats]]] = [[] for _ in self.parts]
                for part, runs, seeds in zip(self.parts, of.get(fraction, ()), by_fold, strict=False):
                    for run in runs:  # scores are ranked once for metrics of one kind
                        judges = list(part.judges.values())
                        seeds.append(
                            statistics(judges, part.lists.from_input_order(run.scores))
                            if run.known is None
                            else list(run.known.statistics)
                        )
                if fraction in of:
                    rows[name] = _by_metric(by_fold)
            compared = self.all_pairs and self.baseline != FIRST_BEST and len(self.parts) == 1
            if not compared and self.has_first_best:
                firsts = [[[one for one in part.first_best if one is not None]] for part in self.parts]
                rows[FIRST_BEST] = _by_metric(firsts)
            judges_of = [metric.judges for metric in self.metrics.values()]
            judged = [part.judged for part in self.parts]
            own = self.judging
            self._by_fraction[fraction] = BootstrapTable(judges_of, rows, judged, own.samples, own.seed)
        return self._by_fraction[fraction]

    def list_keys(self) -> list[tuple[str, str]]:
        """Return the fold and the id of each list, in the order of ``list_values``."""
        return [(part.name, part.lists.list_id(i)) for part in self.parts for i in range(part.lists.n_lists)]

    def list_values(self, system: str, metric: str, fraction: int | None = None) -> Floats:
        """Return each list's value, float64 (n_lists of all parts); NaN if a list does not count.

        Statistics of several seeds are averaged for each list. "first_best" is the first stage.

        Raises
        ------
        ConfigError
            If a name is unknown, or the lists have no first stage's order.
        """
        if system != FIRST_BEST:
            self.runs_of(system, fraction)
        elif not self.has_first_best:
            raise ConfigError(f"{self.parts[0].lists.source}: the lists have no order of their own")
        return self.bootstrap_table(fraction).list_values(system, self.metric(metric).place)

    def per_list(self, system: str | None = None) -> Iterator[tuple[str, str, str, float]]:
        """Yield rows (list id, system, metric, value) of one system, or of all and first-best.

        Lists that do not count are skipped.

        Raises
        ------
        ConfigError
            If the system is unknown.
        """
        keys = self.list_keys()
        for name in self.bootstrap_table().rows if system is None else [system]:
            for metric in self.metrics:
                for (_, list_id), value in zip(keys, self.list_values(name, metric).tolist(), strict=True):
                    if value == value:
                        yield list_id, name, metric, value

    def remarks(self) -> list[str]:
        """Return the notes, and caveats: which folds or lists the means leave out."""
        sizes = [part.lists.n_lists - part.unjudged for part in self.parts]
        judged = sum(sizes)
        notes = list(self.notes)
        if max(sizes) == 1 < judged:
            notes.append("no fold has two judged lists: intervals and the bootstrap's p show nothing")
        for metric in self.metrics.values():
            notes += _lacking(metric, len(self.parts), judged)
        n = sum(1 for _ in shared_ids([part.lists for part in self.parts]))
        if n:  # these lists were found to differ, or the results had been refused
            ids = count(n, "list id is", "list ids are")
            notes.append(f"{ids} in several folds, with other contents: taken as different lists")
        return notes


def _by_metric(by_fold: Sequence[Sequence[Sequence[Floats]]]) -> list[Statistics]:
    """Statistics of each fold, seed and metric by metric, fold and seed."""
    n_metrics = len(by_fold[0][0])
    return [tuple(tuple(seed[m] for seed in seeds) for seeds in by_fold) for m in range(n_metrics)]


def _lacking(metric: MetricResults, n_folds: int, judged: int) -> list[str]:
    """Notes on folds, lists and systems without a value by a metric."""
    typed, left_out = metric.typed, metric.folds_left_out
    notes = []
    if len(left_out) == n_folds:
        notes.append(f"{typed}: no list counts, so that there is no value")
    elif left_out:
        rest = count(n_folds - len(left_out), "fold")
        notes.append(f"{typed}: no list of fold {some(left_out)} counts; means are over the other {rest}")
    if metric.lists < judged:
        notes.append(f"{typed}: judges {metric.lists} of the {judged} judged lists")
    for name, by_fraction in metric.rows.items():
        if len(left_out) < n_folds and any(row.value != row.value for row in by_fraction.values()):
            notes.append(f"{typed}: {name} has no value in a fold, so that there is no mean")
    return notes


def switched_lists(judge: ReportJudge, scores: Scores) -> int | None:
    """Return the judged lists whose choice is not the first stage's; None if the metric chooses no item."""
    stage = judge.stage
    if not isinstance(stage, Selection) or stage.first_best is None:
        return None
    chosen, first = stage.place(scores), stage.first_best
    both = (chosen >= 0) & (first >= 0)  # otherwise nothing was returned
    places = np.where(both, chosen, 0), np.where(both, first, 0)
    return int(np.count_nonzero(differ(stage.lists, *places) & judge.judged))


def plain(value: Any) -> Any:
    """Return a value of mappings, sequences and numbers for JSON: NaN and infinities become None."""
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
