#!/usr/bin/env python3
"""Scores of LightGBM's trees: seconds of our kernel and of LightGBM's own prediction, with the same bits.

    python scripts/bench/lightgbm_trees.py [--quick]

Trees for nDCG are grown on drawn lists, and 100,000 items are scored: dense, sparse, and dense with missing
values. Both use one thread in this process; the best of three runs counts. --quick scores fewer items.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, need
from scipy.sparse import csr_array, csr_matrix

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.trees import TreeModel

TREES = 200


def grown(X: Floats, y: Floats, leaves: int) -> Any:
    """Trees of lists of 100 items."""
    import lightgbm

    settings = {"objective": "lambdarank", "num_leaves": leaves, "num_threads": 1, "verbosity": -1}
    data = lightgbm.Dataset(X, y, group=[100] * (len(X) // 100))
    return lightgbm.train(settings, data, TREES)


def compare(name: str, n: int, columns: int, leaves: int) -> None:
    """Print the seconds of one set of drawn items."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, columns))
    if name == "sparse":
        X[rng.random(X.shape) < 0.9] = 0.0
    elif name == "missing":
        X[rng.random(X.shape) < 0.3] = np.nan
    known = np.nan_to_num(X)
    y = np.clip(np.round(known[:, 0] + known[:, 1] * known[:, 2]), 0, 3)
    part = min(n, 10_000)
    booster = grown(X[:part], y[:part], leaves)
    lists = CandidateLists.from_arrays(csr_array(X) if name == "sparse" else X)
    theirs = csr_matrix(X) if name == "sparse" else X
    text = booster.model_to_string().encode()
    read = cpu_seconds(lambda: TreeModel.from_text(lists.names(), text))
    model = TreeModel.from_text(lists.names(), text)
    predict = partial(booster.predict, theirs, raw_score=True, num_threads=1)
    ours, peer = cpu_seconds(lambda: model.score(lists), 3), cpu_seconds(predict, 3)
    same = "the same bits" if np.array_equal(model.score(lists), predict()) else "OTHER SCORES"
    size = f"{name:<7} {n:,} x {columns}, {TREES} trees of {leaves} leaves"
    print(f"{size}: reading the text {read:.2f} s, scores {ours:.2f} s, LightGBM {peer:.2f} s, {same}")


def main() -> None:
    asked = arguments(__doc__ or "", "score 10,000 items").parse_args()
    need("lightgbm")
    n = 10_000 if asked.quick else 100_000
    warnings.simplefilter("ignore")  # LightGBM's, about names of columns
    for leaves, columns in ((31, 46), (255, 136)):
        for name in ("dense", "sparse", "missing"):
            compare(name, n, columns, leaves)


if __name__ == "__main__":
    main()
