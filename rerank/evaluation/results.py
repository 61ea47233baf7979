"""What the systems of an experiment scored on the test lists of each fold, as reports and pages take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rerank.core.errors import ConfigError, DataError
from rerank.core.registry import did_you_mean
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.overlap import check_apart
from rerank.evaluation.bootstrap import Statistics, list_values
from rerank.evaluation.evaluate import FIRST_BEST
from rerank.evaluation.significance import SEED
from rerank.metrics.base import parse_all, prepare_all
from rerank.metrics.judges import ReportJudge, checked_scores, nothing_judged, statistics


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model on the test lists of a fold.

    Attributes
    ----------
    scores : float64 (n_items)
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
    """

    scores: Floats
    seed: int | None = None
    curve: Sequence[Mapping[str, float]] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)
    dev: float | None = None
    rounds: int | None = None


@dataclass(frozen=True, eq=False)
class TestPart:
    """The test lists of a fold.

    Attributes
    ----------
    name : str
        The fold.
    lists : CandidateLists
    judges : mapping of str to ReportJudge
        By metric as typed, in the order of the report.
    """

    name: str
    lists: CandidateLists
    judges: Mapping[str, ReportJudge]

    __test__ = False  # not a test case of pytest, despite its name

    @property
    def has_first_best(self) -> bool:
        """Whether the first stage ranked the lists."""
        return all(judge.first_best() is not None for judge in self.judges.values())

    @classmethod
    def of(
        cls,
        name: str,
        lists: CandidateLists,
        metrics: Sequence[str],
        *,
        ties: str | None = None,
        no_relevant: str = "zero",
        missing_lists: str | None = None,
        missing: str | None = None,
    ) -> TestPart:
        """Return a part whose judges share their work; other options as for ``prepare_all``.

        Raises
        ------
        ConfigError
            If a metric or an option is unknown.
        DataError
            If a needed column is missing.
        """
        typed = parse_all(metrics)
        judges = prepare_all(
            lists,
            typed.values(),
            ties=ties,
            no_relevant=no_relevant,
            missing_lists=missing_lists,
            missing=missing,
        )
        return cls(name, lists, dict(zip(typed, judges, strict=True)))


