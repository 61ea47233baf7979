"""Loading a dense LETOR file compared with FastRank and scikit-learn: speed, threads and peak memory.

Makes a file like those of MSLR (integers and decimals with six places, qid, ``#docid`` comments), then
loads it with each reader in a process of its own. The times exclude start-up (imports); the peak is that
of the process minus its memory before loading.

Two threads can be no faster than their busiest one: the CPU seconds of one thread divided by those of the
busiest of two are what an idle machine gives, whatever else runs on this one. The ratio of the wall times
stands beside it, with the load. Decompression is serial, and so bounds what threads gain for a .gz file: of
that only the wall times are compared.

    python scripts/bench/reader.py [--rows 100000] [--repeat 3]

A peer that is not installed is left out; ``pip install 'rerank[bench]'`` installs both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import installed

from rerank.core.system import PEAK_UNIT

N_FEATURES = 136
# Threads, options and whether the file is compressed.
READERS: dict[str, tuple[int, dict[str, Any], bool]] = {
    "rerank": (1, {}, False),
    "rerank-2-threads": (2, {}, False),
    "rerank-float32": (1, {"dtype": "float32"}, False),
    "rerank-gz": (1, {}, True),
    "rerank-gz-2-threads": (2, {}, True),
}
PEERS = ("fastrank", "sklearn")


def make_file(path: Path, n_rows: int) -> None:
    """``n_rows`` lines, 100 a list; a third of the columns are counts."""
    rng = np.random.default_rng(1)
    counts = rng.random(N_FEATURES) < 0.35
    scale = 10.0 ** rng.integers(-1, 3, N_FEATURES)
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, n_rows, 1000):
            size = min(1000, n_rows - start)
            values = rng.random((size, N_FEATURES)) * scale
            whole = rng.integers(0, 60, (size, N_FEATURES))
            labels = rng.integers(0, 5, size)
            for i in range(size):
                row = start + i
                features = " ".join(
                    f"{j + 1}:{whole[i, j]}" if counts[j] else f"{j + 1}:{values[i, j]:.6f}"
                    for j in range(N_FEATURES)
                )
                file.write(f"{labels[i]} qid:{row // 100 + 1} {features} #docid = GX{row:08d} inc = 1\n")


def loader(reader: str, path: str) -> Callable[[], Any]:
    """Return a function that loads ``path``; imports happen here, before the clock starts."""
    if reader == "fastrank":
        import fastrank

        return lambda: fastrank.CDataset.open_ranksvm(path)
    if reader == "sklearn":
        from sklearn.datasets import load_svmlight_file

        return lambda: load_svmlight_file(path, query_id=True)
    from rerank.formats import load

    threads, options, packed = READERS[reader]
    path += ".gz" * packed
    return lambda: load(path, format="svmlight", threads=threads, **options)


def measure(load: Callable[[], Any], repeat: int) -> dict[str, list[float] | float]:
    """CPU and wall seconds of each load in this process, and its peak in MB over the start.

    ``busiest``: the CPU seconds of the busiest thread, if there is one beside the main thread.
    """
    before = resident()
    cpu: list[float] = []
    wall: list[float] = []
    busiest: list[float] = []
    peak = 0.0
    for _ in range(repeat):
        start = time.process_time(), time.thread_time(), time.perf_counter()
        loaded = load()
        cpu.append(time.process_time() - start[0])
        own = time.thread_time() - start[1]
        wall.append(time.perf_counter() - start[2])
        busiest.append(max(own, cpu[-1] - own))
        if not peak:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 1e6 - before
        del loaded
    return {"cpu": cpu, "wall": wall, "busiest": busiest, "peak": peak}


def resident() -> float:
    """Return the MB this process holds now (0 if the system does not report it)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="LETOR readers side by side")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(loader(*args.child), args.repeat)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "letor.txt"
        make_file(path, args.rows)
        with path.open("rb") as text, gzip.open(f"{path}.gz", "wb", compresslevel=1) as packed:
            shutil.copyfileobj(text, packed)
        size = path.stat().st_size / 1e6
        print(f"{size:.1f} MB, {args.rows} x {N_FEATURES}; arrays {args.rows * N_FEATURES * 8 / 1e6:.1f} MB")
        results = {}
        for reader in (*READERS, *PEERS):
            if reader in PEERS and not installed(reader):
                continue
            command = [sys.executable, __file__, "--repeat", str(args.repeat), "--child", reader, str(path)]
            done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
            if done.returncode:
                sys.exit(f"{reader}: exit status {done.returncode}")
            results[reader] = json.loads(done.stdout)
    report(size, results)


def report(size: float, results: dict[str, dict[str, Any]]) -> None:
    best = {reader: min(result["cpu"]) for reader, result in results.items()}
    for reader, result in results.items():
        print(
            f"{reader:19} {size / best[reader]:6.0f} MB/CPU s (first load {size / result['cpu'][0]:4.0f})"
            f"  {size / min(result['wall']):6.0f} MB/s wall  peak {result['peak']:6.0f} MB"
        )
    first = {reader: result["cpu"][0] for reader, result in results.items()}
    for peer in [peer for peer in PEERS if peer in results]:
        ratio, first_ratio = (times[peer] / times["rerank"] for times in (best, first))
        print(f"rerank / {peer}: {ratio:.2f} x (first load {first_ratio:.2f} x)")
    for reader in ("rerank", "rerank-gz"):
        one, two = results[reader], results[f"{reader}-2-threads"]
        ratio = min(one["cpu"]) / min(two["busiest"])
        wall = min(one["wall"]) / min(two["wall"])
        load = os.getloadavg()[0]
        print(
            f"{reader}: two threads {ratio:.2f} x by CPU time, {wall:.2f} x by wall time at load {load:.1f}"
        )


if __name__ == "__main__":
    main()
