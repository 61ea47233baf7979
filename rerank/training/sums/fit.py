"""One model of the shards of a sharded store: on the workers of a cluster, or on threads here."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_fields
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from rerank.core import checkpoints, progress
from rerank.core.errors import ConfigError, FitError, os_error
from rerank.core.types import Floats
from rerank.core.workers import parallel
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.data.missing import fit_missing
from rerank.data.reading import FITTED, DataSection
from rerank.data.scaling import Scaling, fit_scaling
from rerank.data.shards.manifest import Manifest, is_sharded, manifest_hash, read_manifest
from rerank.formats.sources import is_path
from rerank.learners.base import LEARNERS, FitInputs, NothingToLearnError
from rerank.learners.sums.parts import Parts, SummingLearner
from rerank.metrics.base import parse
from rerank.models.base import Model
from rerank.models.pipeline import Chain
from rerank.training.data import SideInputs, Split, TrainingData
from rerank.training.fit import fit_one
from rerank.training.pipeline import Pipeline, align, for_dev
from rerank.training.steps.features import FillMissing, ScaleFeatures
from rerank.training.sums.answers import Answers
from rerank.training.sums.survey import Survey, scaling_of, sketch_of, survey, unjudged_record
from rerank.training.sums.work import Work, answers, forget

T = TypeVar("T")
# Keys of the section ``data`` that a fit over shards takes; those of dev lists, too.
_TAKEN = ("train", "dev", "features", "missing", "init", "format")
_GLOBAL = ("minmax", "zscore")  # scalings that need statistics of all items


def heading_of(pipeline: Pipeline, data: Any) -> CandidateLists:
    """Return the first list of a sharded store whose shards can be trained on wherever they are.

    It has the features and the source of all lists; ``fit_shards`` takes it.

    Parameters
    ----------
    pipeline : what is trained.
    data : the path of the store, or a sequence of it alone.

    Raises
    ------
    ConfigError
        If the data is something else, the learner does not sum, or an option needs all lists at once.
    FormatError
        If the store is faulty; it names the first shard.
    """
    options, learner = pipeline.options, pipeline.learner
    paths = (data,) if is_path(data) else data
    if (
        isinstance(paths, CandidateLists)
        or len(paths) != 1
        or not is_path(paths[0])
        or not is_sharded(paths[0])
    ):
        advice = "write one (rerank convert DATA --shards 256MB --out DIR)"
        found = f"one fit is spread over the shards of one sharded store: {advice}"
        raise ConfigError(f"cluster: {found}; --seeds, --select or --tune-base folds make several fits")
    if not learner.sums:
        known = ", ".join(name for name in LEARNERS.names() if LEARNERS.get(name).sums)
        found = f"learner {learner.name} cannot be fitted shard by shard; those that can: {known}"
        raise ConfigError(f"cluster: {found}; without a cluster every learner takes sharded stores")
    usual = DataSection()
    unused = [
        f"data.{name}" for name in DataSection.settings if name not in _TAKEN and not name.startswith("dev_")
    ]
    unused = [name for name in unused if getattr(options.data, name[5:]) != getattr(usual, name[5:])]
    steps = [
        step for step in pipeline.steps if step.active and not isinstance(step, FillMissing | ScaleFeatures)
    ]
    missing, scaling = pipeline.get(FillMissing).missing, pipeline.get(ScaleFeatures).scaling
    unused += [name for step in steps for name in step.settings]
    unused += [f"missing={missing}"] * (missing in FITTED) + ["scaling=rank"] * (scaling == "rank")
    assert isinstance(learner, SummingLearner)
    unused += [name for name in (learner.refused(),) if name is not None]
    if unused:
        raise ConfigError(f"{unused[0]}: not used by a fit over shards on a cluster")
    raw = Work("", os.path.realpath(paths[0]), read_stored_manifest(paths[0]))
    return with_fields(raw.lists(0).subset(np.array([0])), source=os.fspath(paths[0]))


class ShardParts(Parts):
    """The result of a learner for each shard that it can learn from; workers keep it.

    Parameters
    ----------
    work : what is asked.
    shards : the numbers of the shards, rising.
    n_lists : lists of all shards, also of those left out.
    judge : the metric; only its ``score_from_sums`` is asked for.
    """

    here = False

    def __init__(
        self, work: Work, shards: Sequence[int], n_lists: int, judge: PreparedMetric | None = None
    ) -> None:
        super().__init__(shards, n_lists, judge)
        self._work = work
        self.answers = Answers(None)
        self._places = Places([one.form.items for one in work.manifest.shards])

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return ``function(part, *arguments)`` of every part, in the order of the shards."""
        groups = self._places.groups(self._parts)
        numbers = {k: number for number, k in enumerate(self._parts)}
        tasks = [
            (self._work, some, own, [numbers[k] for k in some], function, arguments) for some, own in groups
        ]
        found = parallel.each(answers, tasks, threads=True, anywhere=True)
        by = {
            k: value
            for (some, _), part in zip(groups, found, strict=True)
            for k, value in zip(some, part, strict=True)
        }
        return [by[k] for k in self._parts]

    def once(self, asked: Sequence[Floats | float], compute: Callable[[], T]) -> T:
        """Return ``compute()``, or what a checkpoint has kept of it."""
        return self.answers.once(asked, compute)


