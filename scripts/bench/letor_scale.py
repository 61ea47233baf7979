"""Training on large LETOR sets: CPU time and peak memory of linear learners as the set grows.

Makes stores of simulated lists (100 items, 136 features like those of MSLR: counts and decimals, labels 0 to
4) block by block, so that making one needs no memory. Then every learner trains on each store in a process of
its own, a few steps long; the peak is the largest resident size of the whole process, mapped pages included.
Beside it stands the size of the features. LightGBM and scikit-learn, if they are installed, train on the same
arrays: LambdaMART of two trees, and ridge regression of z-scores.

    python scripts/bench/letor_scale.py [--rows 100000 1000000] [--dtype float32] [--all]
    python scripts/bench/letor_scale.py --text 700000    # a text: read, and trained on, in pieces

10,000,000 rows take 5.4 GB on the disk (float64: 10.9 GB), in --folder or the folder for temporary files.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, installed

from rerank.core.system import PEAK_UNIT

N_FEATURES, IN_LIST, BLOCK = 136, 100, 10_000
# Learners, and settings that make them short: a step of each kind shows what a fit holds.
STEPS = {
    "ridge": ["-s", "iterations=3"],
    "logistic": ["-s", "iterations=3"],
    "listnet": ["-s", "iterations=3"],
    "loglinear": ["-s", "iterations=3"],
    "ranksvm": ["-s", "iterations=2"],
    "perceptron": ["-s", "epochs=1"],
    "uneven-margin": ["-s", "epochs=1"],
    "prank": ["-s", "epochs=1"],
    "oap-bpm": ["-s", "epochs=1"],
    "predtron": ["-s", "epochs=1"],
    "mira": ["-s", "epochs=1", "--metric", "label@1"],
    "mert": ["-s", "restarts=0", "-s", "passes=1", "--metric", "label@1"],
    "pro": ["-s", "iterations=3"],
    "lda": [],
    "ranklda": [],
    "coordinate-ascent": ["-s", "restarts=0", "-s", "passes=1", "--metric", "nDCG@10"],
    "best-feature": ["--metric", "nDCG@10"],
}
SHORT = ("ridge", "ranksvm", "predtron", "lda")
PEERS = ("lightgbm", "sklearn")


def make_store(folder: Path, n_rows: int, dtype: str) -> None:
    """Write a store of ``n_rows`` items, a multiple of BLOCK, block by block."""
    from rerank.data.columns.schema import declared
    from rerank.data.lists import CandidateLists

    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    counts = rng.random(N_FEATURES) < 0.35
    scale = 10.0 ** rng.integers(-1, 3, N_FEATURES)
    w = rng.standard_normal(N_FEATURES).astype(np.float32)
    grades = np.repeat(np.arange(5.0), (52, 32, 13, 2, 1))
    kind, labels = np.dtype(dtype), np.empty(n_rows)
    shape = (n_rows, N_FEATURES)
    with (folder / "features.npy").open("wb") as file:
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n_rows, BLOCK):
            x = rng.random((BLOCK, N_FEATURES), dtype=np.float32)
            score = (x @ w + rng.standard_normal(BLOCK)).reshape(-1, IN_LIST)
            labels[start : start + BLOCK] = grades[np.argsort(np.argsort(score, axis=1), axis=1)].reshape(-1)
            file.write(np.where(counts, np.floor(60 * x), np.round(x * scale, 6)).astype(kind).data)
    offsets = np.arange(0, n_rows + 1, IN_LIST)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "offsets.npy", offsets)
    fields = declared(CandidateLists).items()
    sizes = {"n_lists": len(offsets) - 1, "n_items": n_rows, "n_features": N_FEATURES}
    arrays = {
        "features": {"dtype": kind.str, "shape": shape},
        "labels": {"dtype": "<f8", "shape": [n_rows]},
        "offsets": {"dtype": "<i8", "shape": [len(offsets)]},
    }
    several: dict[str, Any] = {name: [] if column.by_name else 0 for name, column in fields if column.several}
    meta = {"format": "rerank-store", "version": 1, **sizes, **several, "arrays": arrays}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="ascii")


def run(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds of a process and its peak in GB; its messages are dropped."""
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        streams = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1), (os.POSIX_SPAWN_DUP2, nothing.fileno(), 2)]
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=streams)
        _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * PEAK_UNIT / 1e9


