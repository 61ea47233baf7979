"""Sections on all lists together: values by the number of candidates, and precision by recall."""

from __future__ import annotations

import numpy as np

from rerank.evaluation.curves import LEVELS, Depths, by_depth, mean_precision, relevance_of
from rerank.evaluation.results import FIRST_BEST, MetricResults
from rerank.report.page.drawing import Series
from rerank.report.page.parts import Figure, Key, Section, number
from rerank.report.page.view import View, figure, label, typed

_APART = 1.6  # ratio of two labels on an axis, at least


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
    ends = [f"{line.name} {number(line.y[0], digits)} to {number(line.y[-1], digits)}" for line in lines[1:]]
    sizes = f"from 1 to {found.sizes[-1]}"
    alt = (
        f"{typed(metric)} if the first N candidates are reordered, N {sizes}; first-best "
        f"{number(found.first_best, digits)}; {'; '.join(ends)}."
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
