"""Results on axes of matplotlib (extra ``rerank[report]``): what the methods ``plot`` of results draw.

Each function takes axes, or makes some by ``matplotlib.pyplot``, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, printable
from rerank.core.figures import require_matplotlib
from rerank.core.types import ArrayLike
from rerank.evaluation.curves import by_depth
from rerank.evaluation.results import FIRST_BEST, Results

_REFERENCES = {FIRST_BEST: ("first-best", "--"), "random": ("random", ":"), "oracle": ("oracle", "-.")}


def axes_of(ax: Any = None) -> Any:
    """Return the axes, or those of a new figure; ConfigError if matplotlib is not installed."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def plot_results(results: Results, metric: str | None, kind: str, ax: Any) -> Any:
    """Draw systems by one metric, the first one if None is named; see ``Judged.plot``."""
    found = next(iter(results.metrics.values())) if metric is None else results.metric(metric)
    if kind not in ("values", "differences", "depth"):
        raise ConfigError(f"kind: found {kind!r}, expected values, differences or depth")
    if kind == "differences":
        if not found.pairs:
            raise ConfigError("kind: found differences, but no two systems were tested; give a baseline")
        names = [f"{test.a} - {test.b}" for test in found.pairs]
        ax = bars(names, [test.difference for test in found.pairs], [test.ci for test in found.pairs], ax)
        ax.set_xlabel(f"difference of {found.name}")
        return ax
    if kind == "depth":
        depths = by_depth(results, found.name, list(results.runs))
        if depths is None:
            needed = "a first stage's order, a metric of rankings or of one item, and scores of all items"
            raise ConfigError(f"kind: found depth, which needs {needed}")
        ax = curves({name: (depths.sizes, values) for name, values in depths.systems.items()}, ax)
        for name, values in (("random", depths.random), ("oracle", depths.oracle)):
            ax.plot(depths.sizes, values, label=name, color="grey", linestyle=_REFERENCES[name][1])
        ax.axhline(depths.first_best, label="first-best", color="grey", linestyle="--")
        ax.set(xscale="log", xlabel="candidates that are reordered", ylabel=found.name)
        ax.legend()
        return ax
    rows = {name: of[results.fraction] for name, of in found.rows.items() if results.fraction in of}
    ax = bars(list(rows), [row.value for row in rows.values()], [row.ci for row in rows.values()], ax)
    for key, (name, style) in _REFERENCES.items():
        value = getattr(found, key)
        if value is not None and np.isfinite(value):
            ax.axvline(value, label=name, color="grey", linestyle=style)
    ax.set_xlabel(found.name)
    ax.legend()
    return ax


def bars(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[tuple[float, float] | None],
    ax: Any = None,
) -> Any:
    """Draw values with their intervals as points, the first at the top."""
    ax = axes_of(ax)
    for y, (value, interval) in enumerate(zip(values, intervals, strict=True)):
        ends = None if interval is None else np.abs(np.subtract(interval, value))[:, None]
        ax.errorbar([value], [y], xerr=ends, fmt="o", capsize=3, color="C0")
    ax.set_yticks(range(len(names)), [_plain(name) for name in names])
    ax.invert_yaxis()
    return ax


def plot_features(features: Sequence[Any], top: int, ax: Any = None) -> Any:
    """Draw standardised weights, or what a metric loses without features: the ``top`` largest ones."""
    if features and hasattr(features[0], "standardised"):
        size, label = {one.feature: one.standardised for one in features}, "weight * sd in lists"
    else:
        size, label = {one.feature: one.loss for one in features}, "loss of the metric"
    chosen = sorted(features, key=lambda one: -abs(size[one.feature]))[:top]
    names = [one.feature for one in chosen]
    ax = bars(names, [size[name] for name in names], [getattr(one, "ci", None) for one in chosen], ax)
    ax.axvline(0, color="grey", linewidth=0.8)
    ax.set_xlabel(label)
    return ax


def curves(lines: Mapping[str, tuple[ArrayLike, ArrayLike]], ax: Any = None) -> Any:
    """Draw a line for each name, of x and y."""
    ax = axes_of(ax)
    for name, (x, y) in lines.items():
        ax.plot(np.asarray(x), np.asarray(y), label=_plain(name))
    ax.legend()
    return ax


def _plain(name: str) -> str:
    """A name as text: between dollar signs matplotlib reads formulas."""
    return printable(name).replace("$", r"\$")
