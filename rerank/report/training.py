"""The lines that ``rerank train`` prints when it is done."""

from __future__ import annotations

import math

from rerank.core.text import count
from rerank.data.lists import CandidateLists
from rerank.evaluation.variance import Gain
from rerank.models.base import CHEATING, Model
from rerank.models.classes import ClassesModel
from rerank.models.training import (
    FitRecord,
    MinimumRecord,
    RestartsRecord,
    RoundsRecord,
    SeedsRecord,
    Training,
)

CHEATS = f"{CHEATING}: the model uses the labels of the lists that it ranks; it is a control"
_MOST_NAMES = 3
_USES = {"fit": " (fitted to them)", "choice": " (chosen on them)", "none": ""}


def training_lines(model: Model, lists: CandidateLists, metric: str | None) -> list[str]:
    """Return what was learnt from ``lists``, the course of the watched ``metric``, and the gains."""
    from rerank.report.runs import restart_lines

    lines = [_size_line(model, lists)]
    rounds = model.training.rounds
    match rounds:
        case RoundsRecord():
            unit = model.training.unit
            text = f"{count(rounds.run, unit)}, kept {unit} {rounds.kept}"
            if rounds.converged:
                text += ", the last one without an update"
            if rounds.dev is not None:
                text += f"; dev {metric} {rounds.dev:.4f}"
            lines += [text, *_curve_lines(model, metric)]
        case RestartsRecord():
            lines += restart_lines(rounds, metric, weighted=_is_weighted(model.training))
        case MinimumRecord() if rounds.nonzero is not None or rounds.support is not None:
            lines += [_minimum_line(rounds, metric), *_curve_lines(model, metric)]
        case FitRecord() | MinimumRecord():
            if rounds.train is not None:
                lines.append(f"train {metric} {rounds.train:.4f}")
    lines += unjudged_lines(model.training)
    lines += extras_lines(model.training)
    lines += base_lines(model.training)
    lines += abstain_lines(model.training)
    if model.keep_margin is not None:
        lines.append(margin_line(model))
    lines += [*model.training_lines(), *([CHEATS] if model.cheats else [])]
    return [*lines, *map(gain_line, model.training.gains)]


def unjudged_lines(training: Training) -> list[str]:
    """Return what unjudged items of judged lists counted as, if there were some."""
    record = training.unjudged
    if record is None:
        return []
    line = f"unjudged: {count(record.items, 'item')} of {count(record.lists, 'judged list')}"
    if record.label is not None:
        return [f"{line}, counted as not relevant (label {record.label:g})"]
    hint = "; no item is judged as not relevant (--unjudged negative counts them so)"
    return [f"{line}, left out{hint if record.positives_only else ''}"]


def extras_lines(training: Training) -> list[str]:
    """Return which unlabelled lists the learner was given, and how the weights of lists differ."""
    lines = []
    bare, weights, notes = training.unlabelled, training.list_weights, training.notes
    if bare is not None:
        lines.append(f"fitted for {count(bare.lists, 'unlabelled list')}, {bare.items} items")
    if weights is not None:
        lines.append(f"list weights: {_weights_text(weights.effective, weights.zeros)}")
    elif "weights_effective" in notes:
        share, zeros = float(notes["weights_effective"]), float(notes["weights_zeros"])
        lines.append(f"weights of the lists: {_weights_text(share, zeros)}")
    return lines


def _is_weighted(training: Training) -> bool:
    return training.list_weights is not None or "weights_effective" in training.notes


def _weights_text(effective: float, zeros: float) -> str:
    return f"effective share of the lists {effective:.1%}, {zeros:.1%} of the weights are 0"


def base_lines(training: Training) -> list[str]:
    """Return how the base score was scaled before training, and how its weight was tuned after it."""
    lines = []
    scale, tuned = training.base_scale, training.tune_base
    if scale is not None:
        how = " (auto)" if scale.auto else ""
        lines.append(f"base score {scale.feature!r} times {scale.factor:.6g} for the learner{how}")
    if tuned is not None:
        change = f"plus {tuned.added:.6g}" if tuned.factor is None else f"times {tuned.factor:.6g}"
        on = "dev" if tuned.folds is None else f"out-of-fold scores of {tuned.folds} folds"
        before, after = (number(value, tuned.before, tuned.after) for value in (tuned.before, tuned.after))
        values = f"{tuned.metric} {before}, now {after} on {on}"
        lines.append(f"weight of the base score {change} (tuned): {values}")
    return lines


