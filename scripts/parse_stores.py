#!/usr/bin/env python3
"""The parses of RERANK_DATA as stores, with tree features and with BLLIP's, for configs/parses.yaml.

    RERANK_DATA=... python scripts/parse_stores.py --out DIR

DIR/our/{train,dev,test}.store hold the features of Collins & Koo (2005) with the log probability, those that
occur in five sentences of train; DIR/bllip/*.store BLLIP's features of the same parses. BLLIP's files count
brackets without gold's tags: both sets are judged by the counts of the trees, which they
keep for decisions by expected F (learner mbr). Stores that are there are kept.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

import rerank
from rerank import DataError
from rerank.extensions.parsing.feature_stores import parse_features

PARTS = ("train", "dev", "test")
FEATURES = ("our", "bllip")


def make_stores(data: Path, folder: Path) -> None:
    """Write folder/FEATURES/PART.store from the parses in ``data``, unless they are there."""
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
    parse_features([str(store) for store in stores["trees"].values()], str(folder / "our"), keep_trees=True)
    names = str(data / "parse-bllip" / "features.txt.gz")
    for part in PARTS:
        ours = rerank.load(stores["our"][part])
        lists = rerank.load(data / "parse-bllip" / f"{part}.gz", "bllip", feature_names=names)
        if not np.array_equal(lists.offsets, ours.offsets):
            raise DataError(f"{lists.source}: other parses than in parse-nbest/{part}.nbest.gz")
        kept = {name: getattr(ours, name) for name in ("labels", "counts", "list_ids", "trees", "gold")}
        same = replace(lists, **kept)
        rerank.save(same, str(stores["bllip"][part]))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the stores")
    asked = parser.parse_args()
    if "RERANK_DATA" not in os.environ:
        parser.error("RERANK_DATA is not set: it names the folder with parse-nbest/ and parse-bllip/")
    make_stores(Path(os.environ["RERANK_DATA"]), asked.out)


if __name__ == "__main__":
    main()
