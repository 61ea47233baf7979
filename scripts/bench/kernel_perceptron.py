#!/usr/bin/env python3
"""CPU seconds of an update of the kernel perceptron, beside rows of the same kernel one item after the other.

    RERANK_DATA=... python scripts/bench/kernel_perceptron.py [--kernel EXPRESSION] [--epochs N]

The training parses of ``parse-nbest``: sums over 2, 50 and 500 neighbouring items with the scores of all
152,017 parses, and then epochs with the best parse against its top rival. Both ways give the same sums,
which is checked.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

import rerank
from rerank import DataNote
from rerank.learners.kernel_perceptron import KernelPerceptron
from rerank.similarity.expression import ItemKernel
from rerank.similarity.item_sums import expansion, item_sums


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernel", default="sst(tree)")
    parser.add_argument("--epochs", type=int, default=1, help="0 = none")
    asked = parser.parse_args()
    if "RERANK_DATA" not in os.environ:
        parser.error("RERANK_DATA names the folder of the data")
    warnings.simplefilter("ignore", DataNote)
    path = Path(os.environ["RERANK_DATA"]) / "parse-nbest" / "train.nbest.gz"
    lists = rerank.label(str(path), "PARSEVAL")
    (items,) = ItemKernel.parse(asked.kernel).prepare(lists)
    item_sums(items, np.arange(2), np.ones(2), items)  # what is kept for all sums
    rng = np.random.default_rng(1)
    for n in (2, 50, 500):
        which, coefficients = np.arange(1000, 1000 + n), rng.standard_normal(n)
        seconds, found = [], []
        for sums in (item_sums, lambda a, w, c, b: expansion(a, b, c, w)):
            started = time.process_time()
            found.append(sums(items, which, coefficients, items))
            seconds.append(time.process_time() - started)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
        ratio = seconds[1] / seconds[0]
        print(f"{n:4d} items: {1e3 * seconds[0]:7.1f} ms, rows {1e3 * seconds[1]:7.1f} ms, {ratio:.1f} times")
    for epochs in range(1, asked.epochs + 1):
        started = time.process_time()
        model = KernelPerceptron(kernel=asked.kernel, epochs=epochs).fit(lists)
        took, row = time.process_time() - started, model.curve[-1]
        print(f"{epochs} epochs: {took:.1f} s, {row['updates']} updates last, {row['support']} support items")


if __name__ == "__main__":
    main()
