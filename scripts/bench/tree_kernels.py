#!/usr/bin/env python3
"""Tree kernels: pairs of trees per CPU second, beside SVM-light-TK, and how time grows with the trees.

    python scripts/bench/tree_kernels.py [--svm-light-tk FOLDER] [--quick]

First, whole Gram matrices of the gold trees in $RERANK_DATA/parse-nbest, of sentences that all differ, with
about 50 and about 150 nodes: normalised values, with K(x, x) and everything else that a call computes; equal
subtrees were numbered before (interned s). "one pair" is a call for a single tree and a single other one.
Second, all parses of some sentences, which have most subtrees in common. Third, trees of up to 10,000 nodes:
gold trees side by side below one root.

Before that, values are compared with those of SVM-light-TK in $RERANK_DATA/tree-kernels, if it exists.

FOLDER contains svm_learn and svm_classify. The peer trains on 400 of the trees with random labels and a
small C, which makes all of them support vectors; a second file with twice the trees takes longer to classify,
and the difference counts as kernel evaluations (values in the last columns, pairs per CPU second). It reads
trees from text in that time, which is less than 1 % of it. Its partial trees are limited to 5 children.
--quick takes fewer trees.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds

from rerank.core.types import Floats
from rerank.data.columns.forests import Forest
from rerank.extensions.parsing.tree_kernels import TreeFunction
from rerank.similarity.tree_sets import TreeSet

KERNELS: tuple[tuple[str, dict[str, int], str | None], ...] = (
    ("st", {}, "0"),
    ("sst", {}, "1"),
    ("sst-leaves", {}, "2"),
    ("ptk", {}, None),
    ("ptk", {"max_children": 5}, "3"),
    ("bow", {}, None),
)
SIZES = ((46, 54), (120, 180))
PEER_TREES = 400


def main() -> None:
    """Print the three tables."""
    parser = arguments(__doc__ or "", quick="fewer trees")
    parser.add_argument("--svm-light-tk", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    folder = Path(os.environ.get("RERANK_DATA", ".")) / "parse-nbest"
    if not folder.is_dir():
        raise SystemExit(f"no {folder}: set RERANK_DATA")
    check(folder.parent / "tree-kernels")
    blocks = list(read_blocks(folder))
    gold = Forest.from_strings([block[0] for block in blocks])
    for low, high in SIZES:
        some = between(gold, low, high, 100 if given.quick else 1000)
        table(f"different sentences, {low} to {high} nodes", some, given.svm_light_tk)
    parses = [parse for block in blocks[:10] for parse in block[1:]]
    table("50 best parses of 10 sentences", Forest.from_strings(parses), None)
    growth(gold, (10, 32, 100, 316, 1000) if given.quick else (10, 32, 100, 316, 1000, 3162, 10_000))


def check(folder: Path) -> None:
    """Compare values with those that SVM-light-TK printed for a few trees, before anything is timed."""
    if not folder.is_dir():
        print(f"values are not compared with SVM-light-TK's: no {folder}")
        return
    with open(folder / "trees.tsv", encoding="utf-8") as lines:
        (trees,) = TreeSet.of(Forest.from_strings([line.split("|")[2].strip() for line in lines]))
    with open(folder / "svmtk_kernel_values.csv", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    names = {number: (name, settings) for name, settings, number in KERNELS if number is not None}
    made: dict[tuple[str, ...], Floats] = {}
    for row in rows:
        key = row["F"], row["N"], row["lambda"], row["mu"]
        if key not in made:
            name, settings = names[row["F"]]
            more = {"mu": float(row["mu"]), **settings} if name == "ptk" else {}
            function = TreeFunction(name, decay=float(row["lambda"]), normalise=row["N"] == "3", **more)
            made[key] = function.matrix(trees, trees)
        value, wanted = made[key][int(row["i"]), int(row["j"])], float(row["K"])
        if abs(value - wanted) > 1e-6 * abs(wanted):
            raise SystemExit(f"{names[row['F']][0]}: {value}, SVM-light-TK {wanted}: {row}")
    print(f"{len(rows):,} values are SVM-light-TK's")


def read_blocks(folder: Path) -> Iterator[list[str]]:
    """Yield the gold tree and the parses of each sentence."""
    for name in ("train", "dev", "test"):
        with gzip.open(folder / f"{name}.nbest.gz", "rt", encoding="utf-8") as lines:
            for block in lines.read().split("\n\n"):
                trees = [line.split("\t")[-1] for line in block.splitlines()]
                if trees:
                    yield trees


def between(forest: Forest, low: int, high: int, most: int) -> Forest:
    """Return the first trees with so many nodes, all different."""
    lengths = forest.lengths()
    chosen = forest.take(np.flatnonzero((low <= lengths) & (lengths <= high)))
    (trees,) = TreeSet.of(chosen)
    return chosen.take(np.sort(np.unique(trees.distinct, return_index=True)[1])[:most])


def table(title: str, forest: Forest, peer: Path | None) -> None:
    """Print a row for each kernel."""
    (trees,) = TreeSet.of(forest)
    interned = cpu_seconds(partial(TreeSet.of, forest), 3)
    nodes, n = forest.lengths().mean(), len(forest)
    distinct = len(trees.all_nodes)
    print(f"\n{title}: {n} trees, {nodes:.0f} nodes, {distinct:,} distinct, interned in {interned:.4f} s")
    print(f"{'kernel':24} {'pairs/s':>12} {'ns':>8} {'one pair us':>12} {'peer':>12} {'ratio':>7}")
    for name, settings, number in KERNELS:
        function = TreeFunction(name, **settings)
        rate = n * n / cpu_seconds(partial(gram, function, trees), 3)
        single = one_pair(function, trees)
        shown = ""
        if peer is not None and number is not None:
            theirs = peer_rate(peer, forest, number)
            shown = f"{theirs:12,.0f} {rate / theirs:6.1f}x"
        label = " ".join([name, *(f"{key}={value}" for key, value in settings.items())])
        print(f"{label:24} {rate:12,.0f} {1e9 / rate:8.0f} {single * 1e6:12.1f} {shown}", flush=True)


def gram(function: TreeFunction, trees: TreeSet) -> None:
    """Compute a whole matrix, with all that is prepared for it but the numbering of subtrees."""
    fresh = trees.take(np.arange(trees.n))  # without what kernels keep in a set
    function.matrix(fresh, fresh)


def one_pair(function: TreeFunction, trees: TreeSet) -> float:
    """Return the CPU seconds of a call for one tree and one other tree."""
    alone = [trees.take(np.array([i])) for i in range(min(12, trees.n))]
    which, out = np.zeros(1, dtype=np.int64), np.empty((1, 1))

    def run() -> None:
        for x in alone:
            for y in alone:
                function.rows(x, which, y, out)

    run()
    return cpu_seconds(run, 3) / len(alone) ** 2


def peer_rate(folder: Path, forest: Forest, number: str) -> float:
    """Return the kernel evaluations per CPU second of SVM-light-TK."""
    trees = list(forest.take(np.arange(min(PEER_TREES, len(forest)))).to_strings())
    labels = np.random.default_rng(0).choice(["+1", "-1"], size=len(trees)).tolist()
    lines = [f"{y} |BT| {tree} |ET|\n" for y, tree in zip(labels, trees, strict=True)]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for file, times in (("once", 1), ("thrice", 3)):
            (work / file).write_text("".join(lines * times), encoding="utf-8")
        settings = ["-t", "5", "-C", "T", "-F", number, "-L", ".4", "-M", ".4", "-N", "3", "-c", "0.0001"]
        child_seconds([folder / "svm_learn", *settings, work / "once", work / "model"])
        found = re.search(r"(\d+) # number of support vectors", (work / "model").read_text(encoding="utf-8"))
        assert found, "another form of model"
        taken = [
            child_seconds([folder / "svm_classify", work / file, work / "model", work / "out"])
            for file in ("once", "thrice")
        ]
    return 2 * len(trees) * (int(found[1]) - 1) / (taken[1] - taken[0])


def child_seconds(command: list[str | Path]) -> float:
    """Return the CPU seconds of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def growth(gold: Forest, sizes: tuple[int, ...]) -> None:
    """Print the microseconds of a pair of trees of several sizes, in matrices of 20 trees."""
    print(
        f"\n{'nodes':>8} " + " ".join(f"{f'{name} us':>14}" for name, settings, _ in KERNELS if not settings)
    )
    for size in sizes:
        (trees,) = TreeSet.of(of_size(gold, size))
        cells = []
        for name, settings, _ in KERNELS:
            if not settings:
                function = TreeFunction(name, normalise=False)
                taken = cpu_seconds(partial(gram, function, trees), 1 if size > 1000 else 3)
                cells.append(f"{taken / trees.n**2 * 1e6:14.2f}")
        print(f"{trees.counts.sum() / trees.n:8.0f} {' '.join(cells)}", flush=True)


def of_size(gold: Forest, size: int, n: int = 20) -> Forest:
    """Return trees of gold trees side by side that have about so many nodes."""
    lengths = gold.lengths()
    order = np.random.default_rng(0).permutation(np.flatnonzero(lengths <= size)).tolist()
    strings, out = gold.to_strings(), []
    for _ in range(n):
        parts, left = [], size - 1
        while left > 0 and order:
            tree = order.pop()
            parts.append(strings[tree])
            left -= int(lengths[tree])
        out.append(f"(TEXT {' '.join(parts)})")
    return Forest.from_strings([tree for tree in out if tree != "(TEXT )"])


if __name__ == "__main__":
    main()
