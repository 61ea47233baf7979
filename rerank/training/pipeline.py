"""A learner and the steps around it, checked once, and training lists that went through the first steps."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rerank.core import progress
from rerank.core.errors import ConfigError, DataNote
from rerank.core.registry import did_you_mean
from rerank.data.alignment import aligned
from rerank.data.judge import Metric
from rerank.data.lists import CandidateLists
from rerank.data.missing import fill_of
from rerank.data.overlap import sketch
from rerank.learners.base import Learner
from rerank.learners.meta_learner import MetaLearner
from rerank.metrics.base import parse
from rerank.metrics.selecting import SelectingMetric
from rerank.models.pipeline import Chain
from rerank.models.training import Value
from rerank.training.data import NO_SIDE_INPUTS, SideInputs, Split, TrainingData, column_of_base
from rerank.training.options import TrainOptions, learner_of, refuse_with_classes
from rerank.training.steps import AfterStep, Stage, Step, steps_in_order
from rerank.training.steps.features import FillMissing

S = TypeVar("S", bound=Step)

_MOST_CELLS = 10_000


class Pipeline(Struct, frozen=True, eq=False):
    """A learner, the metric that is optimised and watched, and all steps in their order.

    ``options`` has the rest: the grid, on what settings are selected, and seeds.
    """

    options: TrainOptions
    learner: Learner
    metric: Metric | None
    steps: tuple[Step, ...]

    def stage(self, stage: Stage) -> list[Step]:
        """Return the active steps of a stage, in the order in which they run."""
        steps = [step for step in self.steps if step.stage == stage and step.active]
        return sorted(steps, key=attrgetter("place"))

    @property
    def after(self) -> list[AfterStep]:
        """The active steps that change the fitted model."""
        return [step for step in self.steps if isinstance(step, AfterStep) and step.active]

    def get(self, kind: type[S]) -> S:
        """Return the step of a class."""
        return next(step for step in self.steps if isinstance(step, kind))

    def with_step(self, changed: Step) -> Pipeline:
        """Return the pipeline with another step instead of that of the same class."""
        return replace(
            self, steps=tuple(changed if type(one) is type(changed) else one for one in self.steps)
        )

    def resolve(self, lists: CandidateLists) -> Pipeline:
        """Return the pipeline with every step resolved on all training lists, see ``Step.resolve``."""
        return replace(self, steps=tuple(step.resolve(self.learner, lists) for step in self.steps))

    @property
    def spread(self) -> bool:
        """Return whether one fit is spread over the shards of its training lists."""
        return self.options.cluster is not None and not self.several

    @property
    def several(self) -> bool:
        """Return whether there is more than one fit."""
        select = self.options.select
        return self.options.seeds > 1 or select.by != "none" or select.tune_base == "folds"

    @property
    def seed(self) -> int:
        """The seed by which lists are divided: the learner's own, 0 if it has none."""
        return int(self.learner.get_params().get("seed", 0))

    def with_rounds(self, rounds: int | None) -> Pipeline:
        """Return the pipeline of a learner that keeps the last of ``rounds`` rounds or epochs, None = all.

        A learner without them stays the same.
        """
        learner = self.learner
        if not learner.iterates:
            return self
        settings = learner.get_params()
        changes = {"keep": "last", learner.iterates: rounds or settings[learner.iterates]}
        return replace(self, learner=type(learner)(**settings | changes))

    def cells(self) -> Iterator[dict[str, Value]]:
        """Yield the settings of each cell of the grid; the last key varies fastest."""
        grid = self.options.grid
        for values in itertools.product(*grid.values()):
            yield dict(zip(grid, values, strict=True))

    def with_cell(self, settings: Mapping[str, Value]) -> Pipeline:
        """Return the pipeline of one cell; ConfigError if its settings do not fit together."""
        learner, of_steps = self.learner, _step_settings()
        own = {key: value for key, value in settings.items() if key not in of_steps}
        made = learner.copy_with(own, f"grid: learner {learner.name}")
        if (made.reads_classes, made.ranks_classes) != (learner.reads_classes, learner.ranks_classes):
            found = "these settings need other data, or another metric"
            raise ConfigError(f"grid: learner {learner.name}: {found}")
        if made.uses_test_labels != learner.uses_test_labels:
            found = "some of these settings use the labels of test lists"
            raise ConfigError(f"grid: learner {learner.name}: {found}")
        steps = tuple(step.with_settings(settings) for step in self.steps)
        return replace(self, learner=made, steps=steps)


def chooses_rounds(learner: Learner) -> bool:
    """Return whether the number of rounds or epochs of a learner can be selected."""
    return bool(learner.iterates) and learner.observable


def _step_settings() -> list[str]:
    """The settings of steps that a grid may have."""
    return [name for kind in steps_in_order() if kind.in_grid for name in kind.settings]


