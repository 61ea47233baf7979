"""Sections on values by a number: the share of the training lists, the candidates that an oracle has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rerank.evaluation.results import MetricResults, SystemResult
from rerank.metrics.oracle import OracleJudge
from rerank.report.page.drawing import Series
from rerank.report.page.parts import Figure, Key, Section, number
from rerank.report.page.view import View, figure, typed

_WITH_INTERVALS = 4  # systems of a figure
_REFERENCES = (("first-best", "first_best", -1), ("random", "random", -2), ("oracle", "oracle", -3))

Rows = Mapping[str, Mapping[int, SystemResult]]  # by system and number


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
    for by_k in _oracles(view):
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


def _oracles(view: View) -> list[dict[int, MetricResults]]:
    """Metrics of which there are values for two k or more, by k; each has the inner metric's name."""
    judges = {name: metric.judges[0] for name, metric in view.results.metrics.items()}
    inner = {judge.signature: name for name, judge in judges.items()}
    groups: dict[str, dict[int, MetricResults]] = {}
    for name, judge in judges.items():
        if isinstance(judge, OracleJudge):
            plain = inner.get(judge.inner.signature)
            group = groups.setdefault(judge.inner.signature, {})
            for k, of in ((1, plain), (judge.stage.size, name)):
                if of is not None:
                    found = view.results.metrics[of]
                    named = judge.inner.name if plain is None else view.results.metrics[plain].typed
                    group[k] = replace(found, typed=named)
    return [dict(sorted(group.items())) for group in groups.values() if len(group) > 1]


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
