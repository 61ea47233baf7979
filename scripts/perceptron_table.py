#!/usr/bin/env python3
"""Shen & Joshi's five settings (their Table 2) and learning margins on LETOR data, with intervals.

    RERANK_DATA=... python scripts/perceptron_table.py [--algorithm 1] [--average last]

OHSUMED: five folds, the round kept by AP on the fold's vali lists; each query is a test query once, and
the intervals are of the 106 pooled queries. lightgbm-rank: a fifth of the training lists is the dev set.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from rerank import CandidateLists
from rerank.data.folds import split
from rerank.data.types import Floats
from rerank.evaluation.significance import bootstrap_sums, interval
from rerank.metrics.base import parse

Triple = tuple[CandidateLists, CandidateLists, CandidateLists]
SETTINGS = {
    "best-rest, even": {"pairs": "best-rest"},
    "split, even": {"pairs": "split"},
    "split, uneven": {"pairs": "split", "margin": "uneven"},
    "ordinal, even": {"pairs": "ordinal"},
    "ordinal, uneven": {"pairs": "ordinal", "margin": "uneven"},
}
TAUS = (0.0, 1.0, 10.0, 100.0, 1000.0)


def ohsumed(data: Path) -> Iterator[Triple]:
    for fold in range(1, 6):
        parts = [
            rerank.load(data / "ohsumed" / f"Fold{fold}" / f"{part}.txt.gz")
            for part in ("train", "vali", "test")
        ]
        yield parts[0], parts[1], parts[2]


def lightgbm_rank(data: Path) -> Iterator[Triple]:
    train, test = (rerank.load(data / "lightgbm-rank" / f"{part}.txt.gz") for part in ("train", "test"))
    rest, dev = split(train, [0.8, 0.2], seed=1)
    yield train.subset(rest), train.subset(dev), test


def per_list(folds: list[Triple], metric: str, scaling: str, **settings: Any) -> Floats:
    """The metric's statistics of every test list of all folds (n_lists, k)."""
    rows = []
    for train, dev, test in folds:
        model = rerank.train(train, dev=dev, metric="AP", scaling=scaling, keep="best", **settings)
        rows.append(parse(metric).prepare(test).per_list(model.score_items(test)))
    return np.concatenate(rows)


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--metric", default="AP")
    arguments.add_argument("--scaling", default="zscore")
    arguments.add_argument("--algorithm", type=int, default=2)
    arguments.add_argument("--average", default="average")
    arguments.add_argument("--rounds", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    if "RERANK_DATA" not in os.environ:
        arguments.error("RERANK_DATA is not set: it names the folder with ohsumed/ and lightgbm-rank/")
    data = Path(os.environ["RERANK_DATA"])
    for name, read in (("OHSUMED", ohsumed), ("lightgbm-rank", lightgbm_rank)):
        folds = list(read(data))
        print(f"\n{name}, mean {asked.metric} and 95 % interval by tau")
        print(f"{'':<16} " + " ".join(f"{tau:>16g}" for tau in TAUS))
        for label, settings in SETTINGS.items():
            cells = []
            for tau in TAUS:
                found = per_list(
                    folds,
                    asked.metric,
                    asked.scaling,
                    tau=tau,
                    algorithm=asked.algorithm,
                    average=asked.average,
                    rounds=asked.rounds,
                    seed=asked.seed,
                    **settings,
                )
                judge = parse(asked.metric).prepare(folds[0][2])
                value = float(judge.score_from_sums(found.sum(axis=0)))
                resampled = np.asarray(judge.score_from_sums(bootstrap_sums(found, 1000, 12345)))
                low, high = interval(resampled, 0.95) or (float("nan"), float("nan"))
                cells.append(f"{value:.4f} {low:.3f}-{high:.3f}"[:18])
            print(f"{label:<16} " + " ".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
