"""Record of the training in a model file: typed, so that learners, reports and files agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from rerank.core.errors import DataError
from rerank.core.records import Number, Record, fact
from rerank.core.types import Floats
from rerank.evaluation.variance import Gain, Variance

_BINS, _ZERO = 12, 1e-6  # of statistics of weights
Fact = bool | int | float | str
Value = Fact | None  # of a setting


class DataRecord(Record):
    """The training lists, and what the learner counted in them.

    Attributes
    ----------
    fingerprint
        Hash of the lists as they were given.
    sketch
        Hashes of single lists, by which test lists that were trained on are recognised; see data.overlap.
    lists, items
        How many there were.
    pairs, lists_without_pair
        Pairs of items learnt from, and lists that had none.
    judged, grades
        Judged items, and their distinct labels.
    quantise
        How labels were quantised.
    features
        How the features were selected from those of the file; see data.selection.
    """

    fingerprint: str | None = None
    sketch: str | None = None
    lists: int | None = None
    items: int | None = None
    pairs: int | None = None
    lists_without_pair: int | None = None
    judged: int | None = None
    grades: int | None = None
    quantise: str | None = None
    features: str | None = None


class UnjudgedRecord(Record):
    """The unjudged items of judged training lists.

    Attributes
    ----------
    items, lists
        How many there were, and in how many lists.
    label
        The label that they got, None if they were left out.
    positives_only
        Whether no item was judged as not relevant.
    """

    items: int
    lists: int
    label: float | None = None
    positives_only: bool = False


class UnlabelledRecord(Record):
    """The unlabelled lists that a learner was given besides its training lists: those to be ranked.

    Attributes
    ----------
    fingerprint
        Hash of their features, with the columns of the training lists.
    sketch
        Hashes of single lists, by which other lists are recognised; see data.overlap.
    lists, items
        How many there were.
    """

    fingerprint: str
    sketch: str
    lists: int
    items: int


class ListWeightsRecord(Record):
    """Weights of the training lists that were given.

    Attributes
    ----------
    fingerprint
        Hash of the weights.
    q25, median, q75
        Their quartiles, if their mean is 1.
    effective, zeros
        The effective sample size as a share of the lists, and the share of weights below 1e-6 times the mean.
    """

    fingerprint: str
    q25: Number[float]
    median: Number[float]
    q75: Number[float]
    effective: Number[float]
    zeros: Number[float]


def statistics_of(weights: Floats) -> dict[str, float]:
    """Return figures of importance weights of mean 1 by name (Duh 2009, Table 6.3).

    q25, median, q75
        Quartiles.
    sd
        Standard deviation.
    entropy
        In nats, of the shares of weights in 12 bins of equal width between the extreme weights: 0 if
        one bin holds all, log 12 = 2.48 if all hold the same.
    effective
        The effective sample size as a share of the number of weights: 1 if all are equal.
    zeros
        The share of weights below 1e-6.

    Parameters
    ----------
    weights
        float64 (n), n > 0, not negative.
    """
    q25, median, q75 = np.quantile(weights, (0.25, 0.5, 0.75)).tolist()
    low, high = float(weights.min()), float(weights.max())
    place = np.zeros(len(weights), dtype=np.int64)
    if high > low:
        place = np.minimum((weights - low) / (high - low) * _BINS, _BINS - 1).astype(np.int64)
    shares = np.bincount(place) / len(weights)
    shares = shares[shares > 0]
    return {
        "q25": q25,
        "median": median,
        "q75": q75,
        "sd": float(weights.std()),
        "entropy": max(float(-(shares * np.log(shares)).sum()), 0.0),
        "effective": float(weights.mean() ** 2 / (weights**2).mean()),
        "zeros": float((weights < _ZERO).mean()),
    }


class FitRecord(Record):
    """A fit without rounds: the metric's name and its value on the training lists."""

    train: Number[float | None] = None
    metric: str | None = None


class RoundsRecord(Record):
    """A fit in rounds.

    Attributes
    ----------
    run, kept
        How many rounds there were, and which one became the model, from 1.
    dev
        The metric on the dev lists after that round.
    converged
        Whether the last round made no update.
    init
        Which weights the first round began with (see learners.initial).
    metric
        Name of the metric that was watched.
    """

    told_by = "run"
    run: int
    kept: int
    dev: Number[float | None] = None
    converged: bool | None = None
    init: str | None = None
    metric: str | None = None


