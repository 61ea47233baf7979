"""Fitting: what happens around a learner's own ``fit``: the base score's weight, the keep margin, gains."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

from rerank.core.errors import ConfigError
from rerank.core.types import Floats
from rerank.data.first_best import checked_margin, first_best_items
from rerank.data.judge import SelectingJudge
from rerank.data.lists import CandidateLists
from rerank.data.overlap import sketch
from rerank.evaluation.variance import Use, gain
from rerank.learners.base import Learner
from rerank.models.base import Model
from rerank.models.classes import ClassesModel
from rerank.models.keep_margin import margin_effect, tune_margin
from rerank.models.training import ListWeightsRecord, Training, UnlabelledRecord, statistics_of
from rerank.training.base_tuning import NO_TUNING
from rerank.training.prepare import Part, Prepared
from rerank.training.unjudged import unjudged_record

if TYPE_CHECKING:
    from rerank.training.base_tuning import BaseTuning

Margin = float | Literal["auto"] | None


def fit_prepared(
    prepared: Prepared, learner: Learner, keep_margin: Margin = None, tune_base: BaseTuning = NO_TUNING
) -> Model:
    """Return the learner's model, with the base score's weight and then the keep margin tuned after it.

    Its training record is complete.

    Parameters
    ----------
    prepared : lists, judges and scaling.
    learner : what is fitted.
    keep_margin : lead over the first-best that takes its place, "auto" = tuned on the dev lists.
    tune_base : what the base score's weight is tuned on.

    Raises
    ------
    ConfigError, DataError, FitError
        If one of them cannot be set, or the learner cannot be fitted to the lists.
    """
    train, dev = prepared.train, prepared.dev
    if keep_margin is not None:
        _check_margin(keep_margin, train, dev)
    tune_base.check(prepared)
    watched = None if dev is None or dev.judge is None else (dev.learnt, dev.judge)
    model = prepared.learn(learner, watched)
    _record(model, prepared, learner)
    tune_base.tune(model, prepared, learner)
    if keep_margin is not None:
        _set_margin(model, keep_margin, dev)
    if not model.adapts:  # it would adapt to its own labelled lists
        _note_gains(model, train, "fit")
    if dev is not None:
        by_dev = learner.chooses_on_dev or keep_margin == "auto" or tune_base.on == "dev"
        _note_gains(model, dev, "fit" if prepared.dev_is_train else "choice" if by_dev else "none")
    return model


def _record(model: Model, prepared: Prepared, learner: Learner) -> None:
    """Complete the training record of a model of all training lists."""
    training, source = model.training, prepared.source
    training.learner = learner.name
    training.settings = learner.get_params()
    size = {"lists": source.n_lists, "items": source.n_items}
    known = {"fingerprint": prepared.fingerprint, "sketch": prepared.sketch, **size}
    training.data = training.data.with_fields(**known | {"features": source.selection or None})
    if prepared.train.judge is not None:
        training.rounds = training.rounds.with_fields(metric=prepared.train.judge.name)
    bare = prepared.extras.unlabelled
    if bare is not None:
        training.unlabelled = UnlabelledRecord(
            fingerprint=bare.fingerprint(),
            sketch=sketch(bare, poor=True),
            lists=bare.n_lists,
            items=bare.n_items,
        )
    if learner.needs_labels and not learner.reads_classes:
        training.unjudged = unjudged_record(source, prepared.setup.unjudged)
    weights = prepared.extras.list_weights
    if weights is not None:
        shares = weights / weights.max()  # their sum does not overflow
        found = statistics_of(shares / shares.mean())
        training.list_weights = ListWeightsRecord(
            fingerprint=hashlib.blake2b(weights.tobytes(), digest_size=16).hexdigest(),
            **{name: found[name] for name in ("q25", "median", "q75", "effective", "zeros")},
        )


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


def final_scores(model: Model, lists: CandidateLists) -> Floats:
    """Return what judges take: the model's scores of prepared lists with its keep margin, or its classes."""
    if isinstance(model, ClassesModel):
        return model.candidates_prepared(lists)
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