class Places:
    """The shards of each worker: as many items each as possible, and a shard stays where it is.

    Parameters
    ----------
    items : of each shard.
    """

    def __init__(self, items: Sequence[int]) -> None:
        self._items = items
        self._of: dict[int, str] = {}
        self._workers: list[str] = []

    def groups(self, shards: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """Return for each worker the shards that it is asked for, and those that it keeps.

        Groups are in the order in which the cluster gives tasks to its workers. Here each shard is a group of
        its own, for the next thread that is free, and all are kept.
        """
        if not parallel.remote():
            return [([k], list(shards)) for k in shards]
        workers = parallel.workers()
        if workers != self._workers or not all(k in self._of for k in shards):
            self._assign(shards, workers)
        own: dict[str, list[int]] = {worker: [] for worker in workers}
        for k in shards:
            own[self._of[k]].append(k)
        return [(some, some) for some in own.values()]

    def _assign(self, shards: Sequence[int], workers: list[str]) -> None:
        """Leave shards where they are up to a worker's share; the others go to the one with fewest items."""
        share = -(-sum(self._items[k] for k in shards) // len(workers))
        load, kept = dict.fromkeys(workers, 0), {}
        for k in shards:
            worker = self._of.get(k)
            if worker in load and load[worker] + self._items[k] <= share:
                kept[k] = worker
                load[worker] += self._items[k]
        for k in sorted(set(shards) - kept.keys(), key=lambda k: (-self._items[k], k)):
            worker = min(workers, key=lambda one: load[one])
            kept[k] = worker
            load[worker] += self._items[k]
        self._of, self._workers = kept, workers


def read_stored_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return the manifest of a sharded store; RerankError instead of OSError."""
    try:
        return read_manifest(path)
    except OSError as error:
        raise os_error(os.fspath(path), error) from None


def fit_shards(
    pipeline: Pipeline, heading: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> Model:
    """Return the model of the shards of a sharded store, the same on any number of workers.

    Parameters
    ----------
    pipeline : what is trained.
    heading : of ``heading_of``, with the features that are selected; workers see the store at its source.
    dev : development lists.
    side : initial weights.

    Raises
    ------
    RerankError
        FormatError if a shard is missing or changes, which it names; DataError or FitError if it cannot be
        learnt from; otherwise the errors of workers.
    """
    manifest = read_stored_manifest(heading.source)
    raw = Work("", os.path.realpath(heading.source), manifest, pipeline.options.data.features)
    pipeline = pipeline if dev is None else for_dev(pipeline, dev)
    learner = pipeline.learner  # with dev lists its settings may be others
    assert isinstance(learner, SummingLearner)  # heading_of
    pipeline = pipeline.with_step(pipeline.get(ScaleFeatures).resolve(learner, heading))
    found, chain = _surveyed(pipeline, raw, heading)
    own = tuple(learner.told([one.own for one in found if one.judged or not learner.needs_labels]))
    work = replace(raw, key=uuid.uuid4().hex, chain=chain, learner=learner, surveys=own)
    data = _data(pipeline, heading, chain, *align(pipeline, heading, dev, side))
    judge = None
    if learner.judges_parts and pipeline.metric is not None:
        judge = pipeline.metric.prepare(data.train.lists)
        work = replace(work, metric=pipeline.options.select.metric)
    if learner.needs_judge:
        learner.check_judge(judge)
    with _forgetting():
        parts = _parts(work, heading.source, judge)
        parts.answers = Answers(checkpoints.slot())

        def fit(lists: CandidateLists, **inputs: Any) -> Model:
            return learner.fit_parts(parts, lists, FitInputs(**inputs))

        model = fit_one(data, pipeline, fit)
    _record(model, heading.source, manifest, found)
    model.training.unjudged = unjudged_record(found) if learner.needs_labels else None
    if pipeline.metric is not None and hasattr(model, "weights"):
        _add_train_value(model, pipeline, replace(raw, chain=chain), data.train.lists)
    return model


def _surveyed(pipeline: Pipeline, raw: Work, heading: CandidateLists) -> tuple[list[Survey], Chain]:
    """Return what is known of each shard, and the fitted steps."""
    learner, manifest = pipeline.learner, raw.manifest
    filling, scaling = pipeline.get(FillMissing), pipeline.get(ScaleFeatures).scaling
    last = filling.place > pipeline.get(ScaleFeatures).place
    fill = () if filling.missing is None else (fit_missing(filling.missing, heading),)
    layout, dtype = heading.features.layout, heading.features.dtype.str
    if scaling in _GLOBAL and layout != "dense":
        raise ConfigError(
            f"scaling {scaling}: of {layout} features, not used by a fit over shards on a cluster"
        )
    parts = ShardParts(replace(raw, chain=Chain(() if last else fill)), range(len(manifest.shards)), 0)
    nan = learner.accepts_nan or (last and bool(fill))
    with progress.step("surveying the shards"):
        found: list[Survey] = parts.each(survey, learner, scaling in _GLOBAL, layout, dtype, nan)
    if learner.needs_labels and not any(one.judged for one in found):
        raise FitError(f"{heading.source}: no judged item; learner {learner.name} learns from labels")
    scaled: tuple[Scaling, ...] = ()
    if scaling in _GLOBAL:
        scaled = (scaling_of(scaling, [one.moments for one in found if one.moments is not None], heading),)
    elif scaling != "none":
        scaled = (fit_scaling(scaling, heading),)
    return found, Chain((*scaled, *fill) if last else (*fill, *scaled))


def _parts(work: Work, source: str, judge: PreparedMetric | None) -> ShardParts:
    """The parts of the shards that something can be learnt from."""
    n_lists, shards = work.manifest.n_lists, range(len(work.manifest.shards))
    with progress.step("reading the shards"):
        why = ShardParts(work, shards, n_lists).each(_why_nothing)
    if None not in why:
        raise FitError(str(why[0]).replace(work.place(0), source))
    return ShardParts(work, [k for k in shards if why[k] is None], n_lists, judge)


def _why_nothing(part: Any) -> str | None:
    return str(part) if isinstance(part, NothingToLearnError) else None


def _data(
    pipeline: Pipeline, heading: CandidateLists, chain: Chain, dev: CandidateLists | None, side: SideInputs
) -> TrainingData:
    """Return what is known here of the training lists: their features, and whatever is not of the shards."""
    learnt, watched, initial = chain.apply(heading), None, None
    if dev is not None:
        assert pipeline.metric is not None  # for_dev
        ready = chain.apply(dev)
        watched = Split("dev", ready, pipeline.metric.prepare(ready), ready)
    if side.initial is not None:
        initial = chain.unfold(side.initial.weights, side.initial.names, side.initial.source)
    return TrainingData(heading, Split("train", learnt, None, learnt), watched, chain, Chain(), side, initial)


def _record(model: Model, source: str, manifest: Manifest, found: Sequence[Survey]) -> None:
    """Complete the training record, which knows the heading alone."""
    training = model.training
    sizes = {"lists": manifest.n_lists, "items": manifest.n_items}
    training.data = training.data.with_fields(
        **sizes, fingerprint=manifest_hash(source), sketch=sketch_of(found)
    )


def _add_train_value(model: Any, pipeline: Pipeline, work: Work, lists: CandidateLists) -> None:
    """Record the metric of the model on the training lists."""
    metric, name = pipeline.metric, pipeline.options.select.metric
    assert metric is not None
    assert name is not None
    sums = ShardParts(work, range(len(work.manifest.shards)), 0).each(_metric_sums, name, model)
    judge, total = metric.prepare(lists), sums[0]
    for more in sums[1:]:
        total = total + more
    rounds = model.training.rounds
    known = {"train": float(judge.score_from_sums(total))} if hasattr(rounds, "train") else {}
    model.training.rounds = rounds.with_fields(metric=judge.name, **known)
    model.curve.metric = judge.name


def _metric_sums(lists: CandidateLists, metric: str, model: Model) -> Floats:
    """The summed statistics of a metric under a model."""
    sums: Floats = parse(metric).prepare(lists).per_list(model.score_prepared(lists)).sum(axis=0)
    return sums


@contextmanager
def _forgetting() -> Iterator[None]:
    """Let all workers give their parts up after the block."""
    try:
        yield
    finally:
        n = len(parallel.workers()) if parallel.remote() else 1
        parallel.each(forget, [()] * n, threads=True, anywhere=True)
