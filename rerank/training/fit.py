"""One fit: the learner's own, the steps after it, and the record of both."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from rerank.core.types import Floats
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.overlap import sketch
from rerank.evaluation.variance import Use, gain
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.training import ListWeightsRecord, Training, UnlabelledRecord, statistics_of
from rerank.training.data import OutOfFold, Split, TrainingData
from rerank.training.pipeline import Pipeline


def fit_one(data: TrainingData, pipeline: Pipeline, fit: Callable[..., Model] | None = None) -> Model:
    """Return the learner's model of training data, changed by the steps after it; its record is complete.

    ``fit`` is called instead of the learner's own, None = that.

    Raises
    ------
    ConfigError, DataError, FitError
        If a step lacks something, or the learner cannot be fitted to the lists.
    """
    learner, dev = pipeline.learner, data.dev
    for step in pipeline.after:
        step.check_data(data)
    watched = None if dev is None or dev.judge is None else (dev.learnt, dev.judge)
    model = (fit or learner.fit)(data.train.learnt, **data.inputs(watched))
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
    known = {"fingerprint": data.fingerprint, "sketch": data.sketch, "features": source.selection or None}
    training.data = training.data.with_fields(lists=source.n_lists, items=source.n_items, **known)
    if data.train.judge is not None:
        training.rounds = training.rounds.with_fields(metric=data.train.judge.name)
    model.curve.kept = getattr(training.rounds, "kept", None)
    model.curve.metric = getattr(data.train.judge, "name", "")
    for step in pipeline.steps:
        step.record(training, data, learner)
    bare, weights = data.side.unlabelled, data.side.list_weights
    if bare is not None and (learner.needs_unlabelled or model.adapts):  # otherwise it ranks any lists
        size = {"lists": bare.n_lists, "items": bare.n_items}
        own = sketch(bare, poor=True)
        training.unlabelled = UnlabelledRecord(fingerprint=bare.fingerprint(), sketch=own, **size)
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
