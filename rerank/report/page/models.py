"""Sections about how models were trained: learning curves and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rerank.core.text import count
from rerank.core.types import Floats
from rerank.evaluation.results import Run
from rerank.report.page.drawing import Interval, Series
from rerank.report.page.parts import Figure, Key, Section, number
from rerank.report.page.view import DRAWN, View, figure, only

_WEIGHTS = 15  # of a figure
_ROUNDS = 120


def curves_section(view: View) -> Section | None:
    """Return the learning curves of drawn systems; None if there are none."""
    having = [name for name in view.ordered if any(len(of.curve) > 1 for of in _outcomes(view, name))]
    figures = [made for name in having[:DRAWN] if (made := _curves(view, name)) is not None]
    if not figures:
        return None
    lead = "The metric watched in training, round by round: its mean over models, and their range."
    return Section("curves", "Learning curves", lead + only(DRAWN, len(having)), (), figures)


def _curves(view: View, system: str) -> Figure | None:
    """The curves on the training lists and the dev lists, if the system has any."""
    curves = [outcome.curve for outcome in _outcomes(view, system) if len(outcome.curve) > 1]
    rounds = _rounds(curves)
    lines, said, most = [], [], 0
    for look, part in ((0, "train"), (1, "dev")):
        values = _values(curves, part, rounds)
        if values is None:
            continue
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


def _rounds(curves: Sequence[Sequence[Mapping[str, float]]]) -> list[float]:
    """The rounds that every curve has, rising."""
    known = [{float(row["round"]) for row in curve if "round" in row} for curve in curves]
    return sorted(set.intersection(*known)) if known else []


def _values(
    curves: Sequence[Sequence[Mapping[str, float]]], part: str, rounds: Sequence[float]
) -> Floats | None:
    """The values of each curve that has them all, float64 (n_curves, n_rounds)."""
    found = []
    for curve in curves:
        by_round = {float(row["round"]): row.get(part) for row in curve if "round" in row}
        values = [by_round.get(one) for one in rounds]
        if len(values) > 1 and all(value is not None and np.isfinite(value) for value in values):
            found.append(values)
    return np.array(found, dtype=np.float64) if found else None


def weights_section(view: View) -> Section | None:
    """Return the weights of drawn systems; None if no model has any."""
    having = [name for name in view.ordered if any(of.weights for of in _outcomes(view, name))]
    figures = [made for name in having[:DRAWN] if (made := _weights(view, name)) is not None]
    if not figures:
        return None
    lead = (
        "Each weight times its feature's standard deviation within lists, as a share of the model's sum: "
        f"the mean over folds and seeds, and their range. The {_WEIGHTS} heaviest of each system."
    )
    return Section("weights", "Weights", lead + only(DRAWN, len(having)), (), figures)


def _weights(view: View, system: str) -> Figure | None:
    """The heaviest features of a system, if its models have weights."""
    models = [_shares(outcome.weights) for outcome in _outcomes(view, system) if outcome.weights]
    if not models:
        return None
    values: dict[str, list[float]] = {}
    for weights in models:
        for feature, value in weights.items():
            values.setdefault(feature, []).append(value)
    mass = {feature: sum(map(abs, found)) / len(models) for feature, found in values.items()}
    heaviest = sorted(mass, key=lambda feature: -mass[feature])[:_WEIGHTS]
    rows = []
    for feature in heaviest:
        found = values[feature]
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


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights divided by the sum of their magnitudes: models of different folds differ in scale."""
    known = {feature: float(value) for feature, value in weights.items() if np.isfinite(value)}
    total = sum(map(abs, known.values()))
    return {feature: value / total if total > 0 else 0.0 for feature, value in known.items()}
