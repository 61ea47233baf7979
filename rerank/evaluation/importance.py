"""Importance of features: what a metric loses without them, and how certain that is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.tables.data import columns_of, tsv
from rerank.core.tables.display import Display
from rerank.core.tables.table import (
    Column,
    Row,
    Table,
    lists_text,
    p_text,
    signed_interval,
    signed_text,
    value_text,
)
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.evaluation.bootstrap import BootstrapTable, tests_of
from rerank.evaluation.significance import bootstrap_sums, interval
from rerank.evaluation.tables import SIGNIFICANT
from rerank.metrics.base import prepare_all
from rerank.metrics.judges import ReportJudge, nothing_judged
from rerank.metrics.judging import Judging

MOST = 50  # rows of a table unless more are asked for


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
    """Loss of a metric if a feature, or a group of features together, is permuted within each list.

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


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis of the losses: lists under a judge, their bootstrap samples, the value of all features."""

    judge: ReportJudge
    value: float
    n_items: int
    judging: Judging

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
            "resampling": {key: getattr(self.judging, key) for key in ("samples", "level", "seed")},
        }


class _OfFeatures(Display):
    """Results for features: a table of the first ones, and records of all."""

    @abstractmethod
    def tables(self, top: int = MOST) -> list[Table]:
        """Return the first features, the most important first, as a table."""

    def plot(self, top: int = 20, ax: Any = None) -> Any:
        """Draw the ``top`` most important features on axes of matplotlib (None = new ones); return them."""
        from rerank.evaluation.plots import plot_features

        return plot_features(self._features(), top, ax)

    def frame_columns(self) -> dict[str, list[Any]]:
        """Return all features in their order."""
        return columns_of(self.records())

    def tsv(self) -> Iterator[str]:
        """Yield lines of TSV, in the order of the features."""
        records = self.records()
        return tsv(list(records[0]) if records else [], [list(record.values()) for record in records])

    def records(self) -> list[dict[str, Any]]:
        """Return plain values by feature, intervals as two of them."""
        found = [asdict(one) for one in self._features()]
        for record in found:
            if "ci" in record:
                record["low"], record["high"] = record.pop("ci") or (None, None)
        return found

    @abstractmethod
    def _features(self) -> Sequence[Any]: ...


class Weights(_OfFeatures, list[Weight]):
    """The weights of a linear model, one for each feature in its order."""

    def as_json(self) -> list[dict[str, Any]]:
        """Return plain values for JSON."""
        return self.records()

    def tables(self, top: int = MOST) -> list[Table]:
        """Return standardised weights, the heaviest first."""
        order = sorted(self, key=lambda one: -abs(one.standardised))
        columns = (
            Column("feature", ("feature",), left=True),
            Column("weight", ("weight",), _short),
            Column("sd in lists", ("deviation",), _short),
            Column("weight * sd", ("standardised",), _short),
            Column("share", ("share",), _percent),
        )
        rows = tuple(Row((w.feature, w.weight, w.deviation, w.standardised, w.share)) for w in order[:top])
        return [Table(columns, rows, notes=_rest(len(order), top))]

    def _features(self) -> Sequence[Weight]:
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Permutation(_OfFeatures):
    """Permutation importance of features, in the order of the model's columns or of the groups."""

    basis: Basis
    repeats: int
    seed: int
    drops: list[Drop]

    def tables(self, top: int = MOST) -> list[Table]:
        """Return losses by permutation, the largest first."""
        order = sorted(self.drops, key=lambda one: -one.loss)
        digits = self.basis.judge.digits
        sd = Column("sd", ("sd",), partial(value_text, digits=digits))
        columns = (*_columns("feature", "feature"), *_losses(digits), sd)
        rows = tuple(Row((one.feature, one.columns, one.loss, one.ci, one.sd)) for one in order[:top])
        notes = (
            *_rest(len(order), top),
            _value(self.basis),
            f"loss: mean over {count(self.repeats, 'permutation')} of the items within each list, "
            f"seed {self.seed}; sd: between permutations",
            _interval_note(self.basis.judging),
        )
        return [Table(columns, rows, notes=notes, signatures=(self.basis.judge.signature,))]

    def _features(self) -> Sequence[Drop]:
        return self.drops

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
class Ablation(_OfFeatures):
    """Every feature or group left out once, in the order of the columns or of the groups.

    ``on`` is what the models are compared on: "test", or "dev", on which they may have been chosen too.
    """

    basis: Basis
    learner: str
    on: str
    ablated: list[Ablated]

    def tables(self, top: int = MOST) -> list[Table]:
        """Return losses by leaving features out, the largest first."""
        order = sorted(self.ablated, key=lambda one: -one.loss)
        digits = self.basis.judge.digits
        columns = (
            *_columns("left out", "feature"),
            Column(self.basis.judge.name, ("value",), partial(value_text, digits=digits)),
            *_losses(digits),
            Column("p bootstrap", ("p",), p_text),
            Column("p Holm", ("holm",), p_text, star="both"),
            Column("won/tied/lost", ("wins", "ties", "losses"), lists_text),
        )
        rows = []
        for one in order[:top]:
            stars = frozenset([""] if one.holm is not None and one.holm < SIGNIFICANT else [])
            won = one.wins, one.ties, one.losses
            cells = one.feature, one.columns, one.value, one.loss, one.ci, one.p, one.holm, won
            rows.append(Row(cells, stars=stars))
        chosen = "; models may have been chosen on them" if self.on == "dev" else ""
        notes = (
            *_rest(len(order), top),
            f"all features: {_value(self.basis)} of {self.on}{chosen}",
            f"{self.learner} trained with all features and without each, by the same settings and seed",
            _interval_note(self.basis.judging),
            f"p bootstrap: paired bootstrap, two-sided; p Holm: corrected for "
            f"{count(len(order), 'comparison')}, * below {SIGNIFICANT}",
            "won/tied/lost: lists on which all features are better, equal, worse",
        )
        return [Table(columns, tuple(rows), notes=notes, signatures=(self.basis.judge.signature,))]

    def _features(self) -> Sequence[Ablated]:
        return self.ablated

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "learner": self.learner,
            "on": self.on,
            **self.basis.as_json(),
            "features": [asdict(one) for one in self.ablated],
        }


