"""Systems evaluated by several metrics against first-best, random and oracle, with significance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.tables.display import Display
from rerank.core.types import ArrayLike, Floats
from rerank.data.first_best import differ
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.bootstrap import BootstrapTable, judged_by_any, of_one_set
from rerank.evaluation.list_table import ListTable, TopChoices
from rerank.evaluation.metric_values import Values
from rerank.evaluation.significance import SEED
from rerank.evaluation.variance import Variance
from rerank.metrics.base import Metric, parse_all, prepare_all
from rerank.metrics.judges import (
    ReportJudge,
    Scores,
    by_item,
    checked_scores,
    first_stage,
    nothing_judged,
    statistics,
)
from rerank.metrics.selecting import Selection

FIRST_BEST = "first_best"


@dataclass(frozen=True)
class MetricInfo:
    """A metric on these lists.

    Attributes
    ----------
    name, typed : str
        The canonical name, and the name as the user wrote it.
    signature : str
    better : {1, -1}
    digits : int
        Decimals to show.
    first_best : float, optional
        None if the lists have no order of their own.
    random, oracle : float
        NaN if no list counts.
    """

    name: str
    typed: str
    signature: str
    better: int
    digits: int
    first_best: float | None
    random: float
    oracle: float


@dataclass(frozen=True)
class MetricResult:
    """A system by one metric; None if there is nothing to report.

    Attributes
    ----------
    value : float
    ci : (float, float), optional
        Percentile interval.
    gap : float, optional
        Share of the way from first-best to oracle.
    p_bootstrap, p_wilcoxon : float, optional
        Against the baseline.
    wins, ties, losses : int, optional
        Lists that the system wins, ties and loses against the baseline.
    switched : int, optional
        Lists whose chosen item is not first-best, for metrics of one chosen item.
    """

    value: float
    ci: tuple[float, float] | None
    gap: float | None
    p_bootstrap: float | None = None
    p_wilcoxon: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    switched: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Display):
    """The result of ``evaluate``.

    Attributes
    ----------
    n_lists, n_items : int
        Of the whole set.
    unjudged : int
        Lists left out because no metric can judge them.
    metrics : mapping of str to MetricInfo
        By canonical name.
    systems : mapping of str to mapping of str to MetricResult
        By system and canonical metric name.
    baseline : str, optional
        The system that the others are tested against, or "first_best".
    samples, level, seed
        Of the bootstrap.
    list_ids : sequence of str
    list_values : mapping of (str, str) to float64 (n_lists)
        Per-list values by (system or "first_best", canonical metric name); NaN if a list does not count.
    replicas : mapping of str to Variance, optional
        By canonical metric name, if the systems but the baseline are runs of one system.
    choices : TopChoices, optional
        Of the lists one by one, for ``by_list``.
    """

    n_lists: int
    n_items: int
    unjudged: int
    metrics: Mapping[str, MetricInfo]
    systems: Mapping[str, Mapping[str, MetricResult]]
    baseline: str | None
    samples: int
    level: float
    seed: int
    list_ids: Sequence[str]
    list_values: Mapping[tuple[str, str], Floats]
    replicas: Mapping[str, Variance] | None = None
    choices: TopChoices | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the evaluation as plain values for JSON; None replaces absent values and NaN."""
        metrics = {
            info.name: {
                "signature": info.signature,
                "first_best": _number(info.first_best),
                "random": _number(info.random),
                "oracle": _number(info.oracle),
            }
            for info in self.metrics.values()
        }
        systems = [
            {"name": name, "metrics": {metric: _plain(result) for metric, result in results.items()}}
            for name, results in self.systems.items()
        ]
        record = {
            "lists": self.n_lists,
            "items": self.n_items,
            "unjudged": self.unjudged,
            "baseline": self.baseline,
            "bootstrap": {"samples": self.samples, "level": self.level, "seed": self.seed},
            "metrics": metrics,
            "systems": systems,
        }
        if self.replicas is not None:
            record["replicas"] = {name: variance.as_json() for name, variance in self.replicas.items()}
        return record

    def by_list(self) -> ListTable:
        """Return a row for each list: its items, its best label, what each system chose, and its values.

        The first stage's ranking comes first, called "first_best".

        Raises
        ------
        ConfigError
            If there is no system.
        """
        names = sorted({system for system, _ in self.list_values}, key=[FIRST_BEST, *self.systems].index)
        if not names or self.choices is None:
            raise ConfigError("by list: found no system, expected one at least")
        infos = self.metrics
        corpus = {(FIRST_BEST, metric): info.first_best for metric, info in infos.items()}
        corpus |= {
            (name, metric): result.value
            for name, results in self.systems.items()
            for metric, result in results.items()
        }
        return ListTable(
            self.list_ids,
            self.choices,
            {metric: info.digits for metric, info in infos.items()},
            {(name, metric): self.list_values[name, metric] for name in names for metric in infos},
            corpus,
            tuple(info.signature for info in infos.values()),
        )

    def per_list(self, name: str | None = None) -> Iterator[tuple[str, str, str, float]]:
        """Yield rows (list id, system, metric, value) of one system, or of all and first-best.

        Lists that do not count are skipped.

        Raises
        ------
        ConfigError
            If the system is unknown.
        """
        known = list(dict.fromkeys(system for system, _ in self.list_values))
        if name is not None and name not in known:
            raise ConfigError(f"unknown system {name!r}; {did_you_mean(name, known)}")
        for system in known if name is None else [name]:
            for metric in self.metrics:
                for list_id, value in zip(
                    self.list_ids, self.list_values[system, metric].tolist(), strict=True
                ):
                    if value == value:
                        yield list_id, system, metric, value


