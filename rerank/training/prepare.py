"""Training lists prepared for a learner: columns aligned, steps fitted, metrics ready."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rerank.core import progress
from rerank.core.errors import DataNote, FitError
from rerank.core.types import Floats
from rerank.data.alignment import aligned
from rerank.data.arrays import real_array
from rerank.data.base_scores import base_column
from rerank.data.folds import Fold
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists, without_labels
from rerank.data.missing import fill_of
from rerank.data.overlap import sketch
from rerank.learners.base import Observer, Watched, checked_list_weights
from rerank.models.base import Model
from rerank.models.pipeline import Chain
from rerank.training.pipeline import Pipeline
from rerank.training.steps.missing import FillMissing

if TYPE_CHECKING:
    from rerank.models.weights import NamedWeights


@dataclass(frozen=True, eq=False)
class SideInputs:
    """What is given besides training and development lists.

    Attributes
    ----------
    unlabelled
        The lists to be ranked. ``aligned`` and ``of_fold`` remove their labels, texts and references.
    list_weights
        Of the training lists, float64 (n_lists).
    labels
        Of the training lists before they were quantised, float64 (n_items): out-of-fold scores are judged by
        them. None if the lists have their own labels.
    initial
        Weights of raw features to start from; ``aligned`` gives them for every column.
    """

    unlabelled: CandidateLists | None = None
    list_weights: Floats | None = None
    labels: Floats | None = None
    initial: NamedWeights | None = None

    def judged(self, lists: CandidateLists) -> CandidateLists:
        """Return all training lists with the labels that judge out-of-fold scores."""
        return lists if self.labels is None else lists.replace_labels(self.labels)

    def aligned(self, lists: CandidateLists, fill: float = 0.0) -> SideInputs:
        """Return the same for training lists, with their columns; notes are those of ``data.alignment``.

        Columns that the unlabelled lists do not have are ``fill``.

        Raises FitError if weights are not one finite number of 0 or more for each list, or all are 0.
        """
        initial = self.initial
        if initial is not None:
            from rerank.models.weights import NamedWeights, initial_for

            initial = NamedWeights(lists.names(), initial_for(initial, lists, None), initial.source)
        weights = self.list_weights
        if weights is not None:
            weights = checked_list_weights(real_array(weights, "list weights").astype(np.float64), lists)
            if not weights.any():
                raise FitError("list weights: every weight is 0, expected one above 0")
        bare = self.unlabelled
        if bare is not None:
            same = aligned(bare, lists.names(), "the training lists", selection=lists.selection, fill=fill)
            bare = without_labels(same, labels=False)
        return SideInputs(bare, weights, self.labels, initial)

    def of_fold(self, lists: CandidateLists, fold: Fold) -> SideInputs:
        """Return the same for one fold of the training lists: those that are left out are to be ranked.

        Weights are those of its training lists; it judges nothing.
        """
        found = replace(self, labels=None)
        if self.unlabelled is not None:
            found = replace(found, unlabelled=without_labels(lists.subset(fold.test), labels=False))
        if self.list_weights is not None:
            found = replace(found, list_weights=self.list_weights[fold.train])
        return found


NO_SIDE_INPUTS = SideInputs()


@dataclass(frozen=True, eq=False)
class Split:
    """Lists with the columns of the model, and the watched metric prepared for them, None without one.

    ``lists`` went through the steps of stage features: the model scores them. ``learnt`` are what learners
    see: the same lists after the steps of stage view.
    """

    name: str
    lists: CandidateLists
    judge: PreparedMetric | None
    learnt: CandidateLists


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What one or several learners are fitted to.

    Attributes
    ----------
    source : the training lists as given.
    train, dev : training and development lists.
    chain : the fitted steps that the model keeps.
    view : those that only the learner sees.
    side : what else was given, with the columns of the training lists.
    initial : weights of the columns that learners see to start from, float64 (n_features).
    unlabelled : the lists to be ranked as learners see them.
    """

    source: CandidateLists
    train: Split
    dev: Split | None
    chain: Chain
    view: Chain
    side: SideInputs
    initial: Floats | None = None
    unlabelled: CandidateLists | None = None

    def inputs(self, dev: Watched | None = None, observer: Observer | None = None) -> dict[str, Any]:
        """Return what ``Learner.fit`` gets besides the training lists."""
        return {
            "judge": self.train.judge,
            "dev": dev,
            "list_weights": self.side.list_weights,
            "initial": self.initial,
            "observer": observer,
            "unlabelled": self.unlabelled,
        }

    def complete(self, model: Model) -> None:
        """Let a model that a learner returned score lists as they are given."""
        if model.feature_names:  # a kernel of trees uses no feature
            model.chain = self.chain
        self.view.fold_back(model, self.source.names())

    @cached_property
    def base_column(self) -> int | None:
        """The feature that is the base score, or None."""
        return column_of_base(self.source)

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
    def chooser(self) -> Split:
        """The lists on which runs are compared: the dev lists, or without them the training lists."""
        return self.train if self.dev is None else self.dev


