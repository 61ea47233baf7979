"""Model selection: cells of a grid and numbers of rounds, on dev or on folds; several seeds; or one fit.

A cell is one combination of the grid's values. With ``select=cv`` every cell is fitted to K parts of the
training lists, and the number of rounds is chosen with it, all by the metric of the pooled out-of-fold
scores; the dev lists play no part. With ``select=dev`` every cell is fitted to all training lists.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from rerank.core import memory, progress
from rerank.core.errors import ConfigError, DataNote, FitError
from rerank.core.workers import parallel
from rerank.data.judge import SelectingJudge, corpus_value, value_of
from rerank.data.lists import CandidateLists
from rerank.evaluation.variance import variance
from rerank.models.base import Model
from rerank.models.training import CellRecord, ChoiceRecord, RoundsRecord, SeedsRecord, Value
from rerank.training.data import NO_SIDE_INPUTS, OutOfFold, SideInputs, Split, TrainingData, column_of_base
from rerank.training.fit import final_scores, fit_one, note_choice_on_dev
from rerank.training.options import refuse_with_classes
from rerank.training.pipeline import Pipeline, align, for_dev, note_leaks, prepare
from rerank.training.steps.tune_base import Change, TuneBase, change_on_folds

_RUN_BYTES = 4096  # of a model beside its weights


class Selected(Struct, frozen=True, eq=False):
    """The model that was selected and, with several seeds, those of all runs by seed."""

    model: Model
    by_seed: dict[int, Model] = field(default_factory=dict)


def select(
    pipeline: Pipeline,
    lists: CandidateLists,
    dev: CandidateLists | None = None,
    side: SideInputs = NO_SIDE_INPUTS,
    *,
    owned: bool = False,
) -> Selected:
    """Fit a pipeline to training lists, once or as often as its options ask for, and select a model.

    Parameters
    ----------
    pipeline : what is done.
    lists, dev : training and development lists.
    side : what else the learner gets.
    owned : if true, one fit may scale the features of ``lists`` and ``dev`` in place: nothing reads them
        afterwards.

    Raises
    ------
    RerankError
        ConfigError, DataError or FitError.
    """
    learner, options = pipeline.learner, pipeline.options
    learner.check_unlabelled(side.unlabelled is not None)
    refuse_with_classes(learner, *["list_weights"] * (side.list_weights is not None))
    refuse_with_classes(learner, *["initial"] * (side.initial is not None))
    if pipeline.spread:
        from rerank.training.sums.fit import fit_shards

        return Selected(fit_shards(pipeline, lists, dev, side))
    pipeline = (pipeline if dev is None else for_dev(pipeline, dev)).resolve(lists)
    if pipeline.metric is not None and learner.reads_classes:
        from rerank.training.class_metrics import watched_classes

        pipeline = replace(pipeline, metric=watched_classes(pipeline.metric, learner, lists, dev))
    note_leaks(pipeline, lists)
    dev, side = align(pipeline, lists, dev, side)
    choice = None
    if options.select.by != "none":
        pipeline, choice = select_cell(pipeline, lists, dev, side)
    data = prepare(pipeline, lists, dev, side, owned=owned and not pipeline.several)
    for step in pipeline.steps:
        step.note(pipeline.learner, data)
    if options.seeds > 1 and not pipeline.learner.draws:
        warnings.warn(f"seeds: {learner.name} draws nothing, trained once", DataNote, stacklevel=2)
    several = options.seeds > 1 and pipeline.learner.draws
    selected = fit_seeds(data, pipeline) if several else Selected(fit_one(data, pipeline))
    if choice is not None:
        for model in selected.by_seed.values() or (selected.model,):
            model.training.choice = choice
            if choice.on == "dev":
                note_choice_on_dev(model.training)
    return selected


def fit_seeds(data: TrainingData, pipeline: Pipeline) -> Selected:
    """Fit with the learner's seed and those after it, and select one run by the metric.

    That is the best run on the dev lists; on ties the first wins. Without dev lists it is the median run on
    the training lists, the lower one of two: the best one there is the one that overfits most.

    Raises
    ------
    ConfigError
        If no metric is given.
    """
    learner, n = pipeline.learner, pipeline.options.seeds
    settings = learner.get_params()
    part = data.train if data.dev is None else data.dev
    judge = part.judge
    if judge is None:
        raise ConfigError("seeds: runs are compared by a metric: give one (--metric, metric=)")
    size = 8 * part.lists.n_features + 24 * part.lists.n_lists + _RUN_BYTES
    memory.require(n * size, f"{n:,} runs", "fewer runs need less (--seeds)")
    seeds = [settings["seed"] + k for k in range(n)]
    made = [type(learner)(**{**settings, "seed": seed}) for seed in seeds]
    runs = [(data, replace(pipeline, learner=one)) for one in made]
    step = ("training with several seeds", "run")
    models = parallel.each(fit_one, runs, threads=True, anywhere=True, step=step)
    rows = [judge.per_list(final_scores(model, part.lists)) for model in models]
    goodness = np.array([judge.better * corpus_value(judge, row) for row in rows])
    goodness[np.isnan(goodness)] = -np.inf
    worst_first = np.lexsort((-np.arange(n), goodness))
    best = int(worst_first[-1] if data.dev is not None else worst_first[(n - 1) // 2])
    training = models[best].training
    training.seeds = SeedsRecord(
        first=seeds[0],
        n=n,
        chosen=seeds[best],
        by="median" if data.dev is None else "best",
        on=part.name,
        **variance(judge, rows).as_dict(),
    )
    note_choice_on_dev(training)
    return Selected(models[best], dict(zip(seeds, models, strict=True)))


class _Outcome(Struct, frozen=True):
    """The metric of a cell, its best number of rounds, and the change of the base score's weight."""

    value: float
    rounds: int | None = None
    change: Change | None = None

    def record(self, settings: dict[str, Value]) -> CellRecord:
        factor, added = (None, None) if self.change is None else (self.change.factor, self.change.added)
        return CellRecord(settings=settings, value=self.value, rounds=self.rounds, factor=factor, added=added)