class MinimumRecord(Record):
    """A fit by minimising a loss.

    Attributes
    ----------
    iterations, loss
        Steps of the optimiser, and the mean loss that they reached.
    init
        Which weights it began with.
    threshold
        The smallest difference of labels in a pair.
    prior, penalty, C, nonzero
        Weight of the penalty (``prior`` of log-linear models) or of the loss (``C`` of SVMs), and how many
        weights are not zero.
    support
        How many support items there are, of models that have no weights.
    train, dev, metric
        The metric on the training and on the dev lists, and its name.
    """

    told_by = "iterations"
    iterations: int
    loss: Number[float]
    init: str | None = None
    threshold: float | None = None
    prior: float | None = None
    penalty: float | None = None
    C: float | None = None
    nonzero: int | None = None
    support: int | None = None
    train: Number[float | None] = None
    dev: Number[float | None] = None
    metric: str | None = None


class RestartRecord(Record):
    """One restart of a tuner: the metric at its start and at its end, and the work in between."""

    restart: int
    start: Number[float]
    train: Number[float]
    steps: int
    searches: int
    dev: Number[float | None] = None


class SpreadRecord(Record):
    """The weights of one feature in the better half of the restarts; ``sd`` is their standard deviation."""

    feature: str
    min: float
    max: float
    sd: float


class RestartsRecord(Record):
    """A fit by restarts.

    Attributes
    ----------
    train, dev
        The metric of the model on the training and on the dev lists.
    initial, init
        The metric of the initial weights, and which weights they were.
    improved
        Whether the model is better than the initial weights; if not, it is those.
    averaged
        How many restarts' weights the model is the mean of.
    best
        The metric of the best restart.
    """

    told_by = "restarts"
    train: Number[float]
    dev: Number[float | None] = None
    initial: Number[float]
    init: str = fact(key="from")
    improved: bool
    averaged: int
    best: Number[float]
    restarts: tuple[RestartRecord, ...]
    spread: tuple[SpreadRecord, ...]
    metric: str | None = None


class BaseScaleRecord(Record):
    """The factor by which the learner saw ``feature``, the base score, multiplied.

    The weights of the model are those of the feature as it is.
    """

    feature: str
    factor: float
    auto: bool = False


class TunedBaseRecord(Record):
    """Change of the base score's weight after training: by ``factor``, or by adding ``added``.

    Attributes
    ----------
    on
        The dev lists, or out-of-fold scores of the training lists ("folds").
    metric
        What was maximised.
    before, after
        Its value on them with the weight as it was learnt, and with the one in the model.
    folds
        The number of folds.
    """

    on: Literal["dev", "folds"]
    metric: str
    factor: float | None = None
    added: float | None = None
    before: Number[float]
    after: Number[float]
    folds: int | None = None


class CellRecord(Record):
    """One cell of a grid: its settings, and how good it was.

    Attributes
    ----------
    settings
        Settings of the grid by name.
    value
        The metric, after the base score's weight was tuned if it was.
    rounds
        The best number of rounds, None for learners without rounds.
    factor, added
        The change of the base score's weight (see ``TunedBaseRecord``), None if it was not tuned.
    """

    settings: dict[str, Value]
    value: Number[float]
    rounds: int | None = None
    factor: float | None = None
    added: float | None = None


class ChoiceRecord(Record):
    """Settings chosen by a metric, on the dev lists or on out-of-fold scores of the training lists.

    Attributes
    ----------
    chosen
        The cell that became the model, from 1.
    first_best
        The metric of the first stage's own choice, None if it is unknown.
    """

    on: Literal["dev", "folds"]
    metric: str
    chosen: int
    cells: tuple[CellRecord, ...]
    folds: int | None = None
    first_best: Number[float | None] = None


class MarginRecord(Record):
    """Effect of a keep margin on the dev lists.

    Attributes
    ----------
    tuned
        Whether the margin was tuned on them.
    value, without
        The metric with the margin, and without one.
    lists, leading
        Lists, and those in which another item leads the first-best (another text if there are texts,
        see data.leads.differ).
    switched
        Lists in which it leads by more than the margin, and so is chosen.
    gained, lost, unvalued
        Of those, how many are better or worse for it by the metric of the two items on their own, and
        how many have no such value.
    """

    tuned: bool
    value: Number[float]
    without: Number[float]
    lists: int
    leading: int
    switched: int
    gained: int
    lost: int
    unvalued: int


