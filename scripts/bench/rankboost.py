#!/usr/bin/env python3
"""RankBoost compared with RankLib's: the same weak rankers, and CPU seconds; growth with the length of lists.

    [RERANK_DATA=...] python scripts/bench/rankboost.py [--ranklib JAR] [--quick]

With RERANK_DATA the first set is the training part of OHSUMED's fold 1, without it one of that shape is
drawn. The second set is 70,000 drawn items of 46 features. RankLib (-ranker 2 -round 300, -tc 10 and on
the first set -tc -1) is run on files of the same numbers, which it reads as float32. Like is compared with
like: a fit in a running process with RankLib's seconds less those of a process with one round, and the whole
process of ``rerank train`` on the same file with RankLib's. JAR may also be given as the
environment variable RANKLIB. Each round must put the same items above its threshold, and have the same
step but for our rounding to 2^-30. If two features do so, RankLib takes the one whose sums round to
more, and we take the first.

The last lines are lists of real-valued labels: CPU seconds of one list of growing length, and of 100
lists of 1,000 items.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, cpu_seconds

import rerank
from rerank.data.lists import CandidateLists
from rerank.learners.rankboost import RankBoost
from rerank.models.stumps import StumpModel

ROUNDS = 300
SETTINGS: dict[str, dict[str, Any]] = {"10": {"thresholds": 10, "spacing": "width"}, "-1": {}}


def draw(n_lists: int, length: int, n_features: int, seed: int = 0) -> CandidateLists:
    """Lists with labels 0 to 4 and features scaled by list, many of whose values are equal."""
    rng = np.random.default_rng(seed)
    n = n_lists * length
    X = rng.gamma(0.7, 1.0, (n, n_features)) * (rng.random((n, n_features)) < rng.uniform(0.2, 1, n_features))
    X /= X.reshape(n_lists, length, n_features).max(axis=1).repeat(length, axis=0) + 1e-9
    utility = X @ rng.normal(0, 1, n_features) + rng.normal(0, 2, n)
    labels = np.digitize(utility, np.quantile(utility, [0.5, 0.75, 0.9, 0.97])).astype(float)
    X = np.round(X, 4).astype(np.float32)
    return CandidateLists.from_arrays(X, labels, group=[length] * n_lists, source="drawn lists")


def ohsumed() -> CandidateLists:
    """The training part of OHSUMED's fold 1 as float32, or drawn lists of its shape."""
    folder = os.environ.get("RERANK_DATA")
    path = Path(folder or ".") / "ohsumed" / "Fold1" / "train.txt.gz"
    if not folder or not path.exists():
        print(f"{path} is absent: drawn lists of the shape of OHSUMED's fold 1")
        return draw(63, 146, 25)
    return rerank.load(str(path), dtype="float32")


def write(lists: CandidateLists, path: Path) -> None:
    """Write LETOR lines with as many digits as float32 needs."""
    assert lists.labels is not None
    with path.open("w", encoding="ascii") as out:
        rows = zip(lists.labels.tolist(), lists.list_index.tolist(), lists.features.to_dense(), strict=True)
        for label, i, row in rows:
            values = " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row, 1))
            out.write(f"{label:g} qid:{i + 1} {values}\n")


def child_seconds(command: list[str]) -> float:
    """The CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def process_seconds(data: Path, settings: dict[str, Any]) -> float:
    """The CPU seconds of ``rerank train`` on a file, with starting, reading and writing the model."""
    command = [sys.executable, "-m", "rerank", "train", "--data", str(data), "--dtype", "float32"]
    command += ["--learner", "rankboost", "--out", str(data.with_suffix(".own"))]
    for key, value in {"rounds": ROUNDS, "directions": "up", **settings}.items():
        command += ["--set", f"{key}={value}"]
    return child_seconds(command)


def ranklib(
    jar: str, data: Path, thresholds: str, rounds: int
) -> tuple[list[tuple[int, float, float]], float]:
    """RankLib's rounds (column, threshold, step), and the CPU seconds of its process."""
    model = data.with_suffix(".model")
    command = ["java", "-jar", jar, "-train", str(data), "-ranker", "2", "-metric2t", "NDCG@10"]
    command += ["-round", str(rounds), "-tc", thresholds, "-save", str(model)]
    seconds = child_seconds(command)
    line = next(line for line in model.read_text().splitlines() if not line.startswith("##"))
    parts = [part.split(":") for part in line.split()]
    return [(int(f) - 1, float(t), float(step)) for f, t, step in parts], seconds