@dataclass(frozen=True, eq=False)
class Results:
    """Systems, here called rows, on the same test lists.

    Attributes
    ----------
    name : str
        The experiment or the set.
    parts : tuple of TestPart
        A part for each fold; no list is in two of them.
    systems : mapping of str to mapping of int to tuple of tuples of Outcome
        By row and share of the training lists in percent: for each fold, the outcome of each seed.
    baseline : str, optional
        The row that the others are tested against, or "first_best".
    samples, level, seed
        Of the bootstrap.
    notes : tuple of str
        What a reader must know, such as rows that were left out.

    Raises
    ------
    ConfigError
        If the baseline is unknown, or a row is called "first_best".
    DataError
        If a list is in two parts, nothing is judged, or a row lacks a fold or a seed.
    """

    name: str
    parts: tuple[TestPart, ...]
    systems: Mapping[str, Mapping[int, tuple[tuple[Outcome, ...], ...]]]
    baseline: str | None = None
    samples: int = 1000
    level: float = 0.95
    seed: int = SEED
    notes: tuple[str, ...] = ()
    _known: dict[tuple[str, int], dict[str, Statistics]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if FIRST_BEST in self.systems:
            raise ConfigError(f"{FIRST_BEST!r} names the first stage's ranking; call the row something else")
        if self.baseline is not None and self.baseline not in self.systems:
            if self.baseline != FIRST_BEST:
                raise ConfigError(
                    f"unknown baseline {self.baseline!r}; {did_you_mean(self.baseline, self.systems)}"
                )
            if not self.has_first_best:
                raise ConfigError("the baseline is first-best, but the test lists have no order of their own")
        _check_parts(self.parts)
        for system, shares in self.systems.items():
            _check_outcomes(system, shares, self.parts)

    @classmethod
    def of_systems(
        cls,
        lists: CandidateLists,
        systems: Mapping[str, npt.ArrayLike],
        metrics: Sequence[str],
        *,
        name: str | None = None,
        baseline: str | None = None,
        ties: str | None = None,
        no_relevant: str = "zero",
        missing_lists: str | None = None,
        missing: str | None = None,
        samples: int = 1000,
        level: float = 0.95,
        seed: int = SEED,
    ) -> Results:
        """Return the results of score files or arrays: one part, one outcome for each system.

        Parameters
        ----------
        lists : CandidateLists
        systems : mapping of str to array_like (n_items)
            Scores by name, in the order of the caller's rows; larger is better.
        metrics : sequence of str
        name : str, optional
            By default where the lists come from.
        baseline : str, optional
            A system; by default the first stage's ranking if there is one.
        ties, no_relevant, missing_lists, missing : str, optional
            See ``prepare_all``.
        samples, level, seed
            Of the bootstrap.
        """
        part = TestPart.of(
            "",
            lists,
            metrics,
            ties=ties,
            no_relevant=no_relevant,
            missing_lists=missing_lists,
            missing=missing,
        )
        outcomes = {
            system: {100: ((Outcome(_checked(system, scores, lists.n_items)),),)}
            for system, scores in systems.items()
        }
        return cls(
            lists.source if name is None else name,
            (part,),
            outcomes,
            baseline=FIRST_BEST if baseline is None and part.has_first_best else baseline,
            samples=samples,
            level=level,
            seed=seed,
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics as typed."""
        return tuple(self.parts[0].judges)

    @property
    def shares(self) -> tuple[int, ...]:
        """The shares of the training lists that some row was trained on, from the smallest."""
        return tuple(sorted({share for shares in self.systems.values() for share in shares}))

    @property
    def share(self) -> int:
        """The share that rows are compared at: the largest one that every row has."""
        common = set.intersection(*map(set, self.systems.values())) if self.systems else {100}
        if not common:
            raise DataError(f"{self.name}: no share of the training lists is common to all rows")
        return max(common)

    @property
    def has_first_best(self) -> bool:
        """Whether the first stage ranked the lists of every part."""
        return all(part.has_first_best for part in self.parts)

    def list_keys(self) -> list[tuple[str, str]]:
        """Return the fold and the id of each list, in the order of ``per_list``."""
        return [(part.name, part.lists.list_id(i)) for part in self.parts for i in range(part.lists.n_lists)]

    def judge(self, metric: str) -> ReportJudge:
        """Return the first part's judge of a metric: its name, signature, direction and decimals.

        Raises
        ------
        ConfigError
            If the metric is not one of ``metrics``.
        """
        if metric not in self.parts[0].judges:
            raise ConfigError(f"unknown metric {metric!r}; {did_you_mean(metric, self.metrics)}")
        return self.parts[0].judges[metric]

    def statistics(self, system: str, metric: str, share: int | None = None) -> Statistics:
        """Return what a metric sums, for each fold and seed: float64 (n_lists, k) of the fold's lists.

        Parameters
        ----------
        system : str
            A row or "first_best".
        metric : str
            As typed.
        share : int, optional
            By default the largest one that all rows have.

        Raises
        ------
        ConfigError
            If one of them is unknown.
        DataError
            If scores do not fit the lists.
        """
        self.judge(metric)
        share = self.share if share is None else share
        if (system, share) not in self._known:
            self._known[system, share] = self._statistics(system, share)
        return self._known[system, share][metric]

    def _statistics(self, system: str, share: int) -> dict[str, Statistics]:
        """The statistics by all metrics: scores are placed once for judges of one stage."""
        by_fold = []
        for k, part in enumerate(self.parts):
            if system == FIRST_BEST:
                found = [[_first_best(judge, part) for judge in part.judges.values()]]
            else:
                judges = list(part.judges.values())
                found = [
                    statistics(judges, part.lists.from_input_order(outcome.scores))
                    for outcome in self.outcomes(system, share)[k]
                ]
            by_fold.append(found)
        return {
            metric: tuple(tuple(seed[m] for seed in seeds) for seeds in by_fold)
            for m, metric in enumerate(self.metrics)
        }

    def outcomes(self, system: str, share: int | None = None) -> tuple[tuple[Outcome, ...], ...]:
        """Return a row's outcomes, for each fold those of each seed.

        Raises
        ------
        ConfigError
            If the row is unknown or has no such share.
        """
        if system not in self.systems:
            raise ConfigError(f"unknown system {system!r}; {did_you_mean(system, self.systems)}")
        share = self.share if share is None else share
        if share not in self.systems[system]:
            known = ", ".join(map(str, self.systems[system]))
            raise ConfigError(f"{system}: no results of {share} % of the training lists, found {known}")
        return self.systems[system][share]

    def per_list(self, system: str, metric: str, share: int | None = None) -> Floats:
        """Return each list's value, float64 (n_lists of all parts); NaN if a list is not judged.

        Statistics of several seeds are averaged for each list.

        Parameters
        ----------
        system, metric, share
            As in ``statistics``.
        """
        found = self.statistics(system, metric, share)
        return np.concatenate(
            [list_values(part.judges[metric], seeds) for part, seeds in zip(self.parts, found, strict=True)]
        )


def _first_best(judge: ReportJudge, part: TestPart) -> Floats:
    found = judge.first_best()
    if found is None:
        raise ConfigError(f"{part.lists.source}: the lists have no order of their own")
    return found


def _checked(system: str, scores: npt.ArrayLike, n_items: int, where: str = "") -> Floats:
    """Scores as float64 (n_items); DataError with the system's name if they do not fit."""
    try:
        return checked_scores(scores, n_items, partial=True).astype(np.float64, copy=False)
    except DataError as error:
        raise DataError(f"{system}{where}: {error}") from None


def _check_parts(parts: Sequence[TestPart]) -> None:
    """Raise DataError if parts have other metrics, share a list, or nothing is judged."""
    if not parts:
        raise DataError("results need one part of test lists at least")
    for part in parts:
        if list(part.judges) != list(parts[0].judges):
            raise DataError(f"{part.lists.source}: judged by other metrics than {parts[0].lists.source}")
        for metric, judge in part.judges.items():
            first = parts[0].judges[metric].signature
            if judge.signature != first:
                raise DataError(
                    f"{metric} in fold {part.name}: found {judge.signature}, expected "
                    f"{first} as in fold {parts[0].name}"
                )
    if not any(judge.judged.any() for part in parts for judge in part.judges.values()):
        raise nothing_judged(parts[0].lists)
    check_apart([part.name for part in parts], [part.lists for part in parts])


def _check_outcomes(
    system: str, shares: Mapping[int, tuple[tuple[Outcome, ...], ...]], parts: Sequence[TestPart]
) -> None:
    """Raise DataError if a row lacks a fold or a seed, or its scores do not fit."""
    if not shares:
        raise DataError(f"{system}: no results")
    for share, folds in shares.items():
        if len(folds) != len(parts):
            raise DataError(f"{system}: results of {count(len(folds), 'fold')}, expected {len(parts)}")
        seeds = [tuple(outcome.seed for outcome in fold) for fold in folds]
        if not seeds[0] or any(of_fold != seeds[0] for of_fold in seeds):
            raise DataError(f"{system}: its folds at {share} % have different seeds")
        for fold, part in zip(folds, parts, strict=True):
            for outcome in fold:
                where = f" in fold {part.name}" if part.name else ""
                _checked(system, outcome.scores, part.lists.n_items, where)
