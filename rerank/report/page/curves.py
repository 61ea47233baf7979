"""Sections of curves: values by a number, precision by recall, and how models were trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from rerank.core.text import count
from rerank.evaluation.curves import LEVELS, Depths, by_depth, mean_precision, relevance_of
from rerank.evaluation.plots import learning_curves, oracles_by_k, weight_shares
from rerank.evaluation.results import FIRST_BEST, MetricResults, Run, SystemResult
from rerank.report.page.drawing import Interval, Series
from rerank.report.page.parts import DRAWN, Figure, Key, Section, View, figure, label, number, only, typed

_WITH_INTERVALS = 4  # systems of a figure
_REFERENCES = (("first-best", "first_best", -1), ("random", "random", -2), ("oracle", "oracle", -3))

Rows = Mapping[str, Mapping[int, SystemResult]]  # by system and number
_APART = 1.6  # ratio of two labels on an axis, at least
_WEIGHTS = 15  # of a figure
_ROUNDS = 120


def shares_section(view: View) -> Section | None:
    """Return values by share of the training lists; None if there is one share."""
    if len(view.results.fractions) < 2:
        return None
    figures = []
    for metric in view.results.metrics.values():
        rows = {name: metric.rows[name] for name in view.drawn}
        title = f"{metric.typed} by share"
        figures.append(_by_number(view, metric, rows, title, "% of the training lists", "{} %"))
    lead = "Models that learnt from a part of the training lists; smaller parts are within larger ones."
    return Section("share", "Value by share of the training lists", lead + view.some_drawn(), (), figures)


def oracles_section(view: View) -> Section | None:
    """Return the values of top-k oracles by k (Duh 2009, table 8.8); None if no metric has two k."""
    figures = []
    for by_k in oracles_by_k(view.results):
        share, metric = view.results.fraction, by_k[min(by_k)]
        rows = {name: {k: found.rows[name][share] for k, found in by_k.items()} for name in view.drawn}
        title = f"{metric.typed} by K"
        references = _references(by_k)
        figures.append(
            _by_number(view, metric, rows, title, "K, first candidates of a list", "K = {}", references)
        )
    if not figures:
        return None
    lead = (
        "The value of the best choice among the first K candidates of a system's ranking: what a later stage "
        "could reach with them. K = 1 is the system itself. First-best and random are such values of the "
        "first stage and of random orders, oracle is the best choice of all."
    )
    return Section("oracles", "Best of the first K", lead + view.some_drawn(), (), figures)


def _references(by_k: Mapping[int, MetricResults]) -> list[Series]:
    """The references of all k, which have no system."""
    x, out = np.array(list(by_k), dtype=np.float64), []
    for name, key, look in _REFERENCES:
        values = [getattr(found, key) for found in by_k.values()]
        if None not in values and np.isfinite(values).all():
            out.append(Series(name, x, np.array(values, dtype=np.float64), look))
    return out


def _by_number(
    view: View,
    metric: MetricResults,
    rows: Rows,
    title: str,
    axis: str,
    spelled: str,
    references: Sequence[Series] = (),
) -> Figure:
    """Values of the drawn systems, with intervals if the systems are few.

    ``axis`` names the numbers, ``spelled`` is the pattern of one in words.
    """
    digits, lines = metric.digits, list(references)
    few = len(view.drawn) <= _WITH_INTERVALS  # intervals of more systems would hide each other
    for name, by_number in rows.items():
        known = {at: row for at, row in by_number.items() if np.isfinite(row.value)}
        if not known:
            continue
        x = np.array(list(known), dtype=np.float64)
        y = np.array([row.value for row in known.values()])
        low, high = (
            np.array([row.ci or (np.nan, np.nan) for row in known.values()]).T if few else (None, None)
        )
        lines.append(Series(name, x, y, view.look(name), low, high))
    said = []
    for line in lines:
        pairs = zip(line.x.tolist(), line.y.tolist(), strict=True)
        values = ", ".join(f"{number(y, digits)} at {spelled.format(int(x))}" for x, y in pairs)
        said.append(f"{line.name} {values}")
    svg = view.pen.lines(
        f"{typed(metric)} by {axis}: {'; '.join(said)}.",
        lines,
        x_label=axis,
        y_label=typed(metric),
        number=lambda value: number(value, digits),
        ticks=[(float(at), str(at)) for at in sorted({at for of in rows.values() for at in of})],
    )
    caption = (
        f"Values with {view.percent()} intervals."
        if few
        else "Values without intervals, which would hide each other."
    )
    keys = [Key(line.name, line.look) if line.look < 0 else view.key(line.name) for line in lines]
    return figure(svg, title, caption, keys)


def depth_section(view: View) -> Section | None:
    """Return the values by the number of candidates; None if the lists have no first stage's order."""
    figures = []
    for name, metric in view.results.metrics.items():
        found = by_depth(view.results, name, view.drawn)
        if found is not None and len(found.sizes) > 1:
            figures.append(_depth(view, metric, found))
    if not figures:
        return None
    lead = (
        "Each system reorders the first N candidates of the first stage; the others stay below them in their "
        "order. Random and oracle are a random and the best order of the first N."
    )
    return Section("depth", "Value by number of candidates", lead + view.some_drawn(), (), figures)