def select_cell(
    pipeline: Pipeline, lists: CandidateLists, dev: CandidateLists | None, side: SideInputs
) -> tuple[Pipeline, ChoiceRecord]:
    """Return the pipeline of the best cell by the metric; on ties the first cell and its first round win.

    If the base score's weight is tuned on the same lists, cells are compared after it.

    Parameters
    ----------
    pipeline
        What the settings of a cell change.
    lists, dev, side
        See ``select``; with the same columns.

    Raises
    ------
    RerankError
        If a cell's settings do not fit together, a cell cannot be fitted, or no cell has a value.
    """
    on: Literal["dev", "folds"] = "dev" if pipeline.options.select.by == "dev" else "folds"
    cells = list(pipeline.cells())
    trials = [_trial(pipeline.with_cell(settings), on, lists) for settings in cells]
    if on == "folds":
        found, part = _on_folds(trials, lists, side), side.judged(lists)
    else:
        if dev is None:
            raise ConfigError("select=dev compares on development lists: give some (--dev, dev=)")
        found, part = _on_dev(trials, lists, dev, side), dev
    metric = pipeline.metric
    assert metric is not None  # pipeline_of() refuses
    judge = metric.prepare(part)
    goodness = np.array([judge.better * one.value for one in found])
    if np.isnan(goodness).all():
        raise FitError(f"{part.source}: {judge.name} has no value, so no settings can be chosen by it")
    best = int(np.nanargmax(goodness))
    first_best = part.first_best if isinstance(judge, SelectingJudge) else None
    record = ChoiceRecord(
        on=on,
        metric=judge.name,
        chosen=best + 1,
        cells=tuple(one.record(settings) for one, settings in zip(found, cells, strict=True)),
        folds=pipeline.get(TuneBase).n_folds if on == "folds" else None,
        first_best=None if first_best is None else value_of(judge, first_best),
    )
    if on == "dev":
        return trials[best], record
    chosen = trials[best].with_rounds(found[best].rounds)
    if pipeline.options.seeds == 1:  # other seeds have other out-of-fold scores
        chosen = chosen.with_step(replace(chosen.get(TuneBase), known=found[best].change))
    return chosen, record


def _trial(cell: Pipeline, on: str, lists: CandidateLists) -> Pipeline:
    """The pipeline of one cell: with all rounds on folds, with the best round on dev."""
    return (cell.with_rounds(None) if on == "folds" else cell).resolve(lists)


def _on_folds(trials: Sequence[Pipeline], lists: CandidateLists, side: SideInputs) -> list[_Outcome]:
    """Every trial on pooled out-of-fold scores; as many at once as keep all workers busy."""
    from rerank.training.out_of_fold import folds_of, out_of_fold

    found: list[_Outcome] = []
    tuning, metric = trials[0].get(TuneBase), trials[0].metric
    assert metric is not None  # pipeline_of() refuses
    whole = Split("train", lists, metric.prepare(side.judged(lists)), lists)
    column, k = column_of_base(lists), tuning.n_folds
    chosen = folds_of(lists, k, trials[0].seed)
    at_once = -(-parallel.jobs() // k)
    with progress.step("choosing settings", len(trials), "cell") as advance:
        for first in range(0, len(trials), at_once):
            some = trials[first : first + at_once]
            for pooled in out_of_fold(lists, chosen, some, column, side, each_round=True):
                found.append(_best_round(whole, pooled, tuning.tune_base == "folds"))
                advance()
    return found


def _best_round(whole: Split, pooled: OutOfFold, tune: bool) -> _Outcome:
    """The first round with the best value of the pooled scores, after tuning if ``tune``."""
    judge, best = whole.judge, None
    assert judge is not None
    for at, scores in enumerate(pooled.scores):
        change = change_on_folds(whole, pooled, at) if tune else None
        value = value_of(judge, scores) if change is None else change.after
        if best is None or judge.better * value > judge.better * best.value or np.isnan(best.value):
            best = _Outcome(value, at + 1 if pooled.by_round else None, change)
    assert best is not None  # there is one round at least
    return best


def _on_dev(
    trials: Sequence[Pipeline], lists: CandidateLists, dev: CandidateLists, side: SideInputs
) -> list[_Outcome]:
    """Every trial, fitted to all lists, on the dev lists; lists are prepared once for the same steps."""
    found: list[_Outcome] = []
    with progress.step("choosing settings", len(trials), "cell") as advance:
        for _, group in itertools.groupby(trials, lambda trial: trial.steps):
            some = list(group)
            data = prepare(some[0], lists, dev, side)
            tasks = [(data, one) for one in some]
            found += parallel.each(_fitted_on_dev, tasks, threads=True, anywhere=True)
            advance(len(some))
    return found


def _fitted_on_dev(data: TrainingData, trial: Pipeline) -> _Outcome:
    dev, tuning = data.dev, trial.get(TuneBase)
    assert dev is not None  # select_cell() refuses
    assert dev.judge is not None
    model = trial.learner.fit(data.train.learnt, **data.inputs((dev.learnt, dev.judge)))
    data.complete(model)
    rounds = model.training.rounds
    kept = rounds.kept if isinstance(rounds, RoundsRecord) else None
    if tuning.tune_base == "dev":
        change = tuning.on_dev(model, data)
        return _Outcome(change.after, kept, change)
    return _Outcome(value_of(dev.judge, final_scores(model, dev.lists)), kept)
