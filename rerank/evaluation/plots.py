"""Results on axes of matplotlib (extra ``rerank[report]``): what the methods ``plot`` of results draw.

Each function takes axes, or makes some by ``matplotlib.pyplot``, and returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from rerank.core.errors import ConfigError, printable
from rerank.core.figures import require_matplotlib
from rerank.core.registry import did_you_mean
from rerank.core.system import added
from rerank.core.types import ArrayLike, Floats
from rerank.evaluation.by_list import binned, by_size, difficulty, gains, limits_of
from rerank.evaluation.curves import LEVELS, by_depth, mean_precision
from rerank.evaluation.ranks import Ranks
from rerank.evaluation.results import FIRST_BEST, MetricResults, Results
from rerank.metrics.oracle import OracleJudge

_REFERENCES = {FIRST_BEST: ("first-best", "--"), "random": ("random", ":"), "oracle": ("oracle", "-.")}
_WEIGHTS = 15  # features of a system


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
    if kind not in KINDS:
        raise ConfigError(f"kind: unknown {kind!r}; {did_you_mean(kind, KINDS)}")
    return KINDS[kind](results, found, ax)


def _values(results: Results, found: MetricResults, ax: Any) -> Any:
    rows = {name: of[results.fraction] for name, of in found.rows.items() if results.fraction in of}
    ax = bars(list(rows), [row.value for row in rows.values()], [row.ci for row in rows.values()], ax)
    for key, (name, style) in _REFERENCES.items():
        value = getattr(found, key)
        if value is not None and np.isfinite(value):
            ax.axvline(value, label=name, color="grey", linestyle=style)
    ax.set_xlabel(_plain(found.name))
    ax.legend()
    return ax


def _differences(results: Results, found: MetricResults, ax: Any) -> Any:
    if not found.pairs:
        raise ConfigError("kind: found differences, but no two systems were tested; give a baseline")
    names = [f"{test.a} - {test.b.replace(FIRST_BEST, 'first-best')}" for test in found.pairs]
    ax = bars(names, [test.difference for test in found.pairs], [test.ci for test in found.pairs], ax)
    ax.set_xlabel(f"difference of {_plain(found.name)}")
    return ax


def _shares(results: Results, found: MetricResults, ax: Any) -> Any:
    if len(results.fractions) < 2:
        raise ConfigError("kind: found shares, which needs models of several shares of the training lists")
    ax = curves({name: (list(of), [row.value for row in of.values()]) for name, of in found.rows.items()}, ax)
    ax.set(xlabel="% of the training lists", ylabel=_plain(found.name))
    return ax


def _lists(results: Results, found: MetricResults, ax: Any) -> Any:
    """Each list's gain over the baseline, the largest first."""
    lines = {}
    for name, values in _gains(results, found, "lists").items():
        values = -np.sort(-values[np.isfinite(values)])
        lines[name] = (np.arange(1, len(values) + 1), values)
    ax = curves(lines, ax)
    ax.axhline(0, color="grey", linewidth=0.8)
    ax.set(xlabel="lists, by gain", ylabel=_over_baseline(results, found))
    return ax


def _sizes(results: Results, found: MetricResults, ax: Any) -> Any:
    """Lists by the size of their gain; the limits are those of the page."""
    values = _gains(results, found, "sizes")
    small, large = limits_of(np.concatenate(list(values.values())))
    texts = f"-{large:g} to -{small:g}", f"-{small:g} to 0", "0", f"0 to {small:g}", f"{small:g} to {large:g}"
    names = [f"below -{large:g}", *texts, f"above {large:g}"]
    ax = axes_of(ax)
    width = 0.8 / len(values)
    for i, (name, of_lists) in enumerate(values.items()):
        at = np.arange(len(names)) + width * (i - (len(values) - 1) / 2)
        ax.bar(at, by_size(of_lists, (small, large)), width, label=_plain(name))
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set(xlabel=_over_baseline(results, found), ylabel="lists")
    ax.legend()
    return ax


def _by_length(results: Results, found: MetricResults, ax: Any) -> Any:
    keys = np.concatenate([part.lists.lengths for part in results.parts]).astype(np.float64)
    return _in_bins(results, found, "length", keys, "candidates of a list", ax)


def _by_difficulty(results: Results, found: MetricResults, ax: Any) -> Any:
    compared = [str(results.baseline), *_gains(results, found, "difficulty")]
    keys = difficulty(results, found.name, compared)
    return _in_bins(results, found, "difficulty", keys, "mean value of the systems on a list", ax)


