"""Fitting: scaling, judges, keep margin, gains and runs over seeds around a learner's own ``fit``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rerank import memory, parallel
from rerank.data.alignment import aligned
from rerank.data.judge import Judge, Metric, SelectingJudge, corpus_value
from rerank.data.labels import label_copies
from rerank.data.leads import checked_margin, first_best_items
from rerank.data.lists import CandidateLists
from rerank.data.overlap import sketch
from rerank.data.ranges import uneven_columns
from rerank.data.scaling import AUTO, Scaling, fit_scaling
from rerank.data.types import Floats
from rerank.errors import ConfigError, DataNote
from rerank.evaluation.gains import Use, gain
from rerank.evaluation.variance import Variance, variance
from rerank.learners.base import Learner
from rerank.metrics.base import parse
from rerank.models.base import Model
from rerank.models.keep_margin import margin_effect, tune_margin
from rerank.models.training import SeedsRecord
from rerank.models.weights import NamedWeights, initial_for

_RUN_BYTES = 4096  # of a model beside its weights
Margin = float | Literal["auto"] | None


@dataclass(frozen=True, eq=False)
class Part:
    """Scaled lists with the columns of the model, and the judge of the watched metric, None without one."""

    name: str
    lists: CandidateLists
    judge: Judge | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """What one or several learners are fitted to; ``source`` are the training lists as given."""

    source: CandidateLists
    train: Part
    dev: Part | None
    scaling: Scaling | None
    initial: Floats | None = None

    def fit(self, learner: Learner, keep_margin: Margin = None) -> Model:
        """Return the learner's model with its keep margin and a complete training record.

        Parameters
        ----------
        learner : what is fitted.
        keep_margin : lead over the first-best that takes its place, "auto" = tuned on the dev lists.

        Raises
        ------
        ConfigError, DataError, FitError
            If the margin cannot be set, or the learner cannot be fitted to the lists.
        """
        dev = self.dev
        if keep_margin is not None:
            _check_margin(keep_margin, self.train, dev)
        watched = None if dev is None or dev.judge is None else (dev.lists, dev.judge)
        train, initial = self.train, self.initial
        model = learner.fit(train.lists, judge=train.judge, dev=watched, initial=initial)
        model.scaling = self.scaling
        model.training.learner = learner.name
        model.training.settings = learner.get_params()
        size = {"lists": self.source.n_lists, "items": self.source.n_items}
        data = model.training.data.model_copy(
            update={"fingerprint": self.fingerprint, "sketch": self.sketch, **size}
        )
        model.training.data = data
        if self.train.judge is not None:
            metric = {"metric": self.train.judge.name}
            model.training.rounds = model.training.rounds.model_copy(update=metric)
        if keep_margin is not None:
            _set_margin(model, keep_margin, dev)
        _note_gains(model, self.train, "fit")
        if dev is not None:
            by_dev = keep_margin == "auto" or model.training.settings.get("keep") == "best"
            _note_gains(model, dev, "fit" if self.dev_is_train else "choice" if by_dev else "none")
        return model

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the training lists as given, which every model records."""
        return self.source.fingerprint()

    @cached_property
    def sketch(self) -> str:
        """Hashes of single training lists as given, which every model records."""
        return sketch(self.source)

    @cached_property
    def dev_is_train(self) -> bool:
        """Whether the dev lists are the training lists; they are hashed only if their sizes agree."""
        if self.dev is None or not np.array_equal(self.dev.lists.offsets, self.train.lists.offsets):
            return False
        return self.dev.lists.fingerprint() == self.train.lists.fingerprint()

    @property
    def chooser(self) -> Part:
        """The lists on which runs are compared: the dev lists, or without them the training lists."""
        return self.train if self.dev is None else self.dev