def equal_rounds(
    model: StumpModel, found: list[tuple[int, float, float]], lists: CandidateLists
) -> tuple[int, int]:
    """How many rounds from the first one on are the same, and in how many of them the features are twins."""
    twins = 0
    rounds = zip(model.feature.tolist(), model.threshold, model.step, found, strict=False)
    for r, (f, t, step, (other, threshold, other_step)) in enumerate(rounds):
        same = np.array_equal(lists.features.column(f) >= t, lists.features.column(other) > threshold)
        if not (same and abs(step - other_step) < 2.0**-29):
            return r, twins
        twins += f != other
    return min(model.n_rounds, len(found)), twins


def compare(name: str, lists: CandidateLists, jar: str | None, thresholds: str, folder: Path) -> None:
    """Print the seconds of a fit, and RankLib's."""
    learner = RankBoost(rounds=ROUNDS, directions="up", **SETTINGS[thresholds])
    model = learner.fit(lists)
    assert isinstance(model, StumpModel)
    warm = cpu_seconds(lambda: learner.fit(lists), times=3)
    data = folder / "train.txt"
    write(lists, data)
    whole = min(process_seconds(data, SETTINGS[thresholds]) for _ in range(3))
    text = f"{name}, -tc {thresholds}: {model.n_rounds} rounds {warm:.3f} CPU s, whole process {whole:.2f}"
    if jar is not None:
        found, theirs = ranklib(jar, data, thresholds, ROUNDS)
        rounds = theirs - ranklib(jar, data, thresholds, 1)[1]
        text += f"; RankLib {rounds:.1f} without start and reading, {rounds / warm:.0f} x"
        text += f", whole process {theirs:.1f}, {theirs / whole:.0f} x"
        equal, twins = equal_rounds(model, found, lists)
        text += f"; {equal} of {len(found)} rounds are the same, {twins} of them by another feature"
    print(text, flush=True)


def growth(quick: bool) -> None:
    """Print the seconds for lists of real-valued labels, and the exponent of the growth."""
    rng = np.random.default_rng(0)

    def seconds(n_lists: int, length: int) -> float:
        X = rng.normal(0, 1, (n_lists * length, 20))
        y = X @ rng.normal(0, 1, 20) + rng.normal(0, 1, len(X))
        lists = CandidateLists.from_arrays(X, y, group=[length] * n_lists)
        learner = RankBoost(rounds=100, thresholds=32)
        return cpu_seconds(lambda: learner.fit(lists), times=3)

    lengths = [1000, 4000] if quick else [1000, 4000, 16_000, 64_000]
    found = [seconds(1, length) for length in lengths]
    power = np.polyfit(np.log(lengths), np.log(found), 1)[0]
    text = ", ".join(f"{k:,}: {s:.3f}" for k, s in zip(lengths, found, strict=True))
    print(f"one list of n items, 20 features, 100 rounds, CPU s: {text}; grows as n^{power:.2f}")
    n = 10 if quick else 100
    print(f"{n} lists of 1,000 items, all pairs: {seconds(n, 1000):.3f} CPU s")


def main() -> None:
    parser = arguments(__doc__ or "", quick="a tenth of the second set, shorter lists")
    parser.add_argument("--ranklib", metavar="JAR", default=os.environ.get("RANKLIB"))
    args = parser.parse_args()
    if args.ranklib is None:
        print("RankLib is absent (--ranklib JAR): only our own seconds")
    first, second = ohsumed(), draw(70 if args.quick else 700, 100, 46)
    with tempfile.TemporaryDirectory() as folder:
        compare("OHSUMED fold 1", first, args.ranklib, "10", Path(folder))
        compare("OHSUMED fold 1", first, args.ranklib, "-1", Path(folder))
        compare(f"{second.n_items:,} items", second, args.ranklib, "10", Path(folder))
    growth(args.quick)


if __name__ == "__main__":
    main()
