"""One fit: the steps before the learner, its own fit, the steps after it, and the record of all."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from functools import partial

from rerank.core import progress
from rerank.core.errors import DataNote
from rerank.core.types import Floats
from rerank.data.alignment import aligned
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.missing import fill_of
from rerank.data.overlap import sketch
from rerank.evaluation.variance import Use, gain
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.pipeline import Chain
from rerank.models.training import ListWeightsRecord, Training, UnlabelledRecord, statistics_of
from rerank.training.data import NO_SIDE_INPUTS, OutOfFold, SideInputs, Split, TrainingData, column_of_base
from rerank.training.pipeline import Pipeline
from rerank.training.steps.features import FillMissing


def fit_one(data: TrainingData, pipeline: Pipeline) -> Model:
    """Return the learner's model of training data, changed by the steps after it; its record is complete.

    Raises
    ------
    ConfigError, DataError, FitError
        If a step lacks something, or the learner cannot be fitted to the lists.
    """
    learner, dev = pipeline.learner, data.dev
    for step in pipeline.after:
        step.check_data(data)
    watched = None if dev is None or dev.judge is None else (dev.learnt, dev.judge)
    model = learner.fit(data.train.learnt, **data.inputs(watched))
    data.complete(model)
    _record(model, data, pipeline)
    for step in pipeline.after:
        step.change(model, data, partial(_out_of_fold, data, pipeline))
    if not model.adapts:  # it would adapt to its own labelled lists
        _note_gains(model, data.train, "fit")
    if dev is not None:
        by_dev = learner.chooses_on_dev or any(step.uses_dev for step in pipeline.steps)
        _note_gains(model, dev, "fit" if data.dev_is_train else "choice" if by_dev else "none")
    return model


def _out_of_fold(
    data: TrainingData, pipeline: Pipeline, k: int, rounds: int | None
) -> tuple[Split, OutOfFold]:
    """All training lists with the metric that judges out-of-fold scores, and the scores of K models."""
    from rerank.training.out_of_fold import folds_of, out_of_fold

    chosen = folds_of(data.source, k, pipeline.seed)
    trials = [pipeline.with_rounds(rounds)]
    (found,) = out_of_fold(data.source, chosen, trials, data.base_column, data.side)
    assert pipeline.metric is not None  # the steps that need scores refuse it
    judge = pipeline.metric.prepare(data.side.judged(data.train.lists))
    return replace(data.train, judge=judge), found


def _record(model: Model, data: TrainingData, pipeline: Pipeline) -> None:
    """Complete the training record of a model of all training lists."""
    training, source, learner = model.training, data.source, pipeline.learner
    training.learner = learner.name
    training.settings = learner.get_params()
    size = {"lists": source.n_lists, "items": source.n_items}
    known = {"fingerprint": data.fingerprint, "sketch": data.sketch, **size}
    training.data = training.data.with_fields(**known | {"features": source.selection or None})
    if data.train.judge is not None:
        training.rounds = training.rounds.with_fields(metric=data.train.judge.name)
    for step in pipeline.steps:
        step.record(training, data, learner)
    bare, weights = data.side.unlabelled, data.side.list_weights
    if bare is not None:
        training.unlabelled = UnlabelledRecord(
            fingerprint=bare.fingerprint(),
            sketch=sketch(bare, poor=True),
            lists=bare.n_lists,
            items=bare.n_items,
        )
    if weights is not None:
        shares = weights / weights.max()  # their sum does not overflow
        found = statistics_of(shares / shares.mean())
        training.list_weights = ListWeightsRecord(
            fingerprint=hashlib.blake2b(weights.tobytes(), digest_size=16).hexdigest(),
            **{name: found[name] for name in ("q25", "median", "q75", "effective", "zeros")},
        )


def final_scores(model: Model, lists: CandidateLists) -> Floats:
    """Return what judges take: the model's scores of prepared lists with its keep margin, or its classes."""
    if isinstance(model, ClassesModel):
        return model.candidates_prepared(lists)
    return model.with_keep_margin(lists, model.score_prepared(lists))


def _note_gains(model: Model, part: Split, use: Use) -> None:
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
    own = judge.per_list(final_scores(model, lists))
    gains = [
        gain(part.name, use, over, judge, judge.per_list(scores), own) for over, scores in before.items()
    ]
    model.training.gains += tuple(found for found in gains if found is not None)


def note_choice_on_dev(training: Training) -> None:
    """Record that the dev lists, which would be new to the model, were used to choose it."""
    training.gains = tuple(
        one.with_fields(use="choice") if (one.part, one.use) == ("dev", "none") else one
        for one in training.gains
    )


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