def column_of_base(lists: CandidateLists) -> int | None:
    """Return the feature of raw lists that is the base score, or None."""
    found = base_column(lists)
    return None if found is None else found.index


def prepare(
    pipeline: Pipeline,
    lists: CandidateLists,
    dev: CandidateLists | None = None,
    side: SideInputs = NO_SIDE_INPUTS,
    *,
    owned: bool = False,
) -> TrainingData:
    """Fit the steps before the learner to training lists, and prepare the metric.

    Parameters
    ----------
    pipeline : with every step resolved.
    lists : training lists.
    dev, side : with the columns of ``lists``, see ``align``.
    owned : whether nothing reads the features of ``lists`` and ``dev`` afterwards: they are scaled in place
        if that is possible, and are NaN then.

    Raises
    ------
    RerankError
        If a step cannot be fitted, or lists and metric do not fit together.
    """
    features, views = pipeline.stage("features"), pipeline.stage("view")
    owned = owned and side.unlabelled is None and not any(step.reads_raw for step in views)
    known: dict[str, object] = {}
    if owned and features:
        names = ("fingerprint", "sketch", "base_column")
        known = dict(zip(names, (lists.fingerprint(), sketch(lists), column_of_base(lists)), strict=True))
    chain, seen = Chain(), lists
    for step in features:
        fitted = step.fit(seen, lists)
        seen, chain = fitted.apply(seen, overwrite=owned), Chain((*chain.fitted, fitted))
    view, learnt = Chain(), seen
    for step in views:
        fitted = step.fit(learnt, lists)
        learnt, view = fitted.apply(learnt), Chain((*view.fitted, fitted))

    def split(name: str, some: CandidateLists, learnt: CandidateLists) -> Split:
        judge = None
        if pipeline.metric is not None:
            with progress.step(f"computing {pipeline.metric.name} of the {name} lists"):
                judge = pipeline.metric.prepare(some)
        return Split(name, some, judge, learnt)

    watched = None
    if dev is not None:
        ready = chain.apply(dev, overwrite=owned)
        watched = split("dev", ready, view.apply(ready))
    given = side.unlabelled
    unlabelled = None if given is None else view.apply(chain.apply(given))
    initial = None
    if side.initial is not None:
        raw = side.initial
        initial = view.unfold(chain.unfold(raw.weights, raw.names, raw.source), raw.names, raw.source)
    train = split("train", seen, learnt)
    data = TrainingData(lists, train, watched, chain, view, side, initial, unlabelled)
    vars(data).update(known)  # the cached properties of features that are gone
    return data


def align(
    pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> tuple[CandidateLists | None, SideInputs]:
    """Return development lists and side inputs with the columns of training lists; notes warn of others."""
    fill = fill_of(pipeline.get(FillMissing).missing)
    if dev is not None:
        dev = aligned(dev, lists.names(), "the training lists", selection=lists.selection, fill=fill)
    return dev, side.aligned(lists, fill)


def note_leaks(pipeline: Pipeline, lists: CandidateLists) -> None:
    """Warn if a feature is the label, or has the name of the metric: a learner would learn the answer."""
    from rerank.data.labels import label_copies

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name)).lower()

    metric = pipeline.metric
    for name in () if metric is None else lists.feature_names or ():
        if metric is not None and bare(name) == bare(metric.name):
            text = f"{lists.source}: feature {name!r} has the same name as the metric {metric.name}"
            warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
    for name in label_copies(lists):
        text = f"{lists.source}: feature {name!r} is the label, perhaps scaled"
        warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