def judging_by(metric: str, settings: Mapping[str, Any]) -> Judging:
    """Return how models are compared by a metric; ConfigError if a setting is not for that."""
    for name in ("baseline", "missing", "missing_lists"):
        if settings.get(name) is not None:
            raise ConfigError(f"{name}: not used for the importance of features")
    return Judging.by(metric, **settings)


def judge_of(lists: CandidateLists, judging: Judging) -> ReportJudge:
    """Return the judge of a metric on lists; DataError if none of them is judged."""
    judge = prepare_all(lists, judging.metrics, judging)[0]
    if not judge.judged.any():
        raise nothing_judged(lists)
    return judge


def drop_of(
    judge: ReportJudge,
    name: str,
    columns: int,
    whole: Floats,
    rows: Sequence[Floats],
    judging: Judging,
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
    judging
        The bootstrap over lists.
    """
    values = np.array([corpus_value(judge, row) for row in rows])
    losses = judge.better * (corpus_value(judge, whole) - values)
    judged = np.concatenate([row[judge.judged] for row in (whole, *rows)], axis=1)
    sums = np.split(bootstrap_sums(judged, judging.samples, judging.seed), 1 + len(rows), axis=1)
    before, *after = (np.asarray(judge.score_from_sums(part)) for part in sums)
    sampled = judge.better * np.mean([before - one for one in after], axis=0)
    sd = float(np.std(losses, ddof=1)) if len(losses) > 1 else None
    return Drop(name, columns, float(losses.mean()), interval(sampled, judging.level), sd)


def compared(
    judge: ReportJudge,
    names: Sequence[str],
    columns: Sequence[int],
    whole: Floats,
    rows: Sequence[Floats],
    judging: Judging,
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
    judging
        The bootstrap over lists.
    """
    models = {"": whole, **{str(i): row for i, row in enumerate(rows)}}
    statistics = {name: [((row,),)] for name, row in models.items()}
    table = BootstrapTable([[judge]], statistics, [judge.judged], judging.samples, judging.seed)
    tests = tests_of(table, [("", str(i)) for i in range(len(rows))], 0, judging.level)
    return [
        Ablated(
            name,
            n,
            test.value_b,
            judge.better * test.difference,
            interval(judge.better * (table.sampled[""][0] - table.sampled[test.b][0]), judging.level),
            test.p_bootstrap,
            test.holm,
            test.wins,
            test.ties,
            test.losses,
        )
        for name, n, test in zip(names, columns, tests, strict=True)
    ]


def _columns(head: str, key: str) -> tuple[Column, Column]:
    """Return columns with the names of permuted or omitted features and their number."""
    return Column(head, (key,), left=True), Column("features", ("columns",))


def _losses(digits: int) -> tuple[Column, Column]:
    """Return columns with the losses of the metric."""
    interval = partial(signed_interval, digits=digits)
    return (
        Column("loss", ("loss",), partial(signed_text, digits=digits)),
        Column("interval", ("low", "high"), interval, bracketed=True),
    )


def _short(value: float) -> str:
    return f"{value:.6g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def _rest(n: int, top: int) -> tuple[str, ...]:
    return (f"... and {n - top} more (--top, --out)",) if n > top else ()


def _value(found: Basis) -> str:
    """The value with all features, and on what."""
    value = f"{found.judge.name} {found.value:.{found.judge.digits}f}"
    left = f" ({count(found.unjudged, 'list')} without a judged item left out)" if found.unjudged else ""
    return f"{value} on {count(found.n_lists, 'list')}, {count(found.n_items, 'item')}{left}"


def _interval_note(drawn: Judging) -> str:
    how = f"{drawn.samples} resamples of the lists, seed {drawn.seed}"
    return f"interval: {100 * drawn.level:g}% percentile, {how}; above 0 the features help"