class AbstainRecord(Record):
    """Effect of abstaining on the dev lists: lists whose rankings differ too much stay unadapted.

    Attributes
    ----------
    tuned
        Whether the threshold was chosen on them.
    threshold
        The unadapted ranking of a list is kept if Kendall's tau-b of the two is below this; 1 keeps all.
    metric, value, adapted, unadapted
        The metric's name, and its value with the threshold, of all adapted and of all unadapted rankings.
    lists, kept
        Lists, and those of which the threshold keeps the unadapted ranking.
    improved, harmed
        Of the others, how many are better or worse than unadapted, by the metric of the list alone.
    """

    tuned: bool
    threshold: float
    metric: str
    value: Number[float]
    adapted: Number[float]
    unadapted: Number[float]
    lists: int
    kept: int
    improved: int
    harmed: int


class Choice(Record):
    """The run chosen from several seeds: the best one on dev, or the median one on train."""

    first: int
    n: int
    chosen: int
    by: Literal["best", "median"]
    on: str


class SeedsRecord(Variance, Choice):
    """The chosen run, and how far the runs differ. (Fields of ``Choice`` come first.)"""


AnyFit: TypeAlias = RoundsRecord | RestartsRecord | MinimumRecord | FitRecord
# Learners whose setting "epochs" was called "rounds" in files up to format 3.
_ONLINE = ("mira", "oap-bpm", "perceptron", "prank", "predtron", "uneven-margin")
# Fields that files have only if they are used.
LATER = ("notes", "base_scale", "tune_base", "choice", "abstain", "unlabelled", "list_weights", "unjudged")


def _none_if_empty(value: Any) -> Any:
    return None if value == {} else value


def _renamed(settings: Any, learner: str | None) -> Any:
    """Settings as they are called today, also those of a base learner."""
    if not isinstance(settings, dict):
        return settings
    if learner in _ONLINE:
        return {"epochs" if name == "rounds" else name: value for name, value in settings.items()}
    if isinstance(base := settings.get("base"), dict):
        return settings | {"base": _renamed(base, base.get("name"))}
    return settings


class Training(Record):
    """Origin of a model: enough to train it again, or to see that it was not trained.

    Attributes
    ----------
    learner, settings
        The learner's name and all its settings.
    data, rounds, keep, gains, seeds, base_scale, tune_base, choice, abstain, unlabelled, list_weights
        See the records; ``keep`` is None without a keep margin that was judged on dev, ``seeds`` without
        runs over seeds, ``base_scale`` if it was 1, ``tune_base`` and ``choice`` if nothing was tuned or
        chosen, ``abstain`` unless a transductive method abstains and had dev lists, ``unlabelled`` and
        ``list_weights`` unless the learner was given some.
    unjudged
        See the record; None unless judged lists have unjudged items and the learner learns from labels.
    dev
        Always empty; files of version 0.1 have it.
    notes
        Facts that only this learner has; they are shown as they are.
    """

    learner: str = ""
    settings: dict[str, Any] = fact({})
    data: DataRecord = DataRecord()
    dev: dict[str, Any] = fact({})
    rounds: AnyFit = FitRecord()
    keep: Annotated[MarginRecord | None, _none_if_empty] = None
    gains: tuple[Gain, ...] = ()
    seeds: Annotated[SeedsRecord | None, _none_if_empty] = None
    notes: dict[str, Fact] = fact({})
    base_scale: BaseScaleRecord | None = None
    tune_base: TunedBaseRecord | None = None
    choice: ChoiceRecord | None = None
    abstain: AbstainRecord | None = None
    unlabelled: UnlabelledRecord | None = None
    list_weights: ListWeightsRecord | None = None
    unjudged: UnjudgedRecord | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, unlike those of other records; raises DataError if the value has another type."""
        vars(self)[name], faults = self.fields[name].read(name, value)
        if faults:
            raise DataError(faults[0])

    def _fill(self, given: Mapping[str, Any], prefix: str = "", strict: bool = False) -> list[str]:
        settings = _renamed(given.get("settings", {}), given.get("learner"))
        return super()._fill({**given, "settings": settings}, prefix, strict)

    @property
    def unit(self) -> str:
        """Return the name of an iteration of the learner: "epoch" or "round"."""
        settings = self.settings.get("base") or self.settings
        return "epoch" if "epochs" in settings else "round"

    def as_json(self) -> dict[str, Any]:
        """Return plain values for JSON; what is None is an empty object there."""
        plain = super().as_json()
        whole = {name: plain.get(name, {}) for name in self.fields}
        return {name: value for name, value in whole.items() if value != {} or name not in LATER}


def plain_margin(margin: float | None) -> float | str | None:
    """Return a keep margin as JSON has it, which has no infinity: "inf" instead."""
    return "inf" if margin == math.inf else margin
