#!/usr/bin/env python3
"""MERT with 20 restarts: dev and test values, CPU seconds and memory; growth with the number of lists.

    python scripts/bench/mert.py [--set FOLDER] [--metric BLEU] [--seeds 3] [--moses PATH/TO/mert]
                                 [--jobs 2] [--quick]

A folder holds {dev,test}.nbest and {dev,test}.ref, packed or not; without one, lists are generated. With
--moses, Moses' mert runs on the same dev lists: it reads feature and score files that are written for it,
starts from the first stage's weights and draws its restarts from [-1, 1]. "search" is our CPU time without
loading and counting; "process" is all of a process, Python's start and the reading of text included.

Growth is shown on 240 to 24,000 lists of 16 candidates, drawn with 14 features and the counts of BLEU, for 1,
3 and 20 restarts: CPU seconds of a fit, µs for each line search and 1,000 candidates, and the exponents of
both from the smallest to the largest set. The first also holds the growth of the number of searches. --jobs
climbs once more with so many threads; the models must be the same.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from common import arguments
from tuners import draw

import rerank
from rerank.core.system import PEAK_UNIT
from rerank.core.types import AnyArray, Floats
from rerank.core.workers.parallel import using
from rerank.data.lists import CandidateLists
from rerank.learners.base import FitInputs
from rerank.learners.initial import initial_weights
from rerank.learners.tuning.mert import Mert
from rerank.metrics.base import parse
from rerank.metrics.selecting import SelectingJudge
from rerank.models.linear import LinearModel
from rerank.models.training import RestartsRecord

RESTARTS = 20
MEAN = 10


def load(folder: Path, part: str) -> tuple[CandidateLists, Path, Path]:
    nbest, refs = (next(folder.glob(f"{part}.{kind}*")) for kind in ("nbest", "ref"))
    return rerank.load(str(nbest), "moses", refs=str(refs)), nbest, refs


def write_set(folder: Path, n_lists: int = 1000, n_best: int = 16, n_features: int = 16) -> None:
    """Write lists whose better candidates have noisy features that show it."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(5000)]
    weights = 1 / np.arange(1, len(words) + 1)
    weights /= weights.sum()
    signs = rng.normal(size=n_features)
    for part in ("dev", "test"):
        nbest, refs = folder / f"{part}.nbest", folder / f"{part}.ref"
        with open(nbest, "w", encoding="utf-8") as out, open(refs, "w", encoding="utf-8") as ref:
            for i in range(n_lists):
                reference = rng.choice(words, rng.integers(8, 35), p=weights)
                ref.write(" ".join(reference) + "\n")
                for wrong in rng.uniform(0.2, 0.7, n_best):
                    keep = rng.random(len(reference)) > wrong
                    text = " ".join(np.where(keep, reference, rng.choice(words, len(reference), p=weights)))
                    values = signs * wrong + rng.normal(size=n_features)
                    shown = " ".join(f"{value:.4f}" for value in values)
                    out.write(f"{i} ||| {text} ||| f= {shown} ||| {-values[0]:.4f}\n")


def judged(lists: CandidateLists, metric: str) -> SelectingJudge:
    judge = parse(metric).prepare(lists)
    assert isinstance(judge, SelectingJudge), f"{metric} judges rankings"
    return judge


def ours(
    sets: Sequence[CandidateLists], metric: str, seed: int, average: int = 1
) -> tuple[float, float, float]:
    """Dev value, test value, CPU seconds of the fit alone."""
    dev, test = (judged(lists, metric) for lists in sets)
    started = time.process_time()
    model = Mert(restarts=RESTARTS, seed=seed, average=average).fit(sets[0], judge=dev)
    took = time.process_time() - started
    scores = [model.score_items(lists) for lists in sets]
    return _value(dev, scores[0]), _value(test, scores[1]), took


def _value(judge: SelectingJudge, scores: Floats) -> float:
    return float(judge.score_from_sums(judge.per_list(scores).sum(axis=0)))


