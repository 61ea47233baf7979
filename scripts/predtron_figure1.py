#!/usr/bin/env python3
"""Figure 1 of the Predtron paper (Jain, Natarajan & Tewari 2015): simulated lists, test losses.

    python scripts/predtron_figure1.py CONFIG --out DIR [--quick]

CONFIG (configs/predtron-figure1.yaml) names the panels: what varies, the curves as settings of the learner,
and the tie rules for the ranking without loss that an update moves towards (setting ties; the paper allows
any). A curve is the loss 1 - nDCG (gains 2^label - 1, all places) on new test lists, after one pass with eta
= 1 over n training lists in their order, with the last weights. In all curves of a repetition the data is the
same.

Data as in section 6: document i of a list is Gaussian around mu_i, the labels are m - j for scores X·w*
between 1/(j + 1) and 1/j, so label m - 1 has no upper bound and label 0 no lower one. The paper leaves open
and here is set: w* is a random direction of length ``length``, mu_i = the middle of label m - i's scores
times w* / |w*|^2 (centres: thresholds) or has no mean (centres: zero), and the standard deviation is
``sigma`` in every direction. With s features in w*, X is uniform in [-1, 1] and w* has random signs of one
size.

DIR/figure1.tsv has mean, standard error and median of every point, DIR/figure1.txt the table that is printed,
and with rerank[report] DIR/figure1-PANEL-TIES.svg has the figures. --quick makes two repetitions of small
panels.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from line_chart import Curve, line_chart

from rerank import CandidateLists, RerankError
from rerank.core.files.write import write_lines
from rerank.core.files.yaml import read_yaml
from rerank.core.settings import Settings, setting
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.learners.predtron import Predtron
from rerank.metrics.base import parse

Ties = Literal["score", "index"]
X_LABELS = {"n": "training lists (n)", "m": "documents of a list (m)", "p": "features (p)"}


class Panel(Settings):
    """One panel: n training lists of m documents with p features, one of which varies."""

    vary: Literal["n", "m", "p"] = setting("n", "what varies")
    values: list[int] = setting([100], "its values")
    n: int = setting(100, "training lists", ge=1)
    m: int = setting(20, "documents of a list", ge=2)
    p: int = setting(30, "features", ge=1)
    s: int | None = setting(None, "features in w*, with uniform X; none = all, with Gaussian X", ge=1)
    centres: Literal["thresholds", "zero"] = setting("thresholds", "means of Gaussian documents")
    sigma: float = setting(1.0, "standard deviation of Gaussian documents", gt=0)
    length: float = setting(1.0, "length of w*", gt=0)
    curves: dict[str, dict[str, Any]] = setting({}, "settings of the learner for each curve")


class Figure(Settings):
    """The panels, and what they share."""

    seed: int = setting(1, "seed of the data", ge=0)
    repetitions: int = setting(20, "sets of training and test lists", ge=2)
    test_lists: int = setting(100, "test lists", ge=1)
    ties: list[Ties] = setting(["score", "index"], "tie rules")
    panels: dict[str, Panel] = setting({}, "by name")


class Point(NamedTuple):
    """A point of a curve: the losses of all repetitions."""

    panel: str
    ties: str
    curve: str
    x: int
    losses: Floats

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(self.losses.std(ddof=1) / np.sqrt(len(self.losses)))


def draw(panel: Panel, n: int, m: int, p: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Features (n * m, p) and labels (n * m) of n lists."""
    if panel.s is None:
        direction = rng.standard_normal(p)
    else:
        direction = np.zeros(p)
        direction[rng.choice(p, panel.s, replace=False)] = rng.choice([-1.0, 1.0], panel.s)
    direction *= panel.length / np.linalg.norm(direction)
    places = np.arange(1, m + 1)
    if panel.s is None:
        X = panel.sigma * rng.standard_normal((n, m, p))
        if panel.centres == "thresholds":
            middle = 0.5 / places + 0.5 / (places + 1)
            X += middle[:, None] * direction / panel.length**2
    else:
        X = rng.uniform(-1.0, 1.0, (n, m, p))
    scores = X.reshape(n * m, p) @ direction
    thresholds = 1.0 / places[:0:-1]  # 1/m, ..., 1/2: label 0 is below the first
    return X.reshape(n * m, p), np.searchsorted(thresholds, scores).astype(np.float64)