def _in_bins(results: Results, found: MetricResults, kind: str, keys: Floats, axis: str, ax: Any) -> Any:
    """Mean gains, with intervals, of lists in groups of about equal size; x is the mean key of a group."""
    own, ax = results.judging, axes_of(ax)
    for name, values in _gains(results, found, kind).items():
        bins = binned(keys, values, samples=own.samples, level=own.level, seed=own.seed)
        ends = [np.abs(np.subtract(one.ci or (np.nan, np.nan), one.gain)) for one in bins]
        x, y = [(one.low + one.high) / 2 for one in bins], [one.gain for one in bins]
        ax.errorbar(x, y, yerr=np.transpose(ends), fmt="o-", capsize=3, label=_plain(name))
    ax.axhline(0, color="grey", linewidth=0.8)
    ax.set(xlabel=axis, ylabel=_over_baseline(results, found))
    ax.legend()
    return ax


def _gains(results: Results, found: MetricResults, kind: str) -> dict[str, Floats]:
    """The gains of all systems over the baseline by list, float64 (n_lists of all parts)."""
    names = [name for name in results.runs if name != results.baseline]
    if results.baseline is None or not names:
        raise ConfigError(f"kind: found {kind}, which needs a baseline and another system; give a baseline")
    return {name: gains(results, found.name, name, results.baseline) for name in names}


def _over_baseline(results: Results, found: MetricResults) -> str:
    return _plain(f"gain in {found.name} over {str(results.baseline).replace(FIRST_BEST, 'first-best')}")


def _depth(results: Results, found: MetricResults, ax: Any) -> Any:
    depths = by_depth(results, found.name, list(results.runs))
    if depths is None:
        needed = "a first stage's order, a metric of rankings or of one item, and scores of all items"
        raise ConfigError(f"kind: found depth, which needs {needed}")
    ax = curves({name: (depths.sizes, values) for name, values in depths.systems.items()}, ax)
    for name, values in (("random", depths.random), ("oracle", depths.oracle)):
        ax.plot(depths.sizes, values, label=name, color="grey", linestyle=_REFERENCES[name][1])
    ax.axhline(depths.first_best, label="first-best", color="grey", linestyle="--")
    ax.set(xscale="log", xlabel="candidates that are reordered", ylabel=_plain(found.name))
    ax.set_xticks(depths.sizes, list(map(str, depths.sizes)), minor=False)
    ax.set_xticks([], minor=True)
    ax.legend()
    return ax


def _oracles(results: Results, found: MetricResults, ax: Any) -> Any:
    groups = [by_k for by_k in oracles_by_k(results) if found.name in {of.name for of in by_k.values()}]
    if not groups:
        raise ConfigError(
            "kind: found oracles, which needs a metric and its oracle, such as BLEU and oracle5.BLEU"
        )
    share, by_k = results.fraction, groups[0]
    lines = {
        name: (list(by_k), [of.rows[name][share].value for of in by_k.values()]) for name in results.runs
    }
    ax = curves(lines, ax)
    ax.set(xlabel="K, first candidates of a list", ylabel=_plain(by_k[min(by_k)].typed))
    return ax


def _recall(results: Results, found: MetricResults, ax: Any) -> Any:
    names = [*results.runs, *([FIRST_BEST] if results.has_first_best else [])]
    means = {name: mean_precision(results, name) for name in names}
    lines = {name: (LEVELS, values) for name, values in means.items() if values is not None}
    if not lines:
        raise ConfigError("kind: found recall, which needs a metric of rankings, such as AP")
    ax = curves(lines, ax)
    ax.set(xlabel="recall", ylabel="precision")
    return ax


def _rounds(results: Results, found: MetricResults, ax: Any) -> Any:
    """Learning curves: means over models, and their range."""
    ax, drawn = axes_of(ax), 0
    for name in results.runs:
        runs = [run.curve for fold in results.runs_of(name) for run in fold if len(run.curve) > 1]
        rounds, watched = learning_curves(runs)
        for part, values in watched.items():
            style = "--" if part == "dev" else "-"
            color = f"C{drawn % 10}"
            ax.plot(rounds, values.mean(axis=0), style, color=color, label=_plain(f"{name}, {part}"))
            if len(values) > 1:
                ax.fill_between(rounds, values.min(axis=0), values.max(axis=0), color=color, alpha=0.15, lw=0)
        drawn += bool(watched)
    if not drawn:
        raise ConfigError("kind: found rounds, which needs learning curves; a model's is model.curve.plot()")
    ax.set(xlabel="round", ylabel="metric watched in training")
    ax.legend()
    return ax


