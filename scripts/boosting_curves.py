#!/usr/bin/env python3
"""Tables 2 to 4 and Figures 5 to 9 of Collins & Koo (2005) on other parses, as data files.

    python scripts/boosting_curves.py STORES OUT [--rounds 10000] [--epsilons 0.001 0.0025] [--every 10]

STORES holds train.store and dev.store of `features parse`. Labels are the paper's Score. A relative score
is the sum of the chosen parses' Scores on dev, 100 for the first stage's choice (their equation 21).
OUT/curves.tsv: relative score, Work(n) and Savings(n) by round, smoothing and weighting (Figures 5 to 9);
OUT/table2.tsv: best round and score of each smoothing; OUT/table3.tsv: weighted pairs beside unweighted ones;
OUT/table4.tsv: Savings(a, b) of the best smoothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rerank
from rerank import CandidateLists
from rerank.core.files.write import write_lines
from rerank.core.workers import parallel

EPSILONS = (0.0001, 0.00025, 0.0005, 0.00075, 0.001, 0.0025, 0.005, 0.0075)  # the paper's
WEIGHTINGS = {"weighted": "score", "unweighted": "one"}
METRIC = "label@1"  # the mean Score of the chosen parses
Curve = list[dict[str, float]]
Runs = dict[tuple[str, float], Curve]


def run(train: CandidateLists, dev: CandidateLists, first: float, rounds: int, **settings: Any) -> Curve:
    """The learning curve of one run, with relative scores."""
    model = rerank.train(train, "boosting", dev=dev, metric=METRIC, rounds=rounds, **settings)
    for row in model.curve:
        row["score"] = 100 * row["dev"] / first
    return model.curve


def best(curve: Curve) -> dict[str, float]:
    """The first round with the best score."""
    return max(curve, key=lambda row: row["score"])


def savings(curve: Curve, a: int, b: int) -> float:
    """Savings(a, b): passes that Figure 3 makes for each one of Figure 4, rounds a to b."""
    before = curve[a - 2]["work"] if a > 1 else 0.0
    work = curve[b - 1]["work"] - before
    return (1 + b - a) / work if work > 0 else float("inf")


def spans(rounds: int) -> list[tuple[int, int]]:
    """All rounds, and then those between powers of ten, as in the paper's Table 4."""
    ends = [10**k for k in range(1, 9) if 10**k < rounds] + [rounds]
    return [(1, rounds), *zip([1, *(end + 1 for end in ends[:-1])], ends, strict=True)]


def write(path: Path, columns: str, rows: list[list[Any]]) -> None:
    """Write rows as TSV."""
    lines = [
        "\t".join(f"{cell:.10g}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows
    ]
    write_lines(str(path), [columns.replace(" ", "\t"), *lines])


def write_all(out: Path, runs: Runs, every: int) -> None:
    """Write the four files."""
    rows = []
    for (weighting, epsilon), curve in runs.items():
        for row in curve[every - 1 :: every]:
            n = int(row["round"])
            work = row["work"]
            rows.append([weighting, epsilon, n, row["score"], row["loss"], work, savings(curve, 1, n)])
    write(out / "curves.tsv", "weighting epsilon round score loss work savings", rows)
    peaks = {key: best(curve) for key, curve in runs.items()}
    weighted = {epsilon: peak for (weighting, epsilon), peak in peaks.items() if weighting == "weighted"}
    table = [[e, int(peak["round"]), peak["score"], int(peak["features"])] for e, peak in weighted.items()]
    write(out / "table2.tsv", "epsilon best_round best_score features", table)
    table = [[e, peak["score"], peaks["unweighted", e]["score"]] for e, peak in weighted.items()]
    write(out / "table3.tsv", "epsilon weighted unweighted", table)
    epsilon = max(weighted, key=lambda e: weighted[e]["score"])
    curve = runs["weighted", epsilon]
    write(out / "table4.tsv", "from to savings", [[a, b, savings(curve, a, b)] for a, b in spans(len(curve))])
    print(f"best: epsilon {epsilon:g}, round {best(curve)['round']}, score {best(curve)['score']:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--every", type=int, default=10, help="rounds between the rows of curves.tsv")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    train, dev = (
        rerank.label(rerank.load(asked.stores / f"{part}.store"), "PARSEVAL.score")
        for part in ("train", "dev")
    )
    first = rerank.evaluate(dev, dev.first_best, [METRIC])[METRIC]
    keys = [(weighting, epsilon) for weighting in WEIGHTINGS for epsilon in asked.epsilons]

    def one(weighting: str, epsilon: float) -> Curve:
        settings = {"pair_weighting": WEIGHTINGS[weighting], "epsilon": epsilon}
        return run(train, dev, first, asked.rounds, **settings)

    with parallel.using(asked.jobs):
        curves = parallel.each(one, keys, threads=True)
    asked.out.mkdir(parents=True, exist_ok=True)
    write_all(asked.out, dict(zip(keys, curves, strict=True)), asked.every)


if __name__ == "__main__":
    main()
