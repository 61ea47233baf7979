"""The parses as stores with two sets of features, and their division into training and test lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import rerank
from rerank import CandidateLists, DataError
from rerank.data.folds import folds
from rerank.data.joining import joined
from rerank.experiment import parse_files

PARTS = ("train", "dev", "test")
FEATURES = ("our", "bllip")  # Collins & Koo's templates with the log probability, and BLLIP's features
SEED = 1  # of the folds


def make_stores(data: Path, folder: Path) -> None:
    """Write folder/FEATURES/PART.store from the parses in ``data``, unless they are there.

    BLLIP's files count brackets without gold's tags; both sets are judged by the counts of the trees.
    """
    stores = {
        name: {part: folder / name / f"{part}.store" for part in PARTS} for name in (*FEATURES, "trees")
    }
    if all(stores[name][part].is_dir() for name in FEATURES for part in PARTS):
        return
    for name in stores:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for part, store in stores["trees"].items():
        source = data / "parse-nbest" / part
        rerank.save(rerank.load(f"{source}.nbest.gz", "parses", ids=f"{source}.ids"), str(store))
    parse_files([str(store) for store in stores["trees"].values()], str(folder / "our"))
    names = str(data / "parse-bllip" / "features.txt.gz")
    for part in PARTS:
        ours = rerank.load(stores["our"][part])
        lists = rerank.load(data / "parse-bllip" / f"{part}.gz", "bllip", feature_names=names)
        if not np.array_equal(lists.offsets, ours.offsets):
            raise DataError(f"{lists.source}: other parses than in parse-nbest/{part}.nbest.gz")
        same = replace(lists, labels=ours.labels, counts=ours.counts, list_ids=ours.list_ids)
        rerank.save(same, str(stores["bllip"][part]))


def division(folder: Path, part: str) -> tuple[CandidateLists, CandidateLists]:
    """Return training and test lists: of "test", or of "K/N", the K-th of N folds over all sentences."""
    if part == "test":
        return rerank.load(folder / "train.store"), rerank.load(folder / "test.store")
    at, n = map(int, part.split("/"))
    whole = joined([rerank.load(folder / f"{name}.store") for name in PARTS])
    train, test = folds(whole.n_lists, n, SEED)[at - 1]
    return whole.subset(train), whole.subset(test)