def _weights(results: Results, found: MetricResults, ax: Any) -> Any:
    """The heaviest features of each system that has weights: means over models, and their range."""
    names, means, ranges = [], [], []
    for name in results.runs:
        models = [run.weights for fold in results.runs_of(name) for run in fold if run.weights]
        for feature, values in islice(weight_shares(models).items(), _WEIGHTS):
            names.append(f"{name}: {feature}" if len(results.runs) > 1 else feature)
            means.append(float(np.mean(values)))
            ranges.append((min(values), max(values)) if len(values) > 1 else None)
    if not names:
        raise ConfigError("kind: found weights, which needs models with weights, as rerank run records them")
    ax = bars(names, means, ranges, ax)
    ax.axvline(0, color="grey", linewidth=0.8)
    ax.set_xlabel("share of the standardised weights")
    return ax


KINDS: dict[str, Callable[[Results, MetricResults, Any], Any]] = {
    "values": _values,
    "differences": _differences,
    "shares": _shares,
    "lists": _lists,
    "sizes": _sizes,
    "length": _by_length,
    "difficulty": _by_difficulty,
    "depth": _depth,
    "oracles": _oracles,
    "recall": _recall,
    "rounds": _rounds,
    "weights": _weights,
}


def oracles_by_k(results: Results) -> list[dict[int, MetricResults]]:
    """Return metrics of which there are values for two k or more, by k; each has the inner metric's name."""
    judges = {name: metric.judges[0] for name, metric in results.metrics.items()}
    inner = {judge.signature: name for name, judge in judges.items()}
    groups: dict[str, dict[int, MetricResults]] = {}
    for name, judge in judges.items():
        if isinstance(judge, OracleJudge):
            plain = inner.get(judge.inner.signature)
            group = groups.setdefault(judge.inner.signature, {})
            for k, of in ((1, plain), (judge.stage.size, name)):
                if of is not None:
                    found = results.metrics[of]
                    named = judge.inner.name if plain is None else results.metrics[plain].typed
                    group[k] = MetricResults(results, found.place, named)
    return [dict(sorted(group.items())) for group in groups.values() if len(group) > 1]


def learning_curves(
    models: Sequence[Sequence[Mapping[str, float]]],
) -> tuple[list[float], dict[str, Floats]]:
    """Return the rounds that the curves of all models have, and their values of train and dev.

    These are float64 (n_models, n_rounds), of the models that have them all; without any there is no entry.
    """
    known = [{float(row["round"]) for row in curve if "round" in row} for curve in models]
    rounds = sorted(set.intersection(*known)) if known else []
    watched: dict[str, Floats] = {}
    for part in ("train", "dev"):
        found = []
        for curve in models:
            by_round = {float(row["round"]): row.get(part) for row in curve if "round" in row}
            values = [by_round.get(one) for one in rounds]
            if len(values) > 1 and all(value is not None and np.isfinite(value) for value in values):
                found.append(values)
        if found:
            watched[part] = np.array(found, dtype=np.float64)
    return rounds, watched


def weight_shares(models: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return by feature its weight in each model that has it, the heaviest first.

    Weights are divided by the sum of the model's magnitudes: models of different folds differ in scale.
    """
    values: dict[str, list[float]] = {}
    for weights in models:
        known = {feature: float(value) for feature, value in weights.items() if np.isfinite(value)}
        total = added(map(abs, known.values()))
        for feature, value in known.items():
            values.setdefault(feature, []).append(value / total if total > 0 else 0.0)
    mass = {feature: added(map(abs, found)) / len(models) for feature, found in values.items()}
    return {feature: values[feature] for feature in sorted(mass, key=lambda feature: -mass[feature])}


def plot_ranks(ranks: Mapping[str, Ranks], metric: str | None, kind: str | None, ax: Any) -> Any:
    """Draw average ranks over sets by one metric, the first one if None is named, the best at the top.

    Each has half of Nemenyi's critical difference on both sides: systems whose intervals do not overlap
    differ significantly.
    """
    if kind not in (None, "ranks"):
        raise ConfigError(
            f"kind: found {kind!r} of several sets; draw one: report.results[0].plot(kind={kind!r})"
        )
    if not ranks:
        raise ConfigError("kind: found ranks, which needs several sets with three common rows or more")
    name = next(iter(ranks)) if metric is None else metric
    if name not in ranks:
        raise ConfigError(f"unknown metric {name!r}; {did_you_mean(name, ranks)}")
    found = ranks[name]
    half = found.critical_difference / 2
    values = list(found.average.values())
    ax = bars(list(found.average), values, [(value - half, value + half) for value in values], ax)
    ax.set_xlabel(f"average rank by {_plain(name)} over {len(found.sets)} sets")
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
        ax.plot(np.asarray(x), np.asarray(y), label=_plain("first-best" if name == FIRST_BEST else name))
    ax.legend()
    return ax


def _plain(name: str) -> str:
    """A name as text: between dollar signs matplotlib reads formulas."""
    return printable(name).replace("$", r"\$")
