#!/usr/bin/env python3
"""Tree features of N-best parses, from brackets to stores: CPU seconds, peak memory, features by type.

    [RERANK_DATA=...] python scripts/bench/trees.py [--jobs N] [--alone]

Runs ``rerank features parse`` in a process of its own. With RERANK_DATA the parses are those of parse-nbest
(194,624 parses of 3,914 sentences), unpacked first; without it they are random trees.
"""

from __future__ import annotations

import argparse
import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from parses import write_lists

from rerank.core.system import PEAK_UNIT

PARTS = ("train", "dev", "test")


def write_parts(folder: Path) -> None:
    """train.nbest, dev.nbest and test.nbest in the folder."""
    data = os.environ.get("RERANK_DATA")
    for part, size in zip(PARTS, (800, 100, 100), strict=True):
        target = folder / f"{part}.nbest"
        if data is None:
            write_lists(target, size)
            continue
        with gzip.open(Path(data) / "parse-nbest" / f"{part}.nbest.gz") as packed, target.open("wb") as out:
            shutil.copyfileobj(packed, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--alone", action="store_true", help="without the log probability")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parts(folder)
        command = [sys.executable, "-m", "rerank", "features", "parse", str(folder / "train.nbest")]
        command += [f"--apply={folder / part}.nbest" for part in PARTS[1:]]
        command += ["--format=parses", f"--out={folder / 'out'}", "--jobs", options.jobs]
        subprocess.run([*command, *["--alone"] * options.alone], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        size = sum(path.stat().st_size for path in folder.glob("out/*.store/*")) / 1e6
        print(f"{used.ru_utime:.2f} s of the program, {used.ru_stime:.2f} s of the system (CPU)")
        print(f"peak memory {used.ru_maxrss * PEAK_UNIT / 2**20:.0f} MB, stores of {size:.0f} MB")


if __name__ == "__main__":
    main()