def train(learner: str, data: Path, model: Path, more: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the peak in GB of ``rerank train``."""
    command = [sys.executable, "-m", "rerank", "train", "--data", str(data), "--learner", learner]
    return run([*command, *STEPS[learner], *more, "--out", str(model)])


def peer(name: str, folder: str) -> None:
    """Train a peer on the arrays of a store, read into memory as its users do."""
    X, y = np.load(f"{folder}/features.npy"), np.load(f"{folder}/labels.npy")
    if name == "lightgbm":
        import lightgbm

        group = np.diff(np.load(f"{folder}/offsets.npy"))
        settings = {"objective": "lambdarank", "num_threads": 1, "verbose": -1}
        lightgbm.train(settings, lightgbm.Dataset(X, y, group=group), num_boost_round=2)
        return
    from sklearn.linear_model import Ridge
    from sklearn.preprocessing import StandardScaler

    Ridge(solver="lsqr", max_iter=3, copy_X=False).fit(StandardScaler(copy=False).fit_transform(X), y)


def grown(args: argparse.Namespace, folder: Path) -> None:
    """Print CPU seconds and peaks of every learner on stores of every size."""
    peaks: dict[str, list[float]] = {}
    peers = [name for name in args.peers if installed(name)]
    print(f"{'rows':>10} {'learner':18} {'CPU s':>8} {'peak GB':>8}   of the features' size")
    for n_rows in args.rows:
        store = folder / f"{n_rows}.{args.dtype}.store"
        make_store(store, n_rows, args.dtype)
        size = n_rows * N_FEATURES * np.dtype(args.dtype).itemsize / 1e9
        for name in (*args.learners, *peers):
            if name in peers:
                cpu, peak = run([sys.executable, __file__, "--peer", name, str(store)])
            else:
                more = ["--dev", str(store), "--metric", "nDCG@10"] if args.dev else []
                cpu, peak = train(name, store, folder / "model", more)
            peaks.setdefault(name, []).append(peak)
            print(f"{n_rows:10,} {name:18} {cpu:8.1f} {peak:8.2f}   {peak / size:.2f} x", flush=True)
        for file in store.iterdir():
            file.unlink()
        store.rmdir()
    if len(args.rows) > 1:
        span = math.log(args.rows[-1] / args.rows[0])
        for name, found in peaks.items():
            print(
                f"{name}: the peak grows with rows to the power {math.log(found[-1] / found[0]) / span:.2f}"
            )


def of_text(args: argparse.Namespace, folder: Path) -> None:
    """Print what training on a text takes: float64 and float32, as text and compressed."""
    from reader import make_file

    path = folder / "letor.txt"
    make_file(path, args.text)
    size = path.stat().st_size / 1e9
    print(f"text {size:.2f} GB; features {args.text * N_FEATURES * 8 / 1e9:.2f} GB as float64")
    for dtype in ("float64", "float32"):
        for learner in args.learners:
            started = time.perf_counter()
            cpu, peak = train(learner, path, folder / "model", ["--dtype", dtype])
            wall = time.perf_counter() - started
            print(
                f"{dtype} {learner:18} CPU {cpu:6.1f} s, wall {wall:6.1f} s, peak {peak:.2f} GB", flush=True
            )


def main() -> None:
    assert __doc__ is not None
    parser = arguments(__doc__, quick="20,000 and 100,000 rows, four learners")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--learners", nargs="+", choices=STEPS, default=list(SHORT), metavar="NAME")
    parser.add_argument("--all", action="store_true", help="every linear learner")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS, metavar="NAME")
    parser.add_argument("--dev", action="store_true", help="watch nDCG@10 on the same lists")
    parser.add_argument("--text", type=int, metavar="ROWS", help="a text of so many rows in place of stores")
    parser.add_argument("--folder", type=Path, help="where the sets are made, and deleted")
    parser.add_argument("--peer", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        peer(*args.peer)
        return
    if args.all:
        args.learners = list(STEPS)
    if args.quick:
        args.rows, args.learners = [20_000, 100_000], list(SHORT)
    if any(n % BLOCK or n < 1 for n in args.rows):
        parser.error(f"--rows: expected multiples of {BLOCK:,}")
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        (of_text if args.text else grown)(args, Path(made))


if __name__ == "__main__":
    main()