def scaling_for(learner: Learner, scaling: str, lists: CandidateLists) -> str:
    """Return the scaling that ``auto`` stands for, or ``scaling`` itself if it is another name.

    A DataNote warns if the learner gets features of very different ranges as they are.

    Parameters
    ----------
    learner : what will be fitted.
    scaling : a name of ``rerank list scalings``.
    lists : training lists.
    """
    if scaling == AUTO:
        scaling = learner.scaling_of(lists)
    found = None if scaling != "none" or learner.scale_invariant else uneven_columns(lists)
    if found is not None:
        (small, least), (large, most) = found
        ranges = f"{least:.3g} (feature {small!r}) to {most:.3g} (feature {large!r})"
        advice = f"no scaling is applied, but learner {learner.name} depends on it (--scaling zscore)"
        warnings.warn(f"{lists.source}: ranges within lists are {ranges}; {advice}", DataNote, stacklevel=4)
    return scaling


def prepare(
    lists: CandidateLists,
    dev: CandidateLists | None,
    metric: str | Metric | None,
    scaling: str,
    initial: NamedWeights | None = None,
) -> Prepared:
    """Fit the scaling, align the columns of the dev lists and the initial weights, prepare the judges.

    Parameters
    ----------
    lists, dev : training and development lists.
    metric : what is watched; needed with ``dev``.
    scaling : a name of ``rerank list scalings`` except auto, see ``scaling_for``.
    initial : weights of the raw features to start from.

    Raises
    ------
    ConfigError, DataError
        If dev lists are given without a metric, or lists, metric and scaling do not fit together.
    """
    if dev is not None and metric is None:
        raise ConfigError("development lists are watched by a metric: give one (--metric, metric=)")
    chosen = parse(metric) if isinstance(metric, str) else metric
    if chosen is not None:
        _note_feature_of_metric(lists, chosen.name)
    for name in label_copies(lists):
        text = f"{lists.source}: feature {name!r} is the label, perhaps scaled"
        warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
    fitted = None if scaling == "none" else fit_scaling(scaling, lists)

    def part(name: str, some: CandidateLists) -> Part:
        ready = some if fitted is None else fitted.apply(some)
        return Part(name, ready, None if chosen is None else chosen.prepare(ready))

    train = part("train", lists)
    watched = None if dev is None else part("dev", aligned(dev, lists.names(), "the training lists"))
    start = None if initial is None else initial_for(initial, lists, fitted)
    return Prepared(lists, train, watched, fitted, start)


def _note_feature_of_metric(lists: CandidateLists, metric: str) -> None:
    """Warn if a feature has the same name as the metric: a learner that uses it learns the answer."""

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name)).lower()

    for name in lists.feature_names or ():
        if bare(name) == bare(metric):
            text = f"{lists.source}: feature {name!r} has the same name as the metric {metric}"
            warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=4)


def _check_margin(keep_margin: float | Literal["auto"], train: Part, dev: Part | None) -> None:
    """Raise ConfigError for a margin that cannot be set, before anything is learnt."""
    if keep_margin != "auto":
        checked_margin(keep_margin)
    elif dev is None:
        raise ConfigError("keep_margin=auto is tuned on development lists: give some (--dev, dev=)")
    elif not isinstance(dev.judge, SelectingJudge):
        name = "none" if dev.judge is None else dev.judge.name
        text = f"needs a metric of single candidates (BLEU, WER, label@1), {name} judges rankings"
        raise ConfigError(f"keep_margin=auto {text}")
    for part in (train, dev):
        if part is not None:
            first_best_items(part.lists)


def _set_margin(model: Model, keep_margin: float | Literal["auto"], dev: Part | None) -> None:
    """Set the margin of the model, tuned on dev if it is "auto", and record its effect there."""
    if dev is None or not isinstance(dev.judge, SelectingJudge):
        assert keep_margin != "auto", "_check_margin refuses it"
        model.keep_margin = checked_margin(keep_margin)
        return
    scores = model.score_prepared(dev.lists)
    if keep_margin == "auto":
        margin = tune_margin(dev.lists, dev.judge, scores)
    else:
        margin = checked_margin(keep_margin)
    model.keep_margin = margin
    model.training.keep = margin_effect(dev.lists, dev.judge, scores, margin, tuned=keep_margin == "auto")


