"""Runs and judgements from files to measures, compared with a script around pytrec_eval; polars as a bar.

    python scripts/bench/trec.py [--quick]

Makes runs of 10,000 to 1,000,000 lines (1,000 documents a query, scores with ties) and judgements of a tenth
as many, graded, half of which the run did not retrieve. Every value of every query is compared with
pytrec_eval's first.

Whole processes are ``rerank eval RUN --qrels QRELS -m AP -m nDCG@10`` and the script that its users write
(parse_run, parse_qrel, RelevanceEvaluator, evaluate), by user and system time, alternately, the best of a
few. Then without starting: rerank minus its time on ten lines, the script minus that of importing numpy.
Last, reading alone, in one process: ``rerank.load(RUN, qrels=QRELS)``, pytrec_eval's parsers, and polars,
which splits columns without looking at what they hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, installed, need

import rerank
from rerank.core.system import PEAK_UNIT
from rerank.metrics.base import prepare_all

METRICS = {"AP": "map", "nDCG@10": "ndcg_cut_10"}
SCRIPT = """
import sys, pytrec_eval
with open(sys.argv[2]) as lines:
    qrels = pytrec_eval.parse_qrel(lines)
with open(sys.argv[1]) as lines:
    run = pytrec_eval.parse_run(lines)
found = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10"}).evaluate(run)
for name in ("map", "ndcg_cut_10"):
    print(name, sum(one[name] for one in found.values()) / len(found))
"""
LAUNCH = f"""
import os, sys
out = os.open(os.devnull, os.O_WRONLY)
moves = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=moves)
_, status, used = os.wait4(child, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss * {PEAK_UNIT})
"""
DEPTH = 1000


def make_files(folder: Path, n_lines: int) -> tuple[str, str]:
    """Write a run and judgements; return their paths."""
    rng = np.random.default_rng(n_lines)
    depth = min(DEPTH, n_lines)
    run, qrels = folder / f"{n_lines}.run", folder / f"{n_lines}.qrels"
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for query in range(1000, 1000 + n_lines // depth):
            documents = rng.choice(8_841_823, size=depth, replace=False)
            scores = np.sort(np.round(rng.normal(20, 5, depth), 2 + 2 * (query % 3)))[::-1]
            for rank, (document, score) in enumerate(
                zip(documents.tolist(), scores.tolist(), strict=True), 1
            ):
                run_file.write(f"{query} Q0 {document} {rank} {score} bm25\n")
            n_judged = max(depth // 20, 1)
            own = rng.choice(documents, size=n_judged, replace=False)
            other = rng.choice(np.arange(8_841_823, 9_000_000), size=n_judged, replace=False)
            judged = rng.permutation(np.concatenate([own, other]))
            labels = rng.choice(4, size=len(judged), p=[0.6, 0.2, 0.15, 0.05])
            for document, label in zip(judged.tolist(), labels.tolist(), strict=True):
                qrels_file.write(f"{query} 0 {document} {label}\n")
    return str(run), str(qrels)


def check(run: str, qrels: str) -> None:
    """Compare every value of every query with pytrec_eval's."""
    import pytrec_eval

    with open(qrels) as judged, open(run) as retrieved:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {"map", "ndcg_cut.10"})
        theirs = evaluator.evaluate(pytrec_eval.parse_run(retrieved))
    lists = rerank.load(run, qrels=qrels)
    assert lists.list_ids is not None
    for (name, their_name), judge in zip(METRICS.items(), prepare_all(lists, METRICS), strict=True):
        found = judge.first_best()
        assert found is not None
        if found[:, 0].tolist() != [theirs[query][their_name] for query in lists.list_ids]:
            raise SystemExit(f"{name} differs from pytrec_eval's")


