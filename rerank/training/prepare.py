"""Lists prepared for learners: scaled, with the base score multiplied, columns aligned, judges ready."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote
from rerank.core.types import Floats
from rerank.data.alignment import aligned
from rerank.data.base_scale import BaseScale, ScaledColumn, balancing_scale, checked_scale, column_to_scale
from rerank.data.base_scores import base_column
from rerank.data.feature_ranges import note_uneven
from rerank.data.judge import Metric, PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.missing import Imputation, fill_of, fit_missing, note_empty
from rerank.data.overlap import sketch
from rerank.data.scaling import AUTO, Scaling, fit_scaling
from rerank.data.unjudged import with_level
from rerank.learners.base import Learner, Observer, Watched
from rerank.metrics.base import parse
from rerank.models.base import Model, multiplied
from rerank.models.training import BaseScaleRecord
from rerank.training.side_inputs import NO_SIDE_INPUTS, SideInputs

if TYPE_CHECKING:
    from rerank.models.weights import NamedWeights


@dataclass(frozen=True, eq=False)
class Setup:
    """How lists are prepared for a learner, the same for all training lists and for those of a fold.

    Attributes
    ----------
    metric
        What is optimised and watched, None without one.
    scaling
        A name of ``rerank list scalings`` except auto, see ``scaling_for``.
    base_scale
        What the feature that is the base score is multiplied by, after scaling.
    initial
        Weights of the raw features to start from, with the names of all columns.
    missing
        The policy for missing values, a name of data.missing.POLICIES; None = features stay as they are.
    unjudged
        The label that learners see of unjudged items in judged lists, None = NaN as given. Judges see NaN.
    """

    metric: Metric | None = None
    scaling: str = "none"
    base_scale: BaseScale = 1.0
    initial: NamedWeights | None = None
    missing: str | None = None
    unjudged: float | None = None


@dataclass(frozen=True, eq=False)
class Part:
    """Lists with the columns of the model, and the judge of the watched metric, None without one.

    ``lists`` are filled and scaled: the model scores them. ``learnt`` are what learners see: the same lists,
    with the base score multiplied if there is a base scale, and unjudged items labelled if they count as
    judged.
    """

    name: str
    lists: CandidateLists
    judge: PreparedMetric | None
    learnt: CandidateLists


@dataclass(frozen=True, eq=False)
class Prepared:
    """What one or several learners are fitted to; ``source`` are the training lists as given.

    ``unlabelled`` are the lists to be ranked as learners see them, without labels; ``extras`` has them as
    given.
    """

    source: CandidateLists
    setup: Setup
    train: Part
    dev: Part | None
    scaling: Scaling | None
    scaled_base: ScaledColumn | None = None
    initial: Floats | None = None
    extras: SideInputs = NO_SIDE_INPUTS
    unlabelled: CandidateLists | None = None
    imputation: Imputation | None = None

    def learn(self, learner: Learner, dev: Watched | None = None, observer: Observer | None = None) -> Model:
        """Return the learner's model of the training lists, which scores lists without the base scale."""
        train, base = self.train, self.scaled_base
        _check_base_scale(learner, base)
        model = learner.fit(
            train.learnt,
            judge=train.judge,
            dev=dev,
            list_weights=self.extras.list_weights,
            initial=self.initial,
            observer=observer,
            unlabelled=self.unlabelled,
        )
        if model.feature_names:  # a kernel of trees uses no feature
            model.imputation, model.scaling = self.imputation, self.scaling
        if base is not None:
            model.multiply_weight(base.index, base.factor)
            if model.initial is not None:
                model.initial = multiplied(model.initial, base.index, base.factor)
            feature, auto = self.source.names()[base.index], self.setup.base_scale == "auto"
            model.training.base_scale = BaseScaleRecord(feature=feature, factor=base.factor, auto=auto)
        return model

    def base_factor(self, column: int | None) -> float:
        """Return what learners see the values of a column multiplied by."""
        base = self.scaled_base
        return base.factor if base is not None and base.index == column else 1.0

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
    if scaling == "none" and not learner.scale_invariant:
        note_uneven(lists, f"learner {learner.name}", stacklevel=5)
    return scaling


def check_scaling(learner: Learner, scaling: str, lists: CandidateLists) -> None:
    """Raise ConfigError for a scaling within lists if each list is one example with classes."""
    if learner.reads_classes and scaling.startswith("list-") and lists.n_lists == lists.n_items:
        raise ConfigError(
            f"scaling {scaling}: {lists.source} has one example per list, whose scale is unknown"
        )


def column_of_base(lists: CandidateLists) -> int | None:
    """Return the feature of raw lists that is the base score, or None."""
    found = base_column(lists)
    return None if found is None else found.index


def of_all_columns(initial: NamedWeights, lists: CandidateLists) -> NamedWeights:
    """Return initial weights as ``Setup`` has them: of every column of raw ``lists``, in their order."""
    from rerank.models.weights import NamedWeights, initial_for

    return NamedWeights(lists.names(), initial_for(initial, lists, None), initial.source)


