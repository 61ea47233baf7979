"""Verbs that read block by block compared with reading the whole file: CPU, memory, first line.

Makes a LETOR file of 10 features in lists of 10, and a model. Each way runs in its own process: ``whole``
is ``rerank.predict`` of the file, ``file`` and ``pipe`` are ``rerank predict``. ``convert`` and ``append``
write the lists, from a pipe, beside ``save`` and ``add`` of the whole file; ``label`` labels a tenth of as
many lines of an N-best list by WER, beside ``judge``; ``eval`` judges a score file by AP, nDCG@10 and
label@1, beside ``table`` of the whole file. Outputs must be the same bytes. ``load`` reads the
lists, ``shards`` converts them. Sizes grow from 1/16 to 1; the last lines
have the ratios, and the exponent of CPU time from 1/4 to 1.

    python scripts/bench/streaming.py [--lines 5000000]
"""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments

from rerank.core.system import PEAK_UNIT

_WHOLE = "import sys, rerank; rerank.predict(sys.argv[1], sys.argv[2], out='-')"
_LOAD = "import sys, rerank; rerank.load(sys.argv[1])"
_SAVE = "import sys, rerank; rerank.save(sys.argv[1], '-', 'svmlight')"
_ADD = "import sys, rerank; rerank.append(sys.argv[1], {'x': sys.argv[2]}, '-', 'svmlight')"
_JUDGE = (
    "import sys, rerank; from rerank.data.reading import Reading; "
    "rerank.label(sys.argv[1], 'WER', '-', 'jsonl', reading=Reading(format='moses', refs=sys.argv[2]))"
)
_EVALUATE = (
    "import sys, rerank; from rerank.evaluation.evaluate import evaluate_files; "
    "evaluate_files(sys.argv[1], [sys.argv[2]], ['AP', 'nDCG@10', 'label@1']).print()"
)
PAIRS = (("convert", "save"), ("append", "add"), ("label", "judge"), ("eval", "table"))
LETOR = ("--format", "svmlight", "--out", "-", "--to", "svmlight")
TEXTS = ("--format", "moses", "--metric", "WER", "--out", "-", "--to", "jsonl")
METRICS = ("-m", "AP", "-m", "nDCG@10", "-m", "label@1")
SHARDS = ("--shards", "128MB", "--out")
_COMMAND = "import sys; from rerank.cli import main; main()"


def make_file(path: Path, n_lines: int) -> None:
    """``n_lines`` lines of 10 features, 10 a list."""
    rng = np.random.default_rng(1)
    with path.open("w", encoding="ascii") as file:
        for start in range(0, n_lines, 10_000):
            n = min(10_000, n_lines - start)
            values, labels = rng.standard_normal((n, 10)).tolist(), rng.integers(0, 3, n).tolist()
            for i in range(n):
                features = " ".join(f"{j}:{value:.6f}" for j, value in enumerate(values[i], 1))
                file.write(f"{labels[i]} qid:{(start + i) // 10} {features}\n")


def make_texts(path: Path, refs: Path, n_lines: int) -> None:
    """``n_lines`` hypotheses of 10 words, 10 a list, and a reference for each list."""
    rng = np.random.default_rng(2)
    with path.open("w", encoding="ascii") as file, refs.open("w", encoding="ascii") as references:
        for i in range(n_lines // 10):
            words = rng.integers(0, 50, (11, 10)).tolist()
            references.write(" ".join(map(str, words[10])) + "\n")
            for row in words[:10]:
                file.write(f"{i} ||| {' '.join(map(str, row))} ||| lm= {row[0] / 7:.4f} ||| {-row[1]}\n")


def measured(command: list[str], content: Path | None) -> dict[str, Any]:
    """CPU seconds, peak memory in MB, seconds to the first line, and the hash of what a command prints."""
    begin = time.perf_counter()
    stdin = subprocess.DEVNULL if content is None else content.open("rb")
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE)
    assert process.stdout is not None
    digest = hashlib.blake2b(process.stdout.readline())
    first = time.perf_counter() - begin
    while block := process.stdout.read(1 << 20):
        digest.update(block)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * PEAK_UNIT / 1e6
    return {"cpu": cpu, "peak": peak, "first": first, "output": digest.hexdigest()}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000)
    n_lines = parser.parse_args().lines
    found: dict[tuple[str, int], dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        train, model = Path(folder, "train.letor"), str(Path(folder, "model"))
        make_file(train, 20_000)
        python = [sys.executable, "-c"]
        train_it = ["train", "--data", str(train), "--learner", "ridge", "--out", model, "--quiet"]
        subprocess.run([*python, _COMMAND, *train_it], check=True)
        print(f"{'lines':>9}  way      CPU s  peak MB  first line s")
        for share in (16, 4, 1):
            n = n_lines // share
            path = Path(folder, f"{n}.letor")
            make_file(path, n)
            texts, refs, scores = (Path(folder, name) for name in ("texts", "refs", "scores"))
            make_texts(texts, refs, n // 10)
            # In pieces: the peak of a process is never below that of the one that starts it.
            with scores.open("w", encoding="ascii") as file:
                file.writelines(f"{k % 97 / 8}\n" for k in range(n))
            verb = [*python, _COMMAND, "predict", model]
            ways = {
                "whole": ([*python, _WHOLE, model, str(path)], None),
                "file": ([*verb, str(path)], None),
                "pipe": ([*verb, "-", "--format", "svmlight"], path),
                "save": ([*python, _SAVE, str(path)], None),
                "convert": ([*python, _COMMAND, "convert", "-", *LETOR], path),
                "add": ([*python, _ADD, str(path), str(scores)], None),
                "append": ([*python, _COMMAND, "append", "-", f"x={scores}", *LETOR], path),
                "judge": ([*python, _JUDGE, str(texts), str(refs)], None),
                "label": ([*python, _COMMAND, "label", "-", *TEXTS, "--refs", str(refs)], texts),
                "table": ([*python, _EVALUATE, str(path), str(scores)], None),
                "eval": ([*python, _COMMAND, "eval", str(path), str(scores), *METRICS], None),
                "load": ([*python, _LOAD, str(path)], None),
                "shards": ([*python, _COMMAND, "convert", str(path), *SHARDS, f"{folder}/{n}.shards"], None),
            }
            for way, (command, content) in ways.items():
                one = found[way, share] = measured(command, content)
                print(f"{n:9}  {way:7}{one['cpu']:7.2f}{one['peak']:9.0f}{one['first']:14.2f}", flush=True)
            for same in (("whole", "file", "pipe"), *PAIRS):
                assert len({found[way, share]["output"] for way in same}) == 1, same
            path.unlink()
        for way, other in (("file", "whole"), ("pipe", "whole"), *PAIRS, ("shards", "load")):
            cpu, peak = (found[other, 1][key] / found[way, 1][key] for key in ("cpu", "peak"))
            growth = math.log(found[way, 1]["cpu"] / found[way, 4]["cpu"], 4)
            print(
                f"{way}: {cpu:.2f} x less CPU, {peak:.1f} x less memory than {other}; exponent {growth:.2f}"
            )


if __name__ == "__main__":
    main()