def _depth(view: View, metric: MetricResults, found: Depths) -> Figure:
    digits = metric.digits
    x = np.array(found.sizes, dtype=np.float64)
    references = (("first-best", np.full(len(x), found.first_best), -1), ("random", found.random, -2))
    lines = [Series(name, x, y, look) for name, y, look in (*references, ("oracle", found.oracle, -3))]
    lines += [Series(name, x, y, view.look(name)) for name, y in found.systems.items()]
    texts = [f"{line.name} {number(line.y[0], digits)} to {number(line.y[-1], digits)}" for line in lines[1:]]
    sizes = f"from 1 to {found.sizes[-1]}"
    alt = (
        f"{typed(metric)} if the first N candidates are reordered, N {sizes}; first-best "
        f"{number(found.first_best, digits)}; {'; '.join(texts)}."
    )
    svg = view.pen.lines(
        alt,
        lines,
        x_label="N, candidates that are reordered",
        y_label=typed(metric),
        number=lambda value: number(value, digits),
        ticks=_ticks(found.sizes),
        log_x=True,
    )
    keys = [Key(line.name, line.look) for line in lines if line.look < 0]
    keys += [view.key(name) for name in found.systems]
    return figure(svg, f"{metric.typed} by N", f"N {sizes}, the longest list.", keys)


def _ticks(sizes: tuple[int, ...]) -> list[tuple[float, str]]:
    """Places on the logarithmic axis: the last one, and others that leave room for their texts."""
    kept = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if kept[-1] / size >= _APART:
            kept.append(size)
    return [(float(size), str(size)) for size in reversed(kept)]


def recall_section(view: View) -> Section | None:
    """Return precision by recall; None if no metric is one of retrieval."""
    if relevance_of(view.results) is None:
        return None
    names = [*view.drawn, *([FIRST_BEST] if view.results.has_first_best else [])]
    found = {name: mean_precision(view.results, name) for name in names}
    lines = [
        Series(label(name), np.array(LEVELS), values, -1 if name == FIRST_BEST else view.look(name))
        for name, values in found.items()
        if values is not None
    ]
    if not lines:
        return None
    said = [
        f"{line.name} " + ", ".join(f"{number(line.y[i], 2)} at {LEVELS[i]:g}" for i in (0, 5, 10))
        for line in lines
    ]
    alt = f"Interpolated precision by recall: {'; '.join(said)}."
    svg = view.pen.lines(
        alt,
        lines,
        x_label="recall",
        y_label="precision",
        number=lambda value: number(value, 4),
        ticks=[(level, f"{level:g}") for level in LEVELS[::2]],
    )
    keys = [Key(line.name, -1) if line.look < 0 else view.key(line.name) for line in lines]
    caption = "Mean over the lists with a relevant item, over seeds and folds."
    lead = (
        "Interpolated precision at eleven levels of recall, as trec_eval computes it; items with a label "
        "above 0 are relevant."
    )
    made = figure(svg, "Precision by recall", caption, keys)
    return Section("recall", "Precision and recall", lead + view.some_drawn(), (), [made])