def prepare(
    lists: CandidateLists,
    dev: CandidateLists | None,
    metric: str | Metric | None,
    scaling: str,
    initial: NamedWeights | None = None,
    base_scale: BaseScale = 1.0,
    extras: SideInputs = NO_SIDE_INPUTS,
    missing: str | None = None,
    unjudged: float | None = None,
    owned: bool = False,
) -> Prepared:
    """Fit what fills missing values and the scaling, align columns and initial weights, prepare the judges.

    Parameters
    ----------
    lists, dev : training and development lists.
    metric : what is watched; needed with ``dev``.
    scaling : a name of ``rerank list scalings`` except auto, see ``scaling_for``.
    initial : weights of the raw features to start from.
    base_scale : what the feature that is the base score is multiplied by; see ``Setup``.
    extras : what else learners get.
    missing : the policy for missing values; see ``Setup``.
    unjudged : the label that learners see of unjudged items; see ``Setup``.
    owned : whether nothing else reads the features of ``lists`` and ``dev``; see ``prepared_by``.

    Raises
    ------
    ConfigError, DataError
        If dev lists are given without a metric, or lists, metric and settings do not fit together.
    """
    from rerank.data.describe import label_copies

    base_scale = checked_scale(base_scale)
    if dev is not None and metric is None:
        raise ConfigError("development lists are watched by a metric: give one (--metric, metric=)")
    chosen = parse(metric) if isinstance(metric, str) else metric
    if chosen is not None:
        if not getattr(chosen, "of_scores", True):
            raise ConfigError(f"{chosen.name} is the same for every ranking; watch best@k or Success@k")
        _note_feature_of_metric(lists, chosen.name)
    for name in label_copies(lists):
        text = f"{lists.source}: feature {name!r} is the label, perhaps scaled"
        warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=3)
    fill = fill_of(missing)
    if dev is not None:
        dev = aligned(dev, lists.names(), "the training lists", selection=lists.selection, fill=fill)
    if initial is not None:
        initial = of_all_columns(initial, lists)
    setup = Setup(chosen, scaling, base_scale, initial, missing, unjudged)
    prepared = prepared_by(setup, lists, dev, extras.aligned(lists, fill), owned=owned)
    if prepared.imputation is not None:
        note_empty(prepared.imputation, lists)
    return prepared


def prepared_by(
    setup: Setup,
    lists: CandidateLists,
    dev: CandidateLists | None = None,
    extras: SideInputs = NO_SIDE_INPUTS,
    *,
    owned: bool = False,
) -> Prepared:
    """Return lists prepared by a setup, whatever is fitted to them from ``lists`` alone, without notes.

    ``dev`` and ``extras`` must have the columns of ``lists``; errors are those of ``prepare``. With ``owned``
    features are scaled in place if that is possible: those of ``lists`` and ``dev`` are NaN afterwards.
    """
    known: dict[str, object] = {}
    if owned:
        owned = setup.scaling != "none" and setup.base_scale == 1 and extras.unlabelled is None
    if owned:
        names = ("fingerprint", "sketch", "base_column")
        known = dict(zip(names, (lists.fingerprint(), sketch(lists), column_of_base(lists)), strict=True))
    filling = None if setup.missing is None else fit_missing(setup.missing, lists)

    def filled(some: CandidateLists) -> CandidateLists:
        return some if filling is None else filling.apply(some)

    raw = filled(lists)
    fitted = None if setup.scaling == "none" else fit_scaling(setup.scaling, raw)
    ready = raw if fitted is None else fitted.apply(raw, overwrite=owned)
    base = None
    if setup.base_scale != 1:
        column = column_to_scale(lists)
        factor = balancing_scale(ready, column) if setup.base_scale == "auto" else setup.base_scale
        base = ScaledColumn(column, float(factor))

    def scaled(some: CandidateLists) -> CandidateLists:
        return filled(some) if fitted is None else fitted.apply(filled(some), overwrite=owned)

    def multiplied_in(some: CandidateLists) -> CandidateLists:
        return some if base is None else base.apply(some)

    def part(name: str, some: CandidateLists) -> Part:
        judge = None
        if setup.metric is not None:
            with progress.step(f"computing {setup.metric.name} of the {name} lists"):
                judge = setup.metric.prepare(some)
        counted = some if setup.unjudged is None else with_level(some, setup.unjudged)
        return Part(name, some, judge, multiplied_in(counted))

    watched = None if dev is None else part("dev", scaled(dev))
    given_bare = extras.unlabelled
    unlabelled = None if given_bare is None else multiplied_in(scaled(given_bare))
    start = None
    if setup.initial is not None:
        from rerank.models.weights import for_scaled

        start = for_scaled(_with_indicators(setup.initial, filling), fitted)
    if start is not None and base is not None:
        start = multiplied(start, base.index, 1.0 / base.factor)
    train = part("train", ready)
    prepared = Prepared(lists, setup, train, watched, fitted, base, start, extras, unlabelled, filling)
    vars(prepared).update(known)  # the cached properties of features that are gone
    return prepared


def _with_indicators(initial: NamedWeights, filling: Imputation | None) -> NamedWeights:
    """Initial weights with 0 for each indicator of missing values."""
    from rerank.models.weights import NamedWeights

    added = [] if filling is None else filling.indicators(initial.names)
    weights = np.append(initial.weights, np.zeros(len(added)))
    return NamedWeights([*initial.names, *added], weights, initial.source)


def _check_base_scale(learner: Learner, base: ScaledColumn | None) -> None:
    """Raise ConfigError if a base scale would have no effect on the learner."""
    if base is not None and not learner.takes_base_scale:
        why = (
            "the units of features do not matter to it" if learner.needs_features else "it reads no features"
        )
        raise ConfigError(f"base_scale has no effect on learner {learner.name}: {why}")


def _note_feature_of_metric(lists: CandidateLists, metric: str) -> None:
    """Warn if a feature has the same name as the metric: a learner that uses it learns the answer."""

    def bare(name: str) -> str:
        return "".join(filter(str.isalnum, name)).lower()

    for name in lists.feature_names or ():
        if bare(name) == bare(metric):
            text = f"{lists.source}: feature {name!r} has the same name as the metric {metric}"
            warnings.warn(f"{text}; is it known at prediction?", DataNote, stacklevel=4)