def abstain_lines(training: Training) -> list[str]:
    """Return what abstaining does on the dev lists, if a transductive model abstains and there were some."""
    record = training.abstain
    if record is None:
        return []
    values = (record.value, record.adapted, record.unadapted)
    value, adapted, unadapted = (number(one, *values) for one in values)
    how = " (tuned)" if record.tuned else ""
    line = f"abstain below tau {record.threshold:.6g}{how}: {record.kept} of "
    line += f"{count(record.lists, 'dev list')} {'stays' if record.kept == 1 else 'stay'} unadapted"
    line += f", {record.improved} improve and {record.harmed} get worse"
    return [f"{line}; dev {record.metric} {value}, all adapted {adapted}, unadapted {unadapted}"]


def margin_line(model: Model) -> str:
    """Return the model's keep margin, and its effect on the dev lists if there are some."""
    margin, known = model.keep_margin, model.training.keep
    assert margin is not None
    line = f"keep margin {margin:.6g}" + (" (tuned)" if known is not None and known.tuned else "")
    if margin == math.inf:
        line += ", so that every first-best is kept"
    if known is None:
        return line
    line += f": {known.switched} of {count(known.lists, 'dev list')} switch"
    line += f" ({known.leading} without it)"
    if known.switched:
        line += f", {known.gained} gain and {known.lost} lose"
    if known.unvalued:
        line += f", {known.unvalued} have no value of {model.training.rounds.metric}"
    return line


def seed_lines(seeds: SeedsRecord) -> list[str]:
    """Return how several runs differ, and which of them was kept."""

    lines = seeds.lines(f"{seeds.on} ", decimals(*seeds.values))
    return [*lines, f"kept seed {seeds.chosen}, the {seeds.by} run on {seeds.on}"]


def gain_line(gain: Gain) -> str:
    """Return a gain with its interval, and what the lists were to the model."""
    before, after, difference, low, high = (
        number(value, gain.before, gain.after)
        for value in (gain.before, gain.after, gain.gain, gain.low, gain.high)
    )
    values = f"{gain.part} {gain.metric}: {gain.over} {before}, now {after}"
    return f"{values}, gain {difference} [{low}, {high}] over {count(gain.lists, 'list')}{_USES[gain.use]}"


def decimals(*values: float | None) -> int:
    """Return the decimals of a metric's values: 4 if all are within -1 to 1, else 2."""
    return 4 if all(value is None or abs(value) <= 1 for value in values) else 2


def number(value: float | None, *others: float | None) -> str:
    """Return a value with the decimals that suit the ``others``, "-" if there is none."""
    return "-" if value is None else f"{value:z.{decimals(*others)}f}"


def _size_line(model: Model, lists: CandidateLists) -> str:
    """Learner, lists, items, features, scaling and pairs."""
    from rerank.report.contents import feature_names

    training, data = model.training, model.training.data
    size = f"{count(lists.n_lists, 'list')}, {lists.n_items} items"
    if isinstance(model, ClassesModel):
        size = f"{count(lists.n_items, 'example')} of {count(len(model.classes), 'class', 'classes')}"
    size += f", {count(lists.n_features, 'feature')}"
    size += feature_names(lists, _MOST_NAMES)
    size += f", scaling {model.scaling_name}"
    if data.judged is not None and data.judged < lists.n_items:
        size += f", {data.judged} of the items judged"
    if data.pairs is not None:
        size += f", {count(data.pairs, 'pair')}"
        if data.lists_without_pair:
            size += f" ({count(data.lists_without_pair, 'list has', 'lists have')} none)"
    return f"{training.learner}: {size}"


def _minimum_line(found: MinimumRecord, metric: str | None) -> str:
    """Return the strength of a penalty or a loss, the steps to the minimum, its weights and the metric."""
    strengths = {"prior": found.prior, "penalty": found.penalty, "C": found.C}
    strength = ", ".join(f"{name} {value:g}" for name, value in strengths.items() if value is not None)
    text = f"{strength}, {count(found.iterations, 'iteration')}, mean loss {found.loss:.4f}"
    if found.support is not None:
        text += f", {count(found.support, 'support item')}"
    else:
        text += f", {count(found.nonzero or 0, 'weight is', 'weights are')} not 0"
    for name, value in (("train", found.train), ("dev", found.dev)):
        if value is not None:
            text += f"; {name} {metric} {value:.4f}"
    return text


def _curve_lines(model: Model, metric: str | None) -> list[str]:
    """Watched values round by round, a line of bars each."""
    from rerank.report.runs import sparkline

    lines = []
    for key in ("train", "dev"):
        values = [row[key] for row in model.curve if key in row]
        if len(values) > 1:
            lines.append(f"{key:<5} {metric} {sparkline(values)} {min(values):.4f} to {max(values):.4f}")
    return lines
