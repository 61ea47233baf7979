"""Time a few operations, append them to a history, and compare with it.

Each row is the CPU time of one operation divided by that of a fixed piece of work of Python and numpy in
the same run, so that runs of machines of one kind can be compared. A row is worse if it is 10 % above the
median of the last ten runs of machines of the same name.

    python scripts/ci/bench_history.py --history bench.jsonl --note note.md

The history gets one line of JSON for each run: commit, machine, rows. The note is Markdown, written only if a
row is worse; then the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

WORSE = 1.10
RUNS = 10  # of the history, to which a run is compared
LISTS, LENGTH, FEATURES = 1000, 20, 30


def cpu_seconds(run: Callable[[], Any], times: int = 7) -> float:
    """The CPU seconds of the best of some runs; children that have ended count."""
    best = float("inf")
    for _ in range(times):
        start = os.times()
        run()
        end = os.times()
        best = min(best, sum(end[:4]) - sum(start[:4]))
    return best


def unit() -> None:
    """Do the fixed work: a loop of Python, and sorting and products of numpy."""
    total = 0
    for i in range(400_000):
        total += i * i % 7
    values = np.random.default_rng(1).normal(size=400_000)
    for _ in range(3):
        np.sort(values)
        np.cumsum(values * values)


def operations(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name; the inputs are made first."""
    import rerank

    rng = np.random.default_rng(1)
    n = LISTS * LENGTH
    features = rng.normal(size=(n, FEATURES)).round(3)
    labels = np.clip(np.rint(features[:, 0] + features[:, 1] + rng.normal(size=n)), 0, 2)
    lines = [
        f"{label:.0f} qid:{i // LENGTH} " + " ".join(f"{j}:{value:g}" for j, value in enumerate(row, 1))
        for i, (label, row) in enumerate(zip(labels, features, strict=True))
    ]
    letor = folder / "lists.letor"
    letor.write_text("\n".join(lines) + "\n")
    lists = rerank.load(str(letor))
    scores = features[:, 0]

    def train(learner: str, **settings: Any) -> Callable[[], Any]:
        return lambda: rerank.train(lists, learner=learner, **settings)

    def verb(*arguments: str) -> Callable[[], Any]:
        command = [sys.executable, "-m", "rerank", *arguments]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    return {
        "read LETOR": lambda: rerank.load(str(letor)),
        "evaluate AP, nDCG@10": lambda: rerank.evaluate(lists, scores, ["AP", "nDCG@10"]),
        "train perceptron": train("perceptron"),
        "train ranksvm": train("ranksvm"),
        "train boosting": train("boosting", rounds=50),
        "rerank --version": verb("--version"),
        "rerank eval": verb("eval", str(letor), f"{letor}:1", "-m", "AP"),
    }


def measure() -> dict[str, float]:
    """The rows of this run: CPU time of each operation over that of the fixed work."""
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, run in operations(Path(folder)).items():
            run()
            rows[name] = round(cpu_seconds(run) / cpu_seconds(unit), 4)
            print(f"{name:24} {rows[name]:8.3f}", flush=True)
    return rows


def worse(rows: Mapping[str, float], history: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float]]:
    """The rows that are worse than the median of the last runs: name, median, now."""
    found = []
    for name, now in rows.items():
        past = [run["rows"][name] for run in history if name in run["rows"]][-RUNS:]
        if past and now > WORSE * median(past):
            found.append((name, median(past), now))
    return found


def main() -> None:
    """Measure, compare, append."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--history", type=Path, required=True, help="JSON Lines, made if absent")
    parser.add_argument("--machine", default=platform.machine(), help="name of this kind of machine")
    parser.add_argument("--commit", default=os.environ.get("GITHUB_SHA", ""))
    parser.add_argument("--note", type=Path, help="Markdown about the rows that are worse")
    given = parser.parse_args()
    lines = given.history.read_text().splitlines() if given.history.exists() else []
    past = [run for run in map(json.loads, lines) if run["machine"] == given.machine]
    rows = measure()
    found = worse(rows, past)
    if found:  # a second look: another process of the machine may have disturbed the first
        again = measure()
        rows = {name: min(value, again[name]) for name, value in rows.items()}
        found = worse(rows, past)
    day = time.strftime("%Y-%m-%d", time.gmtime())
    record = {"day": day, "commit": given.commit, "machine": given.machine, "rows": rows}
    given.history.write_text("".join(f"{line}\n" for line in [*lines, json.dumps(record)]))
    if not found:
        print(f"no row is 10 % worse than the median of the last {min(len(past), RUNS)} runs")
        return
    table = ["| operation | median before | now | |", "| --- | --: | --: | --: |"]
    table += [
        f"| {name} | {old:.3f} | {now:.3f} | {100 * (now / old - 1):+.0f} % |" for name, old, now in found
    ]
    text = "Slower than the median of the last runs (CPU time over that of fixed work):\n\n" + "\n".join(
        table
    )
    print(text)
    if given.note:
        given.note.write_text(f"{text}\n")
    sys.exit(1)


if __name__ == "__main__":
    main()