def _scores(model: Model, lists: CandidateLists) -> Floats:
    """The model's scores of prepared lists."""
    return model.with_keep_margin(lists, model.score_prepared(lists))


def _note_gains(model: Model, part: Part, use: Use) -> None:
    """Record the gains over first-best, the initial weights, and on dev over the model without its margin.

    Only metrics of single candidates have gains.
    """
    lists, judge = part.lists, part.judge
    if not isinstance(judge, SelectingJudge):
        return
    before: dict[str, Floats] = {}
    if lists.first_best is not None:
        before["first-best"] = lists.first_best
    if model.initial is not None and model.initial.any():
        before["initial weights"] = lists.features.scores(model.initial)
    if model.keep_margin is not None and part.name == "dev":
        before["no margin"] = model.score_prepared(lists)
    if not before:
        return
    own = judge.per_list(_scores(model, lists))
    gains = [
        gain(part.name, use, over, judge, judge.per_list(scores), own) for over, scores in before.items()
    ]
    model.training.gains += tuple(found for found in gains if found is not None)


@dataclass(frozen=True, eq=False)
class Runs:
    """Models of one learner by seed, their variance on ``part`` (train or dev), and the chosen seed."""

    models: dict[int, Model]
    part: str
    variance: Variance
    seed: int

    @property
    def model(self) -> Model:
        """The chosen model."""
        return self.models[self.seed]


def fit_seeds(prepared: Prepared, learner: Learner, n: int, keep_margin: Margin = None) -> Runs:
    """Fit ``n`` times, with the learner's seed and those after it, and choose one run by the metric.

    That is the best run on the dev lists; on ties the first wins. Without dev lists it is the median run on
    the training lists, the lower one of two: the best one there is the one that overfits most.

    Parameters
    ----------
    prepared : lists, judges and scaling.
    learner : one that has a seed.
    n : number of runs, 2 or more.
    keep_margin : as for ``Prepared.fit``.

    Raises
    ------
    ConfigError
        If the learner draws nothing, no metric is given, or n is below 2.
    """
    settings = learner.get_params()
    if "seed" not in settings:
        raise ConfigError(f"seeds: learner {learner.name} draws nothing, so it has no seed to vary")
    part = prepared.chooser
    judge = part.judge
    if judge is None:
        raise ConfigError("seeds: runs are compared by a metric: give one (--metric, metric=)")
    if n < 2:
        raise ConfigError(f"seeds: found {n}, expected 2 or more")
    size = 8 * part.lists.n_features + 24 * part.lists.n_lists + _RUN_BYTES
    memory.require(n * size, f"{n:,} runs", "fewer runs need less (--seeds)")
    seeds = [settings["seed"] + k for k in range(n)]
    learners = [(type(learner)(**{**settings, "seed": seed}), keep_margin) for seed in seeds]
    models = parallel.each(prepared.fit, learners, threads=True)
    rows = [judge.per_list(_scores(model, part.lists)) for model in models]
    goodness = np.array([judge.better * corpus_value(judge, row) for row in rows])
    goodness[np.isnan(goodness)] = -np.inf
    worst_first = np.lexsort((-np.arange(n), goodness))
    chosen = worst_first[-1] if prepared.dev is not None else worst_first[(n - 1) // 2]
    found = Runs(dict(zip(seeds, models, strict=True)), part.name, variance(judge, rows), seeds[chosen])
    training = found.model.training
    training.seeds = SeedsRecord(
        first=seeds[0],
        n=n,
        chosen=found.seed,
        by="median" if prepared.dev is None else "best",
        on=part.name,
        **dict(found.variance),
    )
    chosen_on_dev = {"use": "choice"}
    training.gains = tuple(
        one.model_copy(update=chosen_on_dev) if (one.part, one.use) == ("dev", "none") else one
        for one in training.gains
    )
    return found