# A small process between us and the one that is measured: a child starts with its parent's peak.
_LAUNCH = f"""
import resource, subprocess, sys
with open("log", "wb") as log:
    code = subprocess.run(sys.argv[1:], stdout=log, stderr=log).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss * {PEAK_UNIT} / 2**20)
"""


def measured(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and peak MB of a process that is run in a folder."""
    launch = [sys.executable, "-S", "-c", _LAUNCH, *command]
    result = subprocess.run(launch, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    code, seconds, peak = map(float, result.split())
    if code:
        sys.exit(f"{command[0]}: {(folder / 'log').read_text()[-500:]}")
    return seconds, peak


def our_process(nbest: Path, refs: Path, metric: str, seed: int, folder: Path) -> tuple[float, float]:
    command = [
        sys.executable,
        "-m",
        "rerank",
        "train",
        "--data",
        str(nbest),
        "-f",
        "moses",
        "--refs",
        str(refs),
    ]
    command += ["--learner", "mert", "--metric", metric, "--seed", str(seed), "--out", str(folder / "model")]
    return measured(command, folder)


def write_for_moses(lists: CandidateLists, judge: SelectingJudge, metric: str, folder: Path) -> None:
    """The files that mert reads: features, statistics, and where to start and to draw from."""
    stats: AnyArray = judge.per_item
    if metric == "BLEU":  # (correct, total) of each order in turn, then the reference's length
        stats = np.column_stack([stats[:, [n, n + 4]] for n in range(4)] + [stats[:, 9]])
    X = lists.features.to_dense()
    heads = {
        "feats": ("FEATURES", " ".join(f"f{j}" for j in range(X.shape[1]))),
        "scores": ("SCORES", metric),
    }
    for name, values in (("feats", X), ("scores", stats)):
        kind, tail = heads[name]
        with open(folder / f"dev.{name}", "w", encoding="utf-8") as out:
            for i in range(lists.n_lists):
                rows = values[lists.offsets[i] : lists.offsets[i + 1]]
                out.write(f"{kind}_TXT_BEGIN_0 {i} {len(rows)} {rows.shape[1]} {tail}\n")
                out.writelines(" ".join(f"{v:.12g}" for v in row) + "\n" for row in rows)
                out.write(f"{kind}_TXT_END_0\n")
    start = initial_weights(lists, FitInputs(), "auto")[0]
    start = start / np.abs(start).sum()
    lines = (start, -np.ones_like(start), np.ones_like(start))
    (folder / "init.opt").write_text("".join(" ".join(f"{v:.9g}" for v in row) + "\n" for row in lines))


def moses(
    program: str,
    sets: Sequence[CandidateLists],
    metric: str,
    seed: int,
    folder: Path,
    restarts: int = RESTARTS,
) -> tuple[float, float, float, float]:
    """Dev value, test value, CPU seconds and peak MB of Moses' mert on the files in ``folder``."""
    command = [program, "-d", str(sets[0].n_features), "--sctype", metric, "--scconfig", "case:true"]
    command += ["--ffile", "dev.feats", "--scfile", "dev.scores", "--ifile", "init.opt"]
    seconds, peak = measured([*command, "-n", str(restarts), "-r", str(seed)], folder)
    weights = np.array((folder / "weights.txt").read_text().split(), dtype=float)
    found = [
        _value(judged(lists, metric), lists.with_columns(sets[0].names()).features.scores(weights))
        for lists in sets
    ]
    return found[0], found[1], seconds, peak


def row(name: str, values: Sequence[Sequence[float]]) -> None:
    """A line of the table: means over seeds, and ranges of the values."""
    columns = np.array(values, dtype=float).T
    dev, test = (f"{c.mean():6.2f} ({c.min():.2f} to {c.max():.2f})" for c in columns[:2])
    rest = " ".join(f"{c.mean():9.2f}" for c in columns[2:])
    print(f"{name:<12} {dev:>24} {test:>24} {rest}")


def tuned(lists: CandidateLists, restarts: int, jobs: int = 1) -> tuple[float, float, LinearModel]:
    """CPU seconds and seconds by the clock of a fit for BLEU, and its model."""
    judge = judged(lists, "BLEU")
    begun, started = time.perf_counter(), time.process_time()
    with using(jobs):
        model = Mert(restarts=restarts).fit(lists, judge=judge)
    assert isinstance(model, LinearModel)
    return time.process_time() - started, time.perf_counter() - begun, model


def print_growth(sizes: Sequence[int], jobs: int, program: str | None, folder: Path) -> None:
    """A table of seconds against the number of lists, and exponents."""
    tuned(draw(20, 16), 1)
    head = f"\n{'restarts':>8} {'items':>9} {'CPU s':>8} {'searches':>9} {'µs/1,000 items':>14} {'dev':>7}"
    head += f" {'s':>7} {f's, {jobs} jobs':>10}" if jobs > 1 else ""
    print(head + ("  Moses s     dev" if program else ""))
    for restarts in (1, 3, 20):
        found = []
        for n_lists in sizes:
            lists = draw(n_lists, 16, 14)
            took, clock, model = tuned(lists, restarts)
            rounds = model.training.rounds
            assert isinstance(rounds, RestartsRecord)
            searches = sum(end.searches for end in rounds.restarts)
            each = 1e9 * took / searches / lists.n_items
            found.append((took, each))
            line = f"{restarts:8} {lists.n_items:9,d} {took:8.3f} {searches:9,d} {each:14.2f}"
            line += f" {rounds.train:7.3f}"
            if jobs > 1:
                other = tuned(lists, restarts, jobs)
                assert other[2].weights.tobytes() == model.weights.tobytes(), "jobs changed the model"
                line += f" {clock:7.2f} {other[1]:10.2f}"
            if program:
                write_for_moses(lists, judged(lists, "BLEU"), "BLEU", folder)
                dev, _, seconds, _ = moses(program, (lists, lists), "BLEU", 1, folder, restarts)
                line += f" {seconds:8.2f} {dev:7.3f}"
            print(line, flush=True)
        power = np.log(sizes[-1] / sizes[0])
        total, single = np.log(np.divide(found[-1], found[0])) / power
        print(f"{'':8} exponents: {total:.2f} of the seconds, {1 + single:.2f} of a search")


def main() -> None:
    warnings.simplefilter("ignore")
    parser = arguments(__doc__, "small sets and one seed")
    parser.add_argument("--set", type=Path)
    parser.add_argument("--metric", default="BLEU")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--moses", help="the program; without it there is no peer")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    program = str(Path(given.moses).resolve()) if given.moses else None
    if given.quick:
        given.seeds = 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = (given.set or folder).resolve()
        if given.set is None:
            write_set(folder, 100 if given.quick else 1000)
        (dev, nbest, refs), (test, _, _) = load(source, "dev"), load(source, "test")
        test = test.with_columns(dev.names())
        print(f"{dev}; {given.metric}, {RESTARTS} restarts, {given.seeds} seeds")
        print(f"{'':<12} {'dev':>24} {'test':>24} {'search s':>9} {'process s':>9} {'peak MB':>9}")
        seeds = range(1, given.seeds + 1)
        rows = [
            (*ours((dev, test), given.metric, seed), *our_process(nbest, refs, given.metric, seed, folder))
            for seed in seeds
        ]
        row("rerank", rows)
        means = [(*ours((dev, test), given.metric, seed, MEAN), np.nan, np.nan) for seed in seeds]
        row(f"  average={MEAN}", means)
        if program:
            write_for_moses(dev, judged(dev, given.metric), given.metric, folder)
            peers = [moses(program, (dev, test), given.metric, seed, folder) for seed in seeds]
            row("Moses mert", [(a, b, np.nan, seconds, peak) for a, b, seconds, peak in peers])
        else:
            print("Moses mert: not given (--moses)")
        print_growth((24, 240) if given.quick else (240, 2400, 24000), given.jobs, program, folder)


if __name__ == "__main__":
    main()
