"""Facts of a model's training, in the lines that ``rerank train`` prints and ``rerank show`` repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rerank.core.settings import value_text
from rerank.core.tables.data import tsv
from rerank.core.tables.text import drawn, lined_up
from rerank.core.text import count
from rerank.data.describe import feature_names
from rerank.data.lists import CandidateLists
from rerank.evaluation.variance import Gain
from rerank.models.training import (
    CellRecord,
    FitRecord,
    MinimumRecord,
    RestartsRecord,
    RoundsRecord,
    SeedsRecord,
    Training,
)

_MOST = 12  # cells of a choice
NEAR = 0.01  # of the best restart
BARS = "▁▂▃▄▅▆▇█"
_MOST_NAMES = 3
_USES = {"fit": " (fitted to them)", "choice": " (chosen on them)", "none": ""}


def training_lines(model: Any, lists: CandidateLists, metric: str | None) -> list[str]:
    """Return what was learnt from ``lists``, the course of the watched ``metric``, and the gains."""
    lines = [_size_line(model, lists)]
    rounds = model.training.rounds
    match rounds:
        case RoundsRecord():
            unit = model.training.unit
            text = f"{count(rounds.run, unit)}, kept {unit} {rounds.kept}"
            text += ", the best on dev" if model.training.settings.get("keep") == "best" else ""
            if rounds.converged:
                text += ", the last one without an update"
            if rounds.dev is not None:
                text += f"; dev {metric} {rounds.dev:.4f}"
            lines += [text, *_curve_lines(model, metric)]
        case RestartsRecord():
            weighted = model.training.list_weights is not None or "weights_effective" in model.training.notes
            lines += restart_lines(rounds, metric, weighted=weighted)
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
    lines += model.training_lines()
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


def margin_line(model: Any) -> str:
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


def _size_line(model: Any, lists: CandidateLists) -> str:
    """Learner, lists, items, features, scaling and pairs."""
    training, data = model.training, model.training.data
    size = f"{count(data.lists or lists.n_lists, 'list')}, {data.items or lists.n_items} items"
    if hasattr(model, "classes"):
        size = f"{count(lists.n_items, 'example')} of {count(len(model.classes), 'class', 'classes')}"
    size += f", {count(lists.n_features, 'feature')}"
    size += feature_names(lists, _MOST_NAMES)
    size += "".join(f" and {len(one.names)} from {one.kind}" for one in model.chain.sources)
    size += f", scaling {model.scaling_name}"
    if data.judged is not None and data.judged < (data.items or 0):
        size += f", {data.judged} of the items judged"
    if data.pairs is not None:
        size += f", {count(data.pairs, 'pair')}"
        if data.lists_without_pair:
            size += f" ({count(data.lists_without_pair, 'list has', 'lists have')} none)"
    return f"{training.learner}: {size}"


def _minimum_line(found: MinimumRecord, metric: str | None) -> str:
    """Return the penalty or the weight of a loss, the steps to the minimum, its weights and the metric."""
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


def _curve_lines(model: Any, metric: str | None) -> list[str]:
    """Watched values round by round, a line of bars each."""
    lines = []
    for key in ("train", "dev"):
        values = [row[key] for row in model.curve if key in row]
        if len(values) > 1:
            lines.append(f"{key:<5} {metric} {sparkline(values)} {min(values):.4f} to {max(values):.4f}")
    return lines


def choice_lines(training: Training) -> list[str]:
    """Return which cell was chosen, on what, and the best cells; nothing if there was no choice."""
    choice = training.choice
    if choice is None:
        return []
    on = "dev" if choice.folds is None else f"out-of-fold scores of {choice.folds} folds"
    values = [choice.first_best, *(cell.value for cell in choice.cells)]
    first = choice.first_best
    best = "" if first is None else f", first-best {number(first, *values)}"
    lines = [f"chosen on {on} from {count(len(choice.cells), 'cell')}, by {choice.metric}{best}:"]
    chosen = choice.chosen - 1
    order = [chosen, *(i for i in range(len(choice.cells)) if i != chosen)]
    for i in order[:_MOST]:
        lines.append(f"  {number(choice.cells[i].value, *values)}  {_cell(choice.cells[i], training.unit)}")
    if len(order) > _MOST:
        lines.append(f"  ... and {len(order) - _MOST} more (--grid-out)")
    return lines


def _cell(cell: CellRecord, unit: str) -> str:
    parts = [f"{key}={value_text(value)}" for key, value in cell.settings.items()]
    if cell.rounds is not None:
        parts.append(count(cell.rounds, unit))
    if cell.factor is not None:
        parts.append(f"base score times {cell.factor:.4g}")
    if cell.added is not None:
        parts.append(f"base score plus {cell.added:.4g}")
    return " ".join(parts)


def cell_rows(training: Training) -> list[str]:
    """Return lines of TSV, a row for each cell: settings, rounds, change of the base score, metric.

    The first row has the names of the columns; ``chosen`` is 1 for the cell that became the model.
    """
    choice = training.choice
    assert choice is not None  # the caller has chosen
    keys = list(choice.cells[0].settings)
    rows = (
        [
            *(value_text(cell.settings[key]) for key in keys),
            *(cell.rounds, cell.factor, cell.added, cell.value, int(i == choice.chosen)),
        ]
        for i, cell in enumerate(choice.cells, 1)
    )
    return list(tsv([*keys, "rounds", "base_factor", "base_added", choice.metric, "chosen"], rows))


def restart_lines(rounds: RestartsRecord, metric: str | None, *, weighted: bool = False) -> list[str]:
    """Return the value that was kept, and best, median and worst of the restarts.

    ``weighted`` tells that the training lists counted by their weights, in all these values.
    """
    dev = "" if rounds.dev is None else f"; dev {metric} {_value(rounds.dev)}"
    start = f"{metric} {_value(rounds.initial)}, initial weights: {rounds.init}"
    if not rounds.improved:
        lines = [f"no improvement over the initial weights ({start}){dev}"]
    else:
        mean = f", mean of the {rounds.averaged} best restarts" if rounds.averaged > 1 else ""
        of = " of the weighted lists" if weighted else ""
        lines = [f"train {metric}{of} {_value(rounds.train)}{mean} (from {start}){dev}"]
    reached = [restart.train for restart in rounds.restarts if not math.isnan(restart.train)]
    best = rounds.best
    if len(reached) > 1 and not math.isnan(best):
        near = sum(abs(value - best) <= NEAR for value in reached)
        ordered = sorted(reached, key=lambda value: abs(value - best))
        lines.append(
            f"{count(len(rounds.restarts), 'restart')}: best {ordered[0]:.4f}, "
            f"median {ordered[len(ordered) // 2]:.4f}, worst {ordered[-1]:.4f}; "
            f"{near} within {NEAR:g} of the best"
        )
    return lines


def spread_lines(rounds: RestartsRecord, names: list[str]) -> list[str]:
    """Return a table of the better restarts' weights of the features ``names``."""
    rows = {row.feature: row for row in rounds.spread}
    shown = [rows[name] for name in names if name in rows]
    if not shown:
        return []
    title = f"weights of the better half of {count(len(rounds.restarts), 'restart')}"
    cells = [(row.feature, *(f"{value:.6g}" for value in (row.min, row.max, row.sd))) for row in shown]
    return [title, *drawn(lined_up(("", "least", "largest", "deviation"), cells))]


def _value(value: float) -> str:
    return "without a value" if math.isnan(value) else f"{value:.4f}"


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return a learning curve in one line: a bar for each value; more than ``width`` values are thinned.

    NaN is a blank. Equal values are all the lowest bar.
    """
    n = len(values)
    kept = [values[i * (n - 1) // (width - 1)] for i in range(width)] if n > width else list(values)
    finite = [value for value in kept if math.isfinite(value)]
    if not finite:
        return " " * len(kept)
    low, high = min(finite), max(finite)
    step = (high - low) / (len(BARS) - 1) or 1.0
    return "".join(BARS[round((value - low) / step)] if math.isfinite(value) else " " for value in kept)