def evaluate(
    lists: CandidateLists,
    systems: Mapping[str, ArrayLike],
    metrics: Sequence[str],
    *,
    baseline: str | None = None,
    ties: str | None = None,
    no_relevant: str = "zero",
    missing_lists: str | None = None,
    missing: str | None = None,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = SEED,
    replicas: bool = False,
) -> Evaluation:
    """Judge systems by several metrics.

    Parameters
    ----------
    lists : CandidateLists
    systems : mapping of str to array_like (n_items)
        Scores by name, in the order of the caller's rows (see ``Model.score``); larger is better,
        NaN = not returned.
    metrics : sequence of str
    baseline : str, optional
        The system that the others are tested against; by default the first stage's ranking if there is one.
    ties, no_relevant : str, optional
        See ``Preparation``.
    missing_lists : str, optional
        How lists count of which a system returned nothing, for the signatures; see ``prepare_all``.
    missing : str, optional
        What took the place of scores that a system lacks, for the signatures.
    samples, level, seed
        Resamples of the judged lists for the intervals of ``level`` and the bootstrap's p-values.
    replicas : bool
        Whether the systems but the baseline, two at least, are runs of one system with different seeds.

    Raises
    ------
    ConfigError
        If a name or setting is unknown.
    DataError
        If scores do not fit or nothing is judged.
    """
    if baseline is not None and baseline not in systems:
        raise ConfigError(f"unknown baseline {baseline!r}; {did_you_mean(baseline, systems)}")
    if FIRST_BEST in systems:
        raise ConfigError(f"{FIRST_BEST!r} names the first stage's ranking; call the system something else")
    runs = [name for name in systems if name != baseline]
    if replicas and len(runs) < 2:
        raise ConfigError(f"replicas: found {len(runs)}, expected two or more score files of one system")
    typed = parse_all(metrics)
    judges = prepare_all(
        lists,
        typed.values(),
        ties=ties,
        no_relevant=no_relevant,
        missing_lists=missing_lists,
        missing=missing,
    )
    judged = judged_by_any(judges)
    if not judged.any():
        raise nothing_judged(lists)
    ranked = by_item(lists, systems)
    rows = {name: statistics(judges, scores) for name, scores in ranked.items()}
    firsts = [first for judge in judges if (first := judge.first_best()) is not None]
    if len(firsts) == len(judges):
        rows[FIRST_BEST] = firsts
    first = first_stage(lists) if FIRST_BEST in rows else None
    against = FIRST_BEST if baseline is None and FIRST_BEST in rows else baseline
    table = of_one_set(judges, rows, judged, samples, seed)
    infos = {judge.name: _info(judge, text) for judge, text in zip(judges, typed, strict=True)}
    return Evaluation(
        n_lists=lists.n_lists,
        n_items=lists.n_items,
        unjudged=int(np.count_nonzero(~judged)),
        metrics=infos,
        systems={
            name: {
                info.name: replace(
                    _result(table, name, m, info, against, level), switched=_switched(judges[m], scores)
                )
                for m, info in enumerate(infos.values())
            }
            for name, scores in ranked.items()
        },
        baseline=against,
        samples=samples,
        level=level,
        seed=seed,
        list_ids=[lists.list_id(i) for i in range(lists.n_lists)],
        list_values={
            (name, info.name): table.list_values(name, m)
            for name in rows
            for m, info in enumerate(infos.values())
        },
        replicas={judge.name: table.variance(runs, m, level) for m, judge in enumerate(judges)}
        if replicas
        else None,
        choices=TopChoices.of(lists, ranked if first is None else {FIRST_BEST: first, **ranked}),
    )


