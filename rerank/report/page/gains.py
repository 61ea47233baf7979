"""Sections on lists against the baseline: sorted differences, gains by length, difficulty and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rerank.core.tables.table import Column, Row, Table
from rerank.core.text import count
from rerank.core.types import Floats
from rerank.evaluation.by_list import Bin, binned, by_size, difficulty, limits_of
from rerank.evaluation.results import MetricResults
from rerank.evaluation.significance import TOLERANCE
from rerank.report.page.drawing import Series
from rerank.report.page.parts import MINUS, Figure, Section, View, beside, ends, figure, label, number, typed

_DRAWN = 120  # lists of a figure


def differences_section(view: View) -> Section | None:
    """Return each list's difference from the baseline; None without a baseline or another system."""
    if not view.compared:
        return None
    figures = [
        made
        for name, metric in view.results.metrics.items()
        for system in view.compared
        if (made := _differences(view, name, metric, system)) is not None
    ]
    if not figures:
        return None
    lead = f"How much better (above 0) or worse a system is than {label(str(view.baseline))} on each list."
    return Section("differences", "Differences by list", lead + view.some_compared(), (), figures)


def _differences(view: View, name: str, metric: MetricResults, system: str) -> Figure | None:
    digits = metric.digits
    gains = view.gains(name, system)
    judged = np.flatnonzero(np.isfinite(gains))
    if len(judged) == 0:
        return None
    order = judged[np.argsort(-gains[judged], kind="stable")]
    values = np.where(np.abs(gains[order]) <= TOLERANCE, 0.0, gains[order])
    won, lost = int(np.count_nonzero(values > 0)), int(np.count_nonzero(values < 0))
    shown = np.unique(np.linspace(0, len(order) - 1, min(_DRAWN, len(order))).round().astype(int))
    places = [f"list {name}" + f", fold {fold}" * bool(fold) for fold, name in view.results.list_keys()]
    tips = [
        f"{places[i]}: {number(value, digits, signed=True)}"
        for i, value in zip(order[shown].tolist(), values[shown].tolist(), strict=True)
    ]
    counts = f"{count(won, 'list')} better, {len(values) - won - lost} equal, {lost} worse"
    top, middle, low = (
        number(value, digits, signed=True) for value in np.quantile(values, (1, 0.5, 0)).tolist()
    )
    alt = (
        f"{typed(metric)}, {system} against {label(str(view.baseline))} on {len(values)} lists: {counts}; "
        f"from {top} to {low}, median {middle}."
    )
    thinned = f" {len(shown)} of them are drawn." if len(shown) < len(values) else ""
    axis = f"gain in {metric.typed}"
    svg = view.pen.differences(alt, shown + 1.0, values[shown], tips, y_label=axis)
    return figure(svg, f"{metric.typed}: {system}", f"{counts}.{thinned}")


def bins_section(view: View) -> Section | None:
    """Return gains by length and by difficulty of the lists; None without a baseline or another system."""
    if not view.compared:
        return None
    lengths = np.concatenate([part.lists.lengths for part in view.results.parts]).astype(np.float64)
    against = str(view.baseline)
    figures = []
    for name, metric in view.results.metrics.items():
        hard = difficulty(view.results, name, list(dict.fromkeys([against, *view.compared])))
        for keys, title, axis in (
            (lengths, "by length", "candidates of a list"),
            (hard, "by difficulty", "mean value of the systems on a list"),
        ):
            made = _gain_by(view, name, metric, keys, title, axis)
            if made is not None:
                figures.append(made)
    if not figures:
        return None
    lead = (
        f"Mean gain over {label(against)} of lists in up to five groups of about equal size. Difficulty is "
        "the mean value of these systems and the baseline on a list. By the baseline's value alone, lists on "
        "which it was unlucky would appear as gains."
    )
    return Section("groups", "Gain by length and difficulty", lead + view.some_compared(), (), figures)


