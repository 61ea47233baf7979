#!/usr/bin/env python3
"""Models of XGBoost and LightGBM that were imported: seconds of scoring here and there, and of exports.

    python scripts/bench/exchange.py [--quick]

Each program grows 1,000 trees for nDCG on drawn lists, writes them, and they are imported. 50,000 dense items
are scored on one thread; the best of three runs counts. XGBoost predicts from the array itself.
--quick has 100 trees and 5,000 items.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments, cpu_seconds, need

import rerank
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.models.exchange.calls import read_model

COLUMNS, LEAVES = 50, 31


def drawn(n: int) -> tuple[Floats, Floats, list[int]]:
    """Features, labels and sizes of lists of 100 items."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, COLUMNS)).astype(np.float32).astype(np.float64)
    return X, np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2]), 0, 3), [100] * (n // 100)


def boosters(trees: int, X: Floats, y: Floats, group: list[int], folder: Path) -> dict[str, tuple[str, Any]]:
    """The file of each program's model, and what predicts from it."""
    import lightgbm
    import xgboost

    light = lightgbm.train(
        {"objective": "lambdarank", "num_leaves": LEAVES, "num_threads": 1, "verbosity": -1},
        lightgbm.Dataset(X, y, group=group),
        trees,
    )
    light.save_model(str(folder / "lightgbm"))
    extreme = xgboost.train(
        {"objective": "rank:ndcg", "grow_policy": "lossguide", "max_leaves": LEAVES, "nthread": 1},
        xgboost.DMatrix(X, y, group=group),
        trees,
    )
    extreme.save_model(str(folder / "xgboost.json"))
    return {"lightgbm": (str(folder / "lightgbm"), light), "xgboost": (str(folder / "xgboost.json"), extreme)}


def main() -> None:
    """Print seconds and ratios."""
    quick = arguments(__doc__ or "", "100 trees and 5,000 items").parse_args().quick
    need("lightgbm", "xgboost")
    trees, n = (100, 5_000) if quick else (1_000, 50_000)
    X, y, group = drawn(n)
    part = min(n, 5_000)
    lists = CandidateLists.from_arrays(X, group=group)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        for name, (path, booster) in boosters(
            trees, X[:part], y[:part], group[: part // 100], folder
        ).items():
            begin = time.perf_counter()
            model = read_model(path, name)
            read = time.perf_counter() - begin
            ours = cpu_seconds(partial(model.score, lists), 3)
            predict: Callable[[], Floats] = partial(booster.predict, X, raw_score=True, num_threads=1)
            if name == "xgboost":
                booster.set_param({"nthread": 1})  # a DMatrix would keep what was predicted before
                predict = partial(booster.inplace_predict, X, predict_type="margin")
            theirs = cpu_seconds(predict, 3)
            gap = float(np.abs(model.score(lists) - predict()).max())
            seconds = f"scores {ours:.2f} s, {name} {theirs:.2f} s ({theirs / ours:.1f} x)"
            print(
                f"{name}: {trees} trees, {n:,} items: import {read:.2f} s, {seconds}, largest gap {gap:.1e}"
            )
        names = {str(j): f"f{j}" for j in range(1, COLUMNS + 1)}
        for to in (
            "json",
            "python",
            "c",
            "sql",
            "lightgbm",
            "xgboost",
            "ranklib",
            "elasticsearch",
            "solr",
            "vespa",
        ):
            begin = time.perf_counter()
            rerank.export(model, str(folder / "out"), to, names=names)
            took = time.perf_counter() - begin
            print(f"export --to {to}: {took:.2f} s, {(folder / 'out').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
