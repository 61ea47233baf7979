#!/usr/bin/env python3
"""Loading BLLIP's feature files compared with a plain Python parser: MB per CPU second and peak memory.

    [RERANK_DATA=...] python scripts/bench/bllip.py [--lists 1000]

With RERANK_DATA the file is parse-bllip/train.gz, unpacked (307 MB, 45 million values); without it a file of
that shape is generated. Each reader has a process of its own. The times exclude start-up (imports); the peak
is that of the process minus its memory before loading, and includes the file's pages. The last lines are
``rerank convert`` of the file to a store and to a file of the same format.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from reader import measure

READERS = ("rerank", "python")


def draw(path: Path, n_lists: int, size: int = 50, width: int = 293, n_features: int = 150_611) -> None:
    """A file of the same shape: ids with a long tail, one value in five written out."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as out:
        out.write(f"S={n_lists}\n")
        for _ in range(n_lists):
            gold = int(rng.integers(5, 40))
            out.write(f"G={gold} N={size}")
            for score in np.sort(rng.normal(0, 5, size)):
                ids = np.unique(1 + (rng.random(width) ** 3 * (n_features - 1)).astype(int)).tolist()
                values = rng.choice(["=-1", "=2", "=-2", "", "", "", "", "", "", ""], len(ids))
                features = " ".join(f"{j}{value}" for j, value in zip(ids, values, strict=True))
                out.write(f" P={gold} W={int(rng.integers(0, gold + 1))} 0={score:g} {features},")
            out.write("\n")


def read_plainly(path: str) -> list[Any]:
    """The same arrays by Python's split, line by line."""
    sizes, labels, indptr = [], [], [0]
    indices, values = array("i"), array("d")
    with open(path, encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            head, *rest = line.split(",")
            gold, _, *first = head.split()
            candidates = [first, *(part.split() for part in rest if part.strip())]
            sizes.append(len(candidates))
            for proposed, right, *features in candidates:
                total = int(gold[2:]) + int(proposed[2:])
                labels.append(2 * int(right[2:]) / total if total else 0.0)
                for feature in features:
                    index, equals, value = feature.partition("=")
                    indices.append(int(index))
                    values.append(float(value) if equals else 1.0)
                indptr.append(len(indices))
    return [sizes, labels, indptr, indices, values]


def child(reader: str, path: str, repeat: int) -> None:
    """Print the time and memory of one reader."""
    if reader == "python":
        print(json.dumps(measure(lambda: read_plainly(path), 1)))
        return
    from rerank.formats import load

    print(json.dumps(measure(lambda: load(path, format="bllip"), repeat)))


def main() -> None:
    parser = argparse.ArgumentParser(description="readers of BLLIP's feature files")
    parser.add_argument("--lists", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("READER", "PATH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child[0], args.child[1], args.repeat)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.bllip"
        packed = Path(os.environ.get("RERANK_DATA", "")) / "parse-bllip" / "train.gz"
        if "RERANK_DATA" in os.environ and packed.is_file():
            with gzip.open(packed) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        else:
            draw(path, args.lists)
        report(path, args.repeat)


def report(path: Path, repeat: int) -> None:
    size = path.stat().st_size / 1e6
    print(f"{size:.1f} MB")
    for reader in READERS:
        command = [sys.executable, __file__, "--repeat", str(repeat), "--child", reader, str(path)]
        result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{reader:7} {size / min(result['cpu']):6.1f} MB/CPU s "
            f"(first load {size / result['cpu'][0]:6.1f})  peak {result['peak']:6.0f} MB"
        )
    for target in ("train.store", "again.bllip"):
        before = os.times()
        command = [sys.executable, "-m", "rerank", "convert", str(path), "--out", str(path.with_name(target))]
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        print(f"convert to {target}: {cpu:.2f} CPU s, {size / cpu:.0f} MB/CPU s")


if __name__ == "__main__":
    main()