def points_of(name: str, panel: Panel, figure: Figure) -> Iterator[Point]:
    """The points of a panel."""
    found: dict[tuple[str, str, int], list[float]] = {}
    for repetition in range(figure.repetitions):
        for x in panel.values:
            rng = np.random.default_rng([figure.seed, repetition, panel.n if panel.vary == "n" else x])
            size = {key: x if key == panel.vary else int(getattr(panel, key)) for key in ("n", "m", "p")}
            most = max(panel.values) if panel.vary == "n" else size["n"]
            X, y = draw(panel, most + figure.test_lists, size["m"], size["p"], rng)
            lists = CandidateLists.from_arrays(X, y, group=[size["m"]] * (most + figure.test_lists))
            train, test = (lists.subset(part) for part in (range(size["n"]), range(most, lists.n_lists)))
            judge = parse("nDCG-exp").prepare(test)
            for ties in figure.ties:
                for curve, settings in panel.curves.items():
                    common = {"epochs": 1, "average": "last", "shuffle": False, "ties": ties}
                    model = Predtron(**{**common, **settings}).fit(train)
                    loss = 1.0 - value_of(judge, model.score_aligned(test))
                    found.setdefault((ties, curve, x), []).append(loss)
    for (rule, curve, x), losses in found.items():
        yield Point(name, rule, curve, x, np.array(losses))


def smaller(figure: Figure) -> Figure:
    """The figure for --quick."""
    panels = {
        name: panel.with_settings(values=[panel.values[0], panel.values[1]])
        for name, panel in figure.panels.items()
    }
    return figure.with_settings(repetitions=2, test_lists=20, panels=panels)


def table(points: Sequence[Point], figure: Figure) -> list[str]:
    """The lines of the printed tables, one for each panel and tie rule: mean and standard error."""
    lines = []
    for name, panel in figure.panels.items():
        for ties in figure.ties:
            lines.append(f"{name}, ties={ties}: 1 - nDCG on test lists, mean ± standard error (median)")
            lines.append(f"{panel.vary:>6}" + "".join(f"{curve:>34}" for curve in panel.curves))
            for x in panel.values:
                here = {p.curve: p for p in points if (p.panel, p.ties, p.x) == (name, ties, x)}
                cells = (
                    f"{p.losses.mean():.2e} ± {p.error:.1e} ({np.median(p.losses):.1e})"
                    for p in here.values()
                )
                lines.append(f"{x:>6}" + "".join(f"{cell:>34}" for cell in cells))
            lines.append("")
    return lines


def draw_figures(points: Sequence[Point], figure: Figure, out: Path) -> None:
    """Write the figures, with logarithmic losses if f varies as in the paper."""
    for name, panel in figure.panels.items():
        for ties in figure.ties:
            curves: list[Curve] = []
            for curve in panel.curves:
                own = [p for p in points if (p.panel, p.ties, p.curve) == (name, ties, curve)]
                xs, means = np.array([float(p.x) for p in own]), np.array([p.losses.mean() for p in own])
                curves.append(Curve(curve, xs, means, np.array([p.error for p in own])))
            line_chart(
                out / f"figure1-{name}-{ties}.svg",
                curves,
                x_label=X_LABELS[panel.vary],
                y_label="1 - nDCG on test lists",
                title=f"({name}) ties={ties}",
                log_y=panel.s is None,
            )


def run(asked: argparse.Namespace) -> None:
    """Run the simulations that were asked for."""
    values = read_yaml(asked.config.read_text(encoding="utf-8"), str(asked.config))
    panels = {
        name: Panel.checked(panel, f"{asked.config}: {name}") for name, panel in values.pop("panels").items()
    }
    figure = Figure.checked({**values, "panels": panels}, str(asked.config))
    if asked.quick:
        figure = smaller(figure)
    points = [point for name, panel in figure.panels.items() for point in points_of(name, panel, figure)]
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = ["\t".join(("panel", "ties", "curve", "x", "mean", "error", "median"))]
    for p in points:
        numbers = (float(p.losses.mean()), p.error, float(np.median(p.losses)))
        rows.append("\t".join((p.panel, p.ties, p.curve, str(p.x), *map(repr, numbers))))
    write_lines(str(asked.out / "figure1.tsv"), rows)
    lines = table(points, figure)
    write_lines(str(asked.out / "figure1.txt"), lines)
    print("\n".join(lines))
    if importlib.util.find_spec("matplotlib") is None:
        print("no figures: they need matplotlib (pip install 'rerank[report]')")
    else:
        draw_figures(points, figure, asked.out)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", type=Path, help="panels, curves, repetitions")
    parser.add_argument("--out", type=Path, required=True, help="folder of data, table and figures")
    parser.add_argument("--quick", action="store_true", help="two repetitions of two points of each curve")
    try:
        run(parser.parse_args(arguments))
    except (RerankError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
