"""What the benchmarks share: CPU time, arguments, lists in Moses' form, made words."""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Packages whose names differ from those of their modules.
PACKAGES = {
    "Bio": "biopython",
    "dlib": "dlib-bin",
    "ir_measures": "ir-measures",
    "lap": "lapx",
    "pytrec_eval": "pytrec-eval-terrier",
    "sklearn": "scikit-learn",
}


def arguments(doc: str, quick: str | None = None, folders: bool = False) -> argparse.ArgumentParser:
    """Return a parser that shows ``doc`` as it is; ``quick`` is the help of --quick."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if folders:
        parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    return parser


def absent(module: str) -> str | None:
    """Return a line that says how to install a module that is absent, None if it is installed."""
    if importlib.util.find_spec(module) is not None:
        return None
    return f"{module} is not installed: pip install {PACKAGES.get(module, module)}"


def installed(module: str) -> bool:
    """Return whether a peer can be measured; otherwise print a line."""
    line = absent(module)
    if line is not None:
        print(f"left out: {line}", flush=True)
    return line is None


def need(*modules: str) -> None:
    """End with one line if a peer without which there is nothing to compare is not installed."""
    for line in map(absent, modules):
        if line is not None:
            raise SystemExit(line)


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
