#!/usr/bin/env python3
"""Figure 2 of Shen & Joshi (2005) for any lists: learning curves of perceptrons by epochs and by time.

    python scripts/perceptron_figure2.py TRAIN TEST --metric AP --out DIR [--epochs N]

Both algorithms are trained on all ordinal pairs with uneven margins, tau = 1, as in the paper, with the last
weights and with their mean. A point is the error on TEST after an epoch: 1 - the metric, or 100 - it if its
scale is 0 to 100. Times are CPU seconds of training, without those of scoring TEST.

DIR/figure2.tsv has every point, and with rerank[report] DIR/figure2-epochs.svg and DIR/figure2-seconds.svg
the figures.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from line_chart import Curve, line_chart

import rerank
from rerank import CandidateLists, RerankError
from rerank.core.files.write import write_lines
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric, value_of
from rerank.learners.perceptron import Perceptron
from rerank.metrics.base import parse

SETTINGS = {
    f"Algorithm {algorithm}, {name}": {"algorithm": algorithm, "average": average}
    for algorithm in (1, 2)
    for average, name in (("last", "last weights"), ("average", "mean"))
}


class Point(NamedTuple):
    """The error of a curve after an epoch, and the CPU seconds of training up to then."""

    curve: str
    epoch: int
    seconds: float
    error: float


def points_of(
    curve: str, train: CandidateLists, test: CandidateLists, judge: PreparedMetric, epochs: int
) -> list[Point]:
    """The learning curve of one setting."""
    points: list[Point] = []
    started, scoring = time.process_time(), 0.0
    whole = 100.0 if judge.name.startswith(("BLEU", "WER", "TER", "PARSEVAL", "GDT")) else 1.0

    def see(weights: Floats, scores: Floats) -> None:
        nonlocal scoring
        now = time.process_time()
        value = value_of(judge, scores)
        error = whole - value if judge.better > 0 else value
        points.append(Point(curve, len(points) + 1, now - started - scoring, error))
        scoring += time.process_time() - now

    given = {"pairs": "ordinal", "margin": "uneven", "tau": 1.0, "epochs": epochs}
    Perceptron(**given, **SETTINGS[curve]).fit(train, observer=(test, see))  # type: ignore[arg-type]
    return points


def table(points: list[Point], metric: str) -> list[str]:
    """The lowest error of each curve, when it is reached, and that after the last epoch, as lines."""
    lines = [f"{'error by ' + metric:26} lowest  epoch  CPU s    last  CPU s"]
    for curve in SETTINGS:
        own = [point for point in points if point.curve == curve]
        best, last = min(own, key=lambda point: point.error), own[-1]
        numbers = (
            f"{best.error:7.4f}  {best.epoch:5d}  {best.seconds:5.1f} {last.error:7.4f}  {last.seconds:5.1f}"
        )
        lines.append(f"{curve:26}{numbers}")
    return lines


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", help="judged lists")
    parser.add_argument("test", help="judged lists with the same features")
    parser.add_argument("--metric", required=True, help="such as AP; labels of parses are PARSEVAL's")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    asked = parser.parse_args(argv)
    try:
        train, test = (rerank.load(path) for path in (asked.train, asked.test))
        judge = parse(asked.metric).prepare(test)
    except RerankError as error:
        parser.error(str(error))
    points = [point for curve in SETTINGS for point in points_of(curve, train, test, judge, asked.epochs)]
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = (f"{p.curve}\t{p.epoch}\t{p.seconds:.3f}\t{p.error:.6g}" for p in points)
    write_lines(str(asked.out / "figure2.tsv"), ["curve\tepoch\tseconds\terror", *rows])
    print("\n".join(table(points, judge.name)))
    if importlib.util.find_spec("matplotlib"):
        for name, label in (("epoch", "epochs"), ("seconds", "CPU seconds")):
            curves = []
            for curve in SETTINGS:
                own = [point for point in points if point.curve == curve]
                x = np.array([getattr(point, name) for point in own], dtype=np.float64)
                curves.append(Curve(curve, x, np.array([point.error for point in own])))
            suffix = "epochs" if name == "epoch" else name
            line_chart(
                asked.out / f"figure2-{suffix}.svg",
                curves,
                x_label=label,
                y_label=f"error by {judge.name}",
            )


if __name__ == "__main__":
    main()
