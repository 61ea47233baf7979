"""CPU seconds of whole processes on a few lines: train, predict, eval and --help beside other command lines.

Makes three small sets: SVMlight, N-best lists with references (BLEU beside sacrebleu), and a run with
judgements (nDCG beside ir_measures); the values of both must agree. Each command runs --times times, all in
turn; a time is user and system time of the process. Python alone and an import of numpy are the floors.
Bytecode is compiled before.

    python scripts/bench/startup.py [--times 15] [--threads]

With --threads the BLAS libraries may start their threads; otherwise OMP_NUM_THREADS and OPENBLAS_NUM_THREADS
are 1. A peer that is not installed is left out; ``pip install 'rerank[bench]'`` installs both.
"""

from __future__ import annotations

import compileall
import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from common import arguments, draw_words, installed

import rerank

PEERS = ("sacrebleu", "ir_measures")
RERANK = [sys.executable, "-m", "rerank"]


def make_files(folder: Path) -> None:
    """Write the sets: 6 lists of 4 items."""
    rng = np.random.default_rng(7)
    words = draw_words(rng)[:12]
    letor, nbest, references, run, qrels, best = [], [], [], [], [], []
    for i in range(6):
        reference = [words[k] for k in rng.integers(0, 12, 9)]
        references.append(" ".join(reference))
        for j in range(4):
            label = int(rng.integers(0, 3))
            letor.append(f"{label} qid:{i + 1} 1:{label + rng.normal():.4f} 2:{rng.random():.4f}")
            text = " ".join(word if rng.random() < 0.8 else words[0] for word in reference)
            best += [text] if j == 0 else []
            nbest.append(f"{i} ||| {text} ||| LM0= {-rng.random():.4f} ||| {-j}")
            run.append(f"q{i} Q0 d{j} {j + 1} {10 - j} r")
            qrels.append(f"q{i} 0 d{j} {label}")
    files = {
        "a.letor": letor,
        "a.nbest": nbest,
        "refs": references,
        "best": best,
        "a.run": run,
        "qrels": qrels,
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def commands() -> dict[str, list[str]]:
    """Return what is run, by its name in the table; the order makes the files that later ones read."""
    run = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "rerank --help": [*RERANK, "--help"],
        "rerank train": [*RERANK, "train", "--data", "a.letor", "--out", "model"],
        "rerank predict": [*RERANK, "predict", "model", "a.letor", "--out", "scores"],
        "rerank eval": [*RERANK, "eval", "a.letor", "scores"],
        "rerank eval, BLEU": [*RERANK, "eval", "a.nbest", "--refs", "refs", "-m", "BLEU"],
        "rerank eval, qrels": [*RERANK, "eval", "qrels", "a.run", "-m", "nDCG@10"],
    }
    if importlib.util.find_spec("sacrebleu"):
        run["sacrebleu"] = [sys.executable, "-m", "sacrebleu", "refs", "-i", "best", "-b", "-w", "4"]
    if importlib.util.find_spec("ir_measures"):
        run["ir_measures"] = [sys.executable, "-m", "ir_measures", "qrels", "a.run", "nDCG@10"]
    return run


def cpu_of(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[float, str]:
    """Return the user and system seconds of a process, and its standard output."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=out, stderr=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit {process.returncode}")
        out.seek(0)
        return used.ru_utime + used.ru_stime, out.read().decode()


def check(shown: Mapping[str, str]) -> None:
    """Raise RuntimeError if rerank and a peer found other values."""
    for peer, own, row in (
        ("sacrebleu", "rerank eval, BLEU", "first-best"),
        ("ir_measures", "rerank eval, qrels", "a.run"),
    ):
        if peer not in shown:
            continue
        theirs = float(shown[peer].split()[-1])
        line = next(line for line in shown[own].splitlines() if line.startswith(row))
        found = re.search(r"[0-9]+\.[0-9]+", line)
        if found is None or abs(float(found[0]) - theirs) > 0.6 * 10.0 ** -len(found[0].partition(".")[2]):
            raise RuntimeError(f"{own}: {line!r}, and {peer} has {theirs}")


def main() -> None:
    """Print the table."""
    parser = arguments(__doc__ or "", quick="2 runs of each")
    parser.add_argument("--times", type=int, default=15, help="runs of each command [15]")
    parser.add_argument("--threads", action="store_true", help="let BLAS start threads")
    given = parser.parse_args()
    for peer in PEERS:
        installed(peer)
    package = Path(rerank.__file__).parent
    compileall.compile_dir(package, quiet=2)
    single = {} if given.threads else {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, "PYTHONPATH": str(package.parent), **single}
    folder = Path(tempfile.mkdtemp())
    try:
        make_files(folder)
        seconds: dict[str, list[float]] = {}
        shown: dict[str, str] = {}
        for _ in range(2 if given.quick else given.times):
            for name, command in commands().items():
                taken, shown[name] = cpu_of(command, folder, environment)
                seconds.setdefault(name, []).append(taken)
        check(shown)
    finally:
        shutil.rmtree(folder)
    floor = min(seconds["python -c 'import numpy'"])
    print(f"{'CPU s of the process':26} {'best':>6} {'median':>6}  of numpy's import")
    for name, runs in seconds.items():
        print(f"{name:26} {min(runs):6.3f} {statistics.median(runs):6.3f}  {min(runs) / floor:.1f} x")


if __name__ == "__main__":
    main()