def values(
    lists: CandidateLists,
    scores: ArrayLike,
    metrics: Sequence[str],
    *,
    ties: str | None = None,
    no_relevant: str = "zero",
    missing_lists: str | None = None,
    missing: str | None = None,
) -> Values:
    """Return the metrics of one ranking, by their names as typed; NaN if no list counts.

    Parameters
    ----------
    lists : CandidateLists
    scores : array_like (n_items)
        In the order of the caller's rows (see ``Model.score``); larger is better,
        NaN = not returned.
    metrics : sequence of str
    ties, no_relevant, missing_lists, missing : str, optional
        See ``prepare_all``.

    Raises
    ------
    ConfigError
        If a metric or an option is unknown.
    DataError
        If scores or columns do not fit, or no list is judged.
    """
    typed: dict[str, Metric] = parse_all(metrics)
    judges = prepare_all(
        lists,
        typed.values(),
        ties=ties,
        no_relevant=no_relevant,
        missing_lists=missing_lists,
        missing=missing,
    )
    ranking = checked_scores(scores, lists.n_items, partial=True)
    if not judged_by_any(judges).any():
        raise nothing_judged(lists)
    found = statistics(judges, lists.from_input_order(ranking))
    measured = {
        text: corpus_value(judge, per_list)
        for text, judge, per_list in zip(typed, judges, found, strict=True)
    }
    return Values(measured, judges)


def _result(
    table: BootstrapTable, name: str, m: int, info: MetricInfo, against: str | None, level: float
) -> MetricResult:
    value = table.value(name, m)
    tests = {} if against is None or against == name else asdict(table.compare(name, against, m))
    return MetricResult(value, table.interval(name, m, level), gap_of(value, info), **tests)


def _switched(judge: ReportJudge, scores: Scores) -> int | None:
    """Judged lists whose choice is not the first stage's; None if the metric chooses no item."""
    stage = judge.stage
    if not isinstance(stage, Selection) or stage.first_best is None:
        return None
    chosen, first = stage.place(scores), stage.first_best
    both = (chosen >= 0) & (first >= 0)  # otherwise nothing was returned
    places = np.where(both, chosen, 0), np.where(both, first, 0)
    return int(np.count_nonzero(differ(stage.lists, *places) & judge.judged))


def _info(judge: ReportJudge, typed: str) -> MetricInfo:
    first = judge.first_best()
    return MetricInfo(
        name=judge.name,
        typed=typed,
        signature=judge.signature,
        better=judge.better,
        digits=judge.digits,
        first_best=None if first is None else corpus_value(judge, first),
        random=judge.random(),
        oracle=judge.oracle(),
    )


def gap_of(value: float, info: MetricInfo) -> float | None:
    """Return the share of the way from first-best to oracle; None if these are equal or unknown."""
    if info.first_best is None:
        return None
    way = info.oracle - info.first_best
    return (value - info.first_best) / way if abs(way) > 1e-12 and np.isfinite(value) else None


def _plain(result: MetricResult) -> dict[str, Any]:
    plain = asdict(result)
    plain["value"] = _number(result.value)
    plain["ci"] = None if result.ci is None else list(result.ci)
    if result.switched is None:
        del plain["switched"]
    return plain


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
