"""The parses as stores with two sets of features, and their division into training and test lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import rerank
from rerank import CandidateLists, DataError
from rerank.data.folds import folds, split
from rerank.data.joining import joined
from rerank.experiment import parse_files

PARTS = ("train", "dev", "test")
FEATURES = ("our", "bllip")  # Collins & Koo's templates with the log probability, and BLLIP's features
SEED = 1  # of the folds


class Division(NamedTuple):
    """What a model is trained and tested on."""

    train: CandidateLists
    dev: CandidateLists
    test: CandidateLists


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


def division(folder: Path, part: str, *, needs_dev: bool) -> Division:
    """Return the lists of one part: "test", or "K/N" for the K-th of N folds over all sentences.

    The dev lists of "test" are dev.store. Those of a fold are a tenth of its training lists, if they are
    needed; otherwise these are trained on.
    """
    parts = [rerank.load(folder / f"{name}.store") for name in PARTS]
    if part == "test":
        return Division(*parts)
    at, n = map(int, part.split("/"))
    whole = joined(parts)
    train, test = folds(whole.n_lists, n, SEED)[at - 1]
    if not needs_dev:
        return Division(whole.subset(train), parts[1], whole.subset(test))
    rest, dev = split(len(train), [0.9, 0.1], SEED)
    return Division(whole.subset(train[rest]), whole.subset(train[dev]), whole.subset(test))