def curves_section(view: View) -> Section | None:
    """Return the learning curves of drawn systems; None if there are none."""
    having = [name for name in view.ordered if any(len(of.curve) > 1 for of in _outcomes(view, name))]
    figures = [made for name in having[:DRAWN] if (made := _learning(view, name)) is not None]
    if not figures:
        return None
    lead = "The metric watched in training, round by round: its mean over models, and their range."
    return Section("curves", "Learning curves", lead + only(DRAWN, len(having)), (), figures)


def _learning(view: View, system: str) -> Figure | None:
    """The curves on the training lists and the dev lists, if the system has any."""
    curves = [outcome.curve for outcome in _outcomes(view, system) if len(outcome.curve) > 1]
    rounds, watched = learning_curves(curves)
    lines, said, most = [], [], 0
    for part, values in watched.items():
        look = ("train", "dev").index(part)
        mean = values.mean(axis=0)
        drawn = np.unique(np.linspace(0, len(rounds) - 1, min(_ROUNDS, len(rounds))).astype(int))
        most = max(most, len(values))
        several = len(values) > 1
        low, high = (values.min(axis=0)[drawn], values.max(axis=0)[drawn]) if several else (None, None)
        x = np.array(rounds)[drawn]
        lines.append(Series(part, x, mean[drawn], look, low, high, dashed=part == "dev"))
        said.append(
            f"{part} from {number(mean[0], 4)} in round {rounds[0]:g} to {number(mean[-1], 4)} in round "
            f"{rounds[-1]:g}, between {number(mean.min(), 4)} and {number(mean.max(), 4)}"
        )
    if not lines:
        return None
    models = count(most, "model")
    shorter = any(len(curve) > len(rounds) for curve in curves)
    caption = f"{models}." + (f" Shown to round {rounds[-1]:g}, which every model has." if shorter else "")
    caption += f" {_ROUNDS} of {len(rounds)} rounds are drawn." if len(rounds) > _ROUNDS else ""
    alt = f"Learning curve of {system}, {models}: {'; '.join(said)}."
    keys = [Key(line.name, line.look, line.dashed) for line in lines]
    svg = view.pen.lines(
        alt, lines, x_label="round", y_label="watched metric", number=lambda value: number(value, 4)
    )
    return figure(svg, system, caption, keys)


def _outcomes(view: View, system: str) -> list[Run]:
    return [outcome for fold in view.results.runs_of(system, view.results.fraction) for outcome in fold]


def weights_section(view: View) -> Section | None:
    """Return the weights of drawn systems; None if no model has any."""
    having = [name for name in view.ordered if any(of.weights for of in _outcomes(view, name))]
    figures = [made for name in having[:DRAWN] if (made := _heaviest(view, name)) is not None]
    if not figures:
        return None
    lead = (
        "Each weight times its feature's standard deviation within lists, as a share of the model's sum: "
        f"the mean over folds and seeds, and their range. The {_WEIGHTS} heaviest of each system."
    )
    return Section("weights", "Weights", lead + only(DRAWN, len(having)), (), figures)


def _heaviest(view: View, system: str) -> Figure | None:
    """The heaviest features of a system, if its models have weights."""
    models = [outcome.weights for outcome in _outcomes(view, system) if outcome.weights]
    values = weight_shares(models)
    rows = []
    for feature, found in islice(values.items(), _WEIGHTS):
        mean = float(np.mean(found))
        tip = f"{feature}: {number(mean, 4, signed=True)}"
        if len(models) > 1:
            tip += f" ({number(min(found), 4, signed=True)} to {number(max(found), 4, signed=True)})"
        if len(found) < len(models):
            tip += f", recorded of {len(found)} of {len(models)} models"
        rows.append(Interval(feature, mean, min(found), max(found), 0, tip))
    if not rows:
        return None
    n = count(len(models), "model")
    caption = f"{n}, {count(len(values), 'feature')} recorded."
    said = ", ".join(f"{row.name} {number(row.value, 4, signed=True)}" for row in rows[:5])
    alt = f"Shares of the standardised weights of {system}, mean of {n}: {said}."
    svg = view.pen.intervals(alt, rows, x_label="share of the standardised weights", line=0.0)
    return figure(svg, system, caption)