def _gain_by(
    view: View, name: str, metric: MetricResults, keys: Floats, title: str, axis: str
) -> Figure | None:
    """The gains of the compared systems by bins of a key; None if there is one bin."""
    digits, results = metric.digits, view.results
    lines, said = [], []
    bins: list[Bin] = []
    names: list[str] = []
    for i, system in enumerate(view.compared):
        bins = binned(
            keys,
            view.gains(name, system),
            samples=results.judging.samples,
            level=results.judging.level,
            seed=results.judging.seed,
        )
        if len(bins) < 2:
            return None
        x = beside(len(bins), i, len(view.compared), 0.12)
        low, high = np.array([one.ci or (np.nan, np.nan) for one in bins]).T
        y = np.array([one.gain for one in bins])
        names = [_range(one) for one in bins]
        lines.append(Series(system, x, y, view.look(system), low, high, names=names))
        first, last = (
            f"{number(one.gain, digits, signed=True)} ({ends(one.ci, digits)})" for one in (bins[0], bins[-1])
        )
        said.append(f"{system} {first} in the first group and {last} in the last")
    alt = f"Gain in {metric.typed} {title}, groups {', '.join(names)}: {'; '.join(said)}."
    svg = view.pen.lines(
        alt,
        lines,
        x_label=axis,
        y_label=f"gain in {metric.typed}",
        number=lambda value: number(value, digits, signed=True),
        ticks=[(float(i), group.replace("–", "–\n")) for i, group in enumerate(names)],
        zero=True,
    )
    sizes = ", ".join(str(one.lists) for one in bins)
    keys_of = [view.key(system) for system in view.compared]
    return figure(svg, f"{metric.typed} {title}", f"Lists in each group: {sizes}.", keys_of)


def _range(one: Bin) -> str:
    low, high = (f"{end:.3g}" for end in (one.low, one.high))
    return low if low == high else f"{low}–{high}"


def sizes_section(view: View) -> Section | None:
    """Return the lists by the size of their gain; None without a baseline or another system."""
    if not view.compared:
        return None
    systems = [name for name in view.results.runs if name != view.baseline]
    tables, figures = [], []
    for name, metric in view.results.metrics.items():
        gains = {system: view.gains(name, system) for system in systems}
        limits = limits_of(np.concatenate(list(gains.values())))
        counts = {system: by_size(values, limits) for system, values in gains.items()}
        if not any(map(any, counts.values())):
            continue
        small, large = (f"{limit:g}" for limit in limits)
        losses = [f"below {MINUS}{large}", f"{MINUS}{large} to {MINUS}{small}", f"{MINUS}{small} to 0"]
        groups = [*losses, "0", f"0 to {small}", f"{small} to {large}", f"above {large}"]
        title = f"Lists by their gain in {metric.typed}"
        if not any(found[2] or found[4] for found in counts.values()):  # P@5 has no gain below 0.2
            large = f"{limits[1]:g}"
            groups = [groups[0], f"{MINUS}{large} to 0", "0", f"0 to {large}", groups[6]]
            counts = {system: [*found[:2], found[3], *found[5:]] for system, found in counts.items()}
        columns = [Column("System", ("system",), left=True), *(Column(of, (of,), str) for of in groups)]
        rows = tuple(Row((system, *found)) for system, found in counts.items())
        tables.append(Table(tuple(columns), rows, title))
        figures.append(_histogram(view, metric, groups, counts))
    if not figures:
        return None
    lead = (
        f"How many lists are worse (below 0) or better than with {label(str(view.baseline))}, and by how "
        "much. At least a quarter of all differences that are not 0 reach the larger limit."
    )
    return Section(
        "sizes", "Lists by size of the difference", lead + view.some_compared("drawn"), tables, figures
    )


def _histogram(
    view: View, metric: MetricResults, groups: Sequence[str], counts: Mapping[str, Sequence[int]]
) -> Figure:
    """The numbers of lists of the compared systems as bars."""
    lines, said = [], []
    for i, system in enumerate(view.compared):
        x = beside(len(groups), i, len(view.compared), 0.16)
        y = np.array(counts[system], dtype=np.float64)
        lines.append(Series(system, x, y, view.look(system), bars=True, names=groups))
        of_groups = zip(groups, counts[system], strict=True)
        said.append(f"{system} " + ", ".join(f"{n} with {group}" for group, n in of_groups if n))
    axis = f"gain in {metric.typed}"
    svg = view.pen.lines(
        f"Lists by {axis} over {label(str(view.baseline))}: {'; '.join(said)}.",
        lines,
        x_label=axis,
        y_label="lists",
        number=lambda value: count(int(value), "list"),
        ticks=[(float(i), group.replace(" ", "\n")) for i, group in enumerate(groups)],
        zero=True,
    )
    keys = [view.key(system) for system in view.compared]
    return figure(svg, f"{metric.typed}: lists by gain", f"{count(metric.lists, 'list')}.", keys)