def pipeline_of(options: TrainOptions, learner: Learner | None = None) -> Pipeline:
    """Return the learner and the steps that ``options`` name.

    Parameters
    ----------
    options : what is trained.
    learner : instead of the one that ``options`` name.

    Raises
    ------
    ConfigError
        At everything that can be refused before lists are read.
    """
    learner = learner_of(options) if learner is None else learner
    select = options.select
    metric = None if select.metric is None else parse(select.metric)
    pipeline = Pipeline(options, learner, metric, tuple(kind.of(options) for kind in steps_in_order()))
    for step in pipeline.steps:
        usual = type(step)()
        changed = [name for name in step.settings if getattr(step, name) != getattr(usual, name)]
        changed += [f"grid: {name}" for name in step.settings if name in options.grid]
        refuse_with_classes(learner, *([] if step.accepts_classes else changed))
    if select.folds is not None and select.tune_base != "folds" and select.by != "cv":
        raise ConfigError(f"folds={select.folds} has no effect without tune_base=folds or select=cv")
    for step in pipeline.steps:
        step.check(learner, metric)
    if metric is not None and learner.reads_classes:
        from rerank.training.class_metrics import check_metric

        check_metric(metric, learner)
    if not getattr(metric, "of_scores", True):
        assert metric is not None
        raise ConfigError(f"{metric.name} is the same for every ranking; watch best@k or Success@k")
    _check_choice(pipeline)
    return pipeline


def for_dev(pipeline: Pipeline, dev: CandidateLists) -> Pipeline:
    """Return what development lists imply where nothing is given.

    The metric is then the first of ``eval``, which is reported. If a metric is given and ``keep`` is not, the
    best round or epoch on these lists is kept, unless settings are chosen on other ones.
    """
    select, learner = pipeline.options.select, pipeline.learner
    if pipeline.metric is None:
        from rerank.evaluation.evaluate import default_metrics

        bare = dev if pipeline.options.data.label is None else dev.replace_labels(None)
        name = default_metrics(bare)[0]
        warnings.warn(f"{dev.source}: watched by {name}, eval's default (--metric)", DataNote, stacklevel=3)
        return pipeline_of(pipeline.options.with_settings(select=select.with_settings(metric=name)), learner)
    given = {*learner.settings_given, *pipeline.options.grid}
    if learner.iterates and "keep" not in given and select.by != "cv":
        learner = learner.copy_with({"keep": "best"}, f"learner {learner.name}")
    return replace(pipeline, learner=learner)


def check_metric_used(pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None) -> None:
    """Raise ConfigError for a metric that training would neither use nor report."""
    metric, learner = pipeline.metric, pipeline.learner
    if metric is None or dev is not None or learner.uses_metric or pipeline.several:
        return
    has_gains = lists.first_best is not None and not isinstance(learner, MetaLearner)
    if not (has_gains and isinstance(metric, SelectingMetric)):
        text = f"metric {metric.name}: not used by learner {learner.name}"
        raise ConfigError(f"{text}; rerank eval --metric {metric.name} reports it")


def _check_choice(pipeline: Pipeline) -> None:
    """Raise ConfigError if there is nothing to choose, or a setting of the grid could not be."""
    learner, grid, on = pipeline.learner, pipeline.options.grid, pipeline.options.select.by
    if on == "none":
        if grid:
            raise ConfigError("grid: compared on dev lists or on folds: add --select dev or --select cv")
        return
    if not grid and not (on == "cv" and chooses_rounds(learner)):
        raise ConfigError(f"select={on}: nothing to select: give a grid (--grid KEY=V1,V2)")
    if on == "cv" and learner.reads_classes:
        advice = "settings for tasks with classes are selected on dev examples (select=dev)"
        raise ConfigError(f"select=cv: {advice}")
    if pipeline.metric is None:
        raise ConfigError(f"select={on} compares by a metric: give one (--metric, metric=)")
    if on == "cv" and "keep" in learner.settings_given and getattr(learner, "keep", "last") != "last":
        chooses = f"select=cv selects the number of {learner.iterates} on folds"
        raise ConfigError(f"{chooses}: leave keep at last")
    for key, values in grid.items():
        _check_key(pipeline, key, values)
    taken = [key for key in grid if key in learner.given_names]
    for step in pipeline.steps:
        taken += [name for name in step.settings if name in grid and getattr(step, name) not in ("auto", 1)]
    if taken:
        raise ConfigError(f"grid: {taken[0]} is also given as a setting: give one of both")
    if np.prod([float(len(values)) for values in grid.values()]) > _MOST_CELLS:
        raise ConfigError(f"grid: more than {_MOST_CELLS:,} cells")
    for settings in pipeline.cells():
        cell = pipeline.with_cell(settings)
        for step in cell.steps:
            step.check(cell.learner, cell.metric)


def _check_key(pipeline: Pipeline, key: str, values: Any) -> None:
    """Raise ConfigError for a key of the grid that no setting has, or for values that are no list."""
    known = [*pipeline.learner.setting_names(pipeline.options.grid), *_step_settings()]
    if key not in known:
        raise ConfigError(f"grid: unknown setting {key!r}; {did_you_mean(key, known)}")
    if key.rpartition(".")[2] == "seed":  # also of a base learner
        raise ConfigError("grid: seeds are varied by --seeds, on equal folds")
    on_folds = pipeline.options.select.by == "cv"
    iterates = pipeline.learner.iterates
    if on_folds and key in ("keep", iterates) and chooses_rounds(pipeline.learner):
        tries = f"tries every number of {iterates}, up to {iterates}"
        raise ConfigError(f"grid: {key}: select=cv {tries}")
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ConfigError(f"grid: {key}: found {values!r}, expected a list of values")
    twice = next((value for i, value in enumerate(values) if value in values[:i]), None)
    if twice is not None:
        raise ConfigError(f"grid: {key}: the value {twice!r} is given twice")


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
    owned : if true, nothing reads the features of ``lists`` and ``dev`` afterwards: they are scaled in place
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
    unlabelled = None if (given := side.unlabelled) is None else view.apply(chain.apply(given))
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
    from rerank.data.describe import label_copies

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
