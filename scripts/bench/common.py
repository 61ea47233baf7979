"""What the benchmarks share: CPU time, arguments, lists in Moses' form, made words."""

from __future__ import annotations

import argparse
import gzip
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def arguments(doc: str, quick: str | None = None, folders: bool = False) -> argparse.ArgumentParser:
    """Return a parser that shows ``doc`` as it is; ``quick`` is the help of --quick."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if folders:
        parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def cpu_seconds(run: Callable[[], Any], times: int = 1, least: float = 0.0) -> float:
    """Return the CPU seconds of the best of ``times`` runs, each repeated for ``least`` seconds."""
    best = float("inf")
    for _ in range(times):
        start, done, taken = time.process_time(), 0, 0.0
        while not done or taken < least:
            run()
            done += 1
            taken = time.process_time() - start
        best = min(best, taken / done)
    return best


def read_moses(folder: Path) -> tuple[list[str], list[int], list[str]]:
    """Return the texts, list lengths and references of dev.nbest.gz and dev.ref.gz in ``folder``."""
    with gzip.open(folder / "dev.nbest.gz", "rt", encoding="utf-8", newline="\n") as lines:
        parts = [line.split(" ||| ") for line in lines]
    with gzip.open(folder / "dev.ref.gz", "rt", encoding="utf-8", newline="\n") as lines:
        references = [line.rstrip("\n") for line in lines]
    lengths = list(Counter(part[0] for part in parts).values())
    return [part[1] for part in parts], lengths, references


def draw_words(rng: np.random.Generator) -> list[str]:
    """Return 20,000 words of 1 to 9 letters."""
    sizes = rng.integers(1, 10, size=20_000)
    return ["".join(map(chr, rng.integers(97, 123, size=size))) for size in sizes]
