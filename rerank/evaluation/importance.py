"""Importance of features: what a metric loses without them, and how certain that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rerank.core.tables.display import Display
from rerank.core.types import Floats
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.bootstrap import BootstrapTable, tests_of
from rerank.evaluation.significance import SEED, bootstrap_sums, interval
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.judges import ReportJudge, nothing_judged


@dataclass(frozen=True)
class Weight:
    """The weight of a feature, in units in which weights compare.

    Attributes
    ----------
    feature : str
    weight : float
        Of the feature as the model scores it, after scaling.
    deviation : float
        The feature's standard deviation within lists, after scaling.
    standardised : float
        Their product: what one deviation of the feature adds to the score.
    share : float
        Its magnitude as a share of the sum over all features.
    """

    feature: str
    weight: float
    deviation: float
    standardised: float
    share: float


@dataclass(frozen=True)
class Drop:
    """How much a metric loses if a feature, or a group of features together, is permuted within each list.

    Attributes
    ----------
    feature : str
        Name of the feature, or the pattern of the group.
    columns : int
        How many features were permuted.
    loss : float
        The mean loss over the repeats, in the metric's units; above 0 if the model is better with it.
    ci : (float, float), optional
        Its percentile interval over resampled lists, for the same repeats.
    sd : float, optional
        Standard deviation of the loss between repeats, None for one repeat.
    """

    feature: str
    columns: int
    loss: float
    ci: tuple[float, float] | None
    sd: float | None


@dataclass(frozen=True)
class Resampling:
    """The bootstrap over lists: how many samples, the level of intervals, the seed."""

    samples: int = 1000
    level: float = 0.95
    seed: int = SEED

    def values(self, judge: ReportJudge, rows: Sequence[Floats]) -> list[Floats]:
        """Return the metric over the same resampled lists (samples), for each of some statistics of lists."""
        judged = np.concatenate([row[judge.judged] for row in rows], axis=1)
        sums = bootstrap_sums(judged, self.samples, self.seed)
        return [np.asarray(judge.score_from_sums(part)) for part in np.split(sums, len(rows), axis=1)]


@dataclass(frozen=True, eq=False)
class Basis:
    """What losses are measured on: lists under a judge, and the value with all features."""

    judge: ReportJudge
    value: float
    n_items: int
    resampling: Resampling

    @property
    def n_lists(self) -> int:
        """The number of lists."""
        return len(self.judge.judged)

    @property
    def unjudged(self) -> int:
        """The number of lists that do not count."""
        return int(np.count_nonzero(~self.judge.judged))

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "lists": self.n_lists,
            "items": self.n_items,
            "unjudged": self.unjudged,
            "metric": self.judge.name,
            "signature": self.judge.signature,
            "value": self.value,
            "resampling": asdict(self.resampling),
        }


class Weights(Display, list[Weight]):
    """The weights of a linear model, one for each feature in its order."""


@dataclass(frozen=True, eq=False, repr=False)
class Permutation(Display):
    """Permutation importance of features, in the order of the model's columns or of the groups."""

    basis: Basis
    repeats: int
    seed: int
    drops: list[Drop]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            **self.basis.as_json(),
            "permutation": {"repeats": self.repeats, "seed": self.seed},
            "features": [asdict(drop) for drop in self.drops],
        }


@dataclass(frozen=True)
class Ablated:
    """A model that was trained without a feature, against the model of all features.

    Attributes
    ----------
    feature : str
        Name of the feature, or the pattern of the group.
    columns : int
        How many features were left out.
    value : float
        The metric of the model without them.
    loss : float
        What the metric loses without them, in its units; above 0 if the model is better with them.
    ci : (float, float), optional
        Its percentile interval over resampled lists.
    p, holm : float, optional
        Two-sided p-value of the paired bootstrap, and corrected for all features by Holm's method.
    wins, ties, losses : int
        Lists on which the model of all features is better, equal and worse.
    """

    feature: str
    columns: int
    value: float
    loss: float
    ci: tuple[float, float] | None
    p: float | None
    holm: float | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, eq=False, repr=False)
class Ablation(Display):
    """Every feature or group left out once, in the order of the columns or of the groups.

    ``on`` is what the models are compared on: "test", or "dev", on which they may have been chosen too.
    """

    basis: Basis
    learner: str
    on: str
    ablated: list[Ablated]

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "learner": self.learner,
            "on": self.on,
            **self.basis.as_json(),
            "features": [asdict(one) for one in self.ablated],
        }


def judge_of(lists: CandidateLists, metric: str, ties: str | None, no_relevant: str) -> ReportJudge:
    """Return the judge of a metric on lists; DataError if none of them is judged."""
    judge = prepare_all(lists, [parse(metric)], ties=ties, no_relevant=no_relevant)[0]
    if not judge.judged.any():
        raise nothing_judged(lists)
    return judge


def drop_of(
    judge: ReportJudge,
    name: str,
    columns: int,
    whole: Floats,
    rows: Sequence[Floats],
    resampling: Resampling,
) -> Drop:
    """Return the loss of a metric from statistics of each list, float64 (n_lists, k).

    Parameters
    ----------
    judge
        Of the metric.
    name, columns
        What was permuted, and how many features it has.
    whole, rows
        The statistics without a permutation, and with that of each repeat.
    resampling
        The bootstrap over lists.
    """
    values = np.array([corpus_value(judge, row) for row in rows])
    losses = judge.better * (corpus_value(judge, whole) - values)
    before, *after = resampling.values(judge, (whole, *rows))
    sampled = judge.better * np.mean([before - one for one in after], axis=0)
    sd = float(np.std(losses, ddof=1)) if len(losses) > 1 else None
    return Drop(name, columns, float(losses.mean()), interval(sampled, resampling.level), sd)


def compared(
    judge: ReportJudge,
    names: Sequence[str],
    columns: Sequence[int],
    whole: Floats,
    rows: Sequence[Floats],
    resampling: Resampling,
) -> list[Ablated]:
    """Return each model without some features against the one of all, by the same resampled lists.

    Parameters
    ----------
    judge
        Of the metric.
    names, columns
        Of each feature or group: its name, and how many features it has.
    whole, rows
        The statistics of each list, float64 (n_lists, k): of the model of all features, and of the others.
    resampling
        The bootstrap over lists.
    """
    models = {"": whole, **{str(i): row for i, row in enumerate(rows)}}
    statistics = {name: [((row,),)] for name, row in models.items()}
    table = BootstrapTable([[judge]], statistics, [judge.judged], resampling.samples, resampling.seed)
    tests = tests_of(table, [("", str(i)) for i in range(len(rows))], 0, resampling.level)
    return [
        Ablated(
            name,
            n,
            test.value_b,
            judge.better * test.difference,
            interval(judge.better * (table.sampled("", 0) - table.sampled(test.b, 0)), resampling.level),
            test.p_bootstrap,
            test.holm,
            test.wins,
            test.ties,
            test.losses,
        )
        for name, n, test in zip(names, columns, tests, strict=True)
    ]