def process(command: list[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its peak memory in MB.

    A process of its own starts it: a child's peak is at least the memory of the process that started it.
    """
    launch = [sys.executable, "-S", "-c", LAUNCH, *command]
    done = subprocess.run(launch, check=True, stdout=subprocess.PIPE, text=True)
    code, seconds, peak = done.stdout.split()
    if int(code):
        raise SystemExit(f"exit status {code}: {' '.join(command)}")
    return float(seconds), float(peak) / 1e6


def whole_processes(sizes: Iterable[int], folder: Path, times: int) -> None:
    python = sys.executable
    few = make_files(folder, 10)
    print("whole processes: CPU seconds, peak MB")
    for n in sizes:
        run, qrels = make_files(folder, n)
        check(run, qrels)
        commands = {
            "rerank": _eval(run, qrels),
            "pytrec_eval": [python, "-c", SCRIPT, run, qrels],
            "ten lines": _eval(*few),
            "numpy": [python, "-c", "import numpy"],
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(times):
            for name, command in commands.items():
                found[name].append(process(command))
        cpu = {name: min(seconds for seconds, _ in each) for name, each in found.items()}
        peak = {name: max(mb for _, mb in each) for name, each in found.items()}
        ours, theirs = cpu["rerank"] - cpu["ten lines"], cpu["pytrec_eval"] - cpu["numpy"]
        print(
            f"{n:9,} lines: rerank {cpu['rerank']:.3f} s {peak['rerank']:.0f} MB, pytrec_eval "
            f"{cpu['pytrec_eval']:.3f} s {peak['pytrec_eval']:.0f} MB "
            f"({cpu['pytrec_eval'] / cpu['rerank']:.1f} x); without starting {ours:.3f} and {theirs:.3f} s"
            + (f" ({theirs / ours:.1f} x)" if ours > 0.01 else "")
            + f"; import numpy {cpu['numpy']:.3f} s"
        )


def _eval(run: str, qrels: str) -> list[str]:
    metrics = [part for name in METRICS for part in ("-m", name)]
    return [sys.executable, "-m", "rerank", "eval", run, "--qrels", qrels, *metrics]


def reading(sizes: Iterable[int], folder: Path, times: int) -> None:
    print("reading a run and its judgements in one process: CPU seconds")
    for n in sizes:
        run, qrels = str(folder / f"{n}.run"), str(folder / f"{n}.qrels")
        seconds = {name: cpu_seconds(read, times) for name, read in readers(run, qrels).items()}
        size = (os.path.getsize(run) + os.path.getsize(qrels)) / 1e6
        cells = ", ".join(
            f"{name} {value:.4f} ({value / seconds['rerank']:.1f} x)" for name, value in seconds.items()
        )
        print(f"{n:9,} lines: {cells}; rerank {size / seconds['rerank']:.0f} MB/s")


def readers(run: str, qrels: str) -> dict[str, Callable[[], Any]]:
    """Callables by name that read both files."""
    import pytrec_eval

    def by_pytrec_eval() -> Any:
        with open(qrels) as judged, open(run) as retrieved:
            return pytrec_eval.parse_qrel(judged), pytrec_eval.parse_run(retrieved)

    found: dict[str, Callable[[], Any]] = {
        "rerank": lambda: rerank.load(run, qrels=qrels),
        "pytrec_eval": by_pytrec_eval,
    }
    if installed("polars"):
        import polars

        def by_polars() -> Any:
            return [polars.read_csv(path, separator=" ", has_header=False) for path in (run, qrels)]

        found["polars, columns alone"] = by_polars
    return found


def main() -> None:
    quick = arguments(__doc__, "runs of 10,000 and 100,000 lines, each twice").parse_args().quick
    need("pytrec_eval")
    warnings.simplefilter("ignore")  # notes
    sizes = (10_000, 100_000) if quick else (10_000, 58_000, 100_000, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        whole_processes(sizes, Path(folder), 2 if quick else 5)
        reading(sizes, Path(folder), 2 if quick else 5)


if __name__ == "__main__":
    main()
