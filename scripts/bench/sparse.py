#!/usr/bin/env python3
"""Ten epochs of the perceptron over sparse lists of parses: CPU seconds after loading, and memory.

    [RERANK_DATA=...] python scripts/bench/sparse.py

With RERANK_DATA the lists are parse-bllip/train.gz (45 million values); without it lists of that shape are
drawn.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

import numpy as np

from rerank.core.system import PEAK_UNIT
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.formats import load
from rerank.learners.perceptron import Perceptron

N_FEATURES = 150_611
TOP = {"pairs": "best-rest", "rivals": "top", "margin": "label", "tau": 1}
SETTINGS = (
    {"pairs": "best-rest"},
    {"pairs": "split"},
    {"pairs": "ordinal"},
    {"margin": "uneven"},
    TOP,
    TOP | {"tau_scale": "norm"},
    {"rivals": "top", "tau": 1, "tau_scale": "norm"},
)


def draw(n_lists: int = 3056, size: int = 50, width: int = 293) -> CandidateLists:
    """Lists of the same shape: indices with a long tail, values mostly 1."""
    rng = np.random.default_rng(0)
    n = n_lists * size
    steps = rng.geometric(width / N_FEATURES, (n, width)).astype(np.int64)
    indices = np.minimum(np.cumsum(steps, axis=1), N_FEATURES - width - 1) + np.arange(width)
    values = np.where(rng.random((n, width)) < 0.2, -1.0, 1.0)
    indptr = np.arange(0, n * width + 1, width, dtype=np.int64)
    features = Sparse(indptr, indices.astype(np.int32).ravel(), values.ravel(), N_FEATURES)
    labels = rng.integers(0, 30, n) / 30
    return CandidateLists(offsets_of(np.full(n_lists, size)), features, labels=labels, source="drawn lists")


def main() -> None:
    data = os.environ.get("RERANK_DATA")
    lists = draw() if data is None else load(Path(data) / "parse-bllip" / "train.gz", "bllip")
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 2**20
    print(f"{lists.source}: {lists!r}, {lists.features.n_values / 1e6:.1f} million values")
    for settings in SETTINGS:
        started = time.process_time()
        model = Perceptron.checked({**settings, "epochs": 10}, "bench").fit(lists)
        seconds = time.process_time() - started
        updates = model.curve[-1]["updates"]
        print(f"{settings}: ten epochs in {seconds:.2f} CPU s, {updates} updates in the last")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 2**20
    print(f"peak memory {held:.0f} MB after loading, {peak:.0f} MB after training")


if __name__ == "__main__":
    main()
