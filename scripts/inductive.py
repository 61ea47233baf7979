#!/usr/bin/env python3
"""Rankers with unlabelled lists that are not the test lists, against rankers without them.

OHSUMED: five folds, the vali lists without labels. LightGBM's example: its first 50 training lists with
labels, the other 151 without. Writes test lists and scores of each row; rerank compare tests them.

    python scripts/inductive.py DATA OUT
    rerank compare OUT/ohsumed/test.store OUT/ohsumed/*.scores --metric AP
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.propagation.ranked import merge_sets
from rerank.formats.base import load, save

BASE = {"name": "rankboost", "rounds": 150}
ROWS: dict[str, tuple[str, dict[str, Any], bool]] = {  # learner, settings, whether it gets unlabelled lists
    "rankboost": ("rankboost", {"rounds": 150}, False),
    "fg-inductive": ("fg-inductive", {"base": BASE}, True),
    "fg-inductive-train": ("fg-inductive", {"base": BASE}, False),
    "pm-inductive": ("pm-inductive", {"base": BASE}, True),
    "pm-inductive-train": ("pm-inductive", {"base": BASE}, False),
}
Parts = list[tuple[CandidateLists, CandidateLists, CandidateLists]]


def ohsumed(data: Path) -> Parts:
    """Training, unlabelled and test lists of each fold."""
    folder = data / "ohsumed"
    parts = []
    for k in range(1, 6):
        train, vali, test = (
            load(str(folder / f"Fold{k}" / f"{name}.txt.gz")) for name in ("train", "vali", "test")
        )
        parts.append((train, vali, test))
    return parts


def lightgbm(data: Path) -> Parts:
    """Its training lists in two parts, and the test lists."""
    train, test = (load(str(data / "lightgbm-rank" / f"{name}.txt.gz")) for name in ("train", "test"))
    return [(train.subset(range(50)), train.subset(range(50, train.n_lists)), test)]


def main() -> None:
    """Train and score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    for name, parts in (("ohsumed", ohsumed(given.data)), ("lightgbm", lightgbm(given.data))):
        folder = given.out / name
        folder.mkdir(parents=True, exist_ok=True)
        labels = np.concatenate([part[2].labels for part in parts])
        save(
            merge_sets([part[2] for part in parts]).replace_labels(labels),
            str(folder / "test.store"),
            "store",
        )
        for row, (learner, settings, uses) in ROWS.items():
            scores = [
                rerank.train(train, learner, unlabelled=pool if uses else None, **settings).score(test)
                for train, pool, test in parts
            ]
            np.savetxt(folder / f"{row}.scores", np.concatenate(scores), fmt="%.17g")


if __name__ == "__main__":
    main()
