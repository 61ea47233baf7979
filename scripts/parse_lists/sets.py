"""The parses as stores with two sets of features, and their division into training and test lists."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import rerank
from rerank import CandidateLists
from rerank.data.folds import folds
from rerank.data.joining import joined
from rerank.experiment import parse_files

PARTS = ("train", "dev", "test")
FEATURES = ("our", "bllip")  # Collins & Koo's templates with the log probability, and BLLIP's features
SEED = 1  # of the folds


class Division(NamedTuple):
    """What a model is trained and tested on."""

    train: CandidateLists
    test: CandidateLists


def make_stores(data: Path, folder: Path) -> None:
    """Write folder/FEATURES/PART.store from the parses in ``data``, unless they are there."""
    for name in FEATURES:
        if all((folder / name / f"{part}.store").is_dir() for part in PARTS):
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        if name == "our":
            parses = [str(data / "parse-nbest" / f"{part}.nbest.gz") for part in PARTS]
            parse_files(parses, str(folder / name))
        else:
            names = str(data / "parse-bllip" / "features.txt.gz")
            for part in PARTS:
                lists = rerank.load(data / "parse-bllip" / f"{part}.gz", "bllip", feature_names=names)
                rerank.save(lists, str(folder / name / f"{part}.store"))


def division(folder: Path, part: str) -> Division:
    """Return the lists of one part: "test", or "K/N" for the K-th of N folds over all sentences."""
    parts = [rerank.load(folder / f"{name}.store") for name in PARTS]
    if part == "test":
        return Division(parts[0], parts[2])
    at, n = map(int, part.split("/"))
    whole = joined(parts)
    train, test = folds(whole.n_lists, n, SEED)[at - 1]
    return Division(whole.subset(train), whole.subset(test))
