#!/usr/bin/env python3
"""Learners and other tools on the same lists: quality with intervals, paired tests, CPU seconds of training.

    [RANKLIB_JAR=...] python scripts/bench/ranking.py [FOLDER...] [--out DIR] [--missing nan] [--jobs 1]
                      [--learners rankboost ...] [--peers lightgbm ...] [--baseline perceptron]

Each FOLDER holds train, vali and test (.txt or .txt.gz): the folds of one set, no list in two tests. Without
one it is OHSUMED's first fold with RERANK_DATA, else lists that are drawn.
Learners have the grids of configs/ohsumed.yaml (--config), tools those of scripts/ranked_lists/peers.py; the
best cell on vali by --metric is judged on test. A tool that is not installed is named. Seconds are those of a
fit with the settings that were chosen, CPU time of one thread, dev lists watched; reading is not counted but
for RankLib. DIR/cells keeps what each row scored, as in scripts/ohsumed_table.py.

--missing nan: absent features are missing values, as in LETOR's aggregation sets. LightGBM, XGBoost and the
learners that accept NaN get NaN, all others 0.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ranked_lists.cells import task_of
from ranked_lists.experiment import Experiment, read_experiment
from ranked_lists.peers import JAR, PEERS
from ranked_lists.report import tables
from ranked_lists.running import judged_by, run_tasks, tasks_of

from rerank import CandidateLists, ConfigError, RerankError
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS

CONFIG = Path(__file__).resolve().parents[2] / "configs" / "ohsumed.yaml"


def default_folder(place: Path) -> Path:
    """OHSUMED's first fold, or drawn lists of 15 items with grades 0 to 2: three features of ten know."""
    shared = os.environ.get("RERANK_DATA")
    if shared:
        return Path(shared) / "ohsumed" / "Fold1"
    rng = np.random.default_rng(1)
    for first, part in ((0, "train"), (300, "vali"), (400, "test")):
        X = rng.standard_normal((1500, 10)).round(4)
        y = np.clip(np.round(X[:, :3].sum(axis=1) + rng.standard_normal(1500)), 0, 2)
        lists = CandidateLists.from_arrays(X, y, qid=first + np.repeat(np.arange(100), 15))
        FORMATS.get("svmlight")().write(lists, str(place / f"{part}.txt"))
    return place


def on_folders(experiment: Experiment, folders: Sequence[Path], asked: argparse.Namespace) -> Experiment:
    """The experiment with other files: {fold} stands for a folder."""
    suffix = {".txt.gz" if (folder / "test.txt.gz").is_file() else ".txt" for folder in folders}
    if len(suffix) != 1:
        raise ConfigError("folders: some files are compressed and some are not")
    names = {"train": "train", "dev": "vali", "test": "test"}
    data: dict[str, Any] = {part: "{fold}/" + name + min(suffix) for part, name in names.items()}
    data |= {"layout": "dense"} if asked.layout == "dense" else {}
    if asked.missing == "nan":
        data |= {"missing": "nan", "layout": "dense"}
    update = {
        "data": data,
        "folds": [str(folder) for folder in folders],
        "select": experiment.select | {"metric": asked.metric},
        "metrics": list(dict.fromkeys([asked.metric, "AP"])),
        "baseline": asked.baseline,
    }
    return experiment.model_copy(update=update)


def peer_tasks(experiment: Experiment, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The tasks of the tools that can run, by fold; the others are named."""
    found = {}
    for name in names:
        peer = PEERS[name]
        absent = peer.absent()
        if absent:
            print(f"{name}: absent ({absent})")
            continue
        what = {"peer": name, "grid": dict(peer.grid), "metric": experiment.select["metric"]}
        reading = experiment.reading()
        found[name] = [task_of(experiment.files(fold), reading, **what) for fold in experiment.folds]
    return found


def print_notes(experiment: Experiment, rows: Sequence[str], peers: Sequence[str]) -> None:
    """What each row makes of missing values, and other notes."""
    if experiment.data.get("missing") == "nan":
        learners = {row: LEARNERS.get(experiment.config(row)["learner"]["name"]) for row in rows}
        takes = {row: learner.accepts_nan for row, learner in learners.items()}
        takes |= {name: PEERS[name].missing != 0 for name in peers}
        print("missing values as NaN:", ", ".join(name for name, nan in takes.items() if nan))
        print("missing values as 0:", ", ".join(name for name, nan in takes.items() if not nan))
    for name in peers:
        if PEERS[name].note:
            print(f"{name}: {PEERS[name].note}")
    print()


def run(asked: argparse.Namespace, place: Path) -> None:
    """Run what was asked for; ``place`` is an empty folder for what is not kept."""
    folders = asked.folders or [default_folder(place)]
    os.environ.setdefault("RERANK_DATA", "")  # the configuration names it, these files do not need it
    experiment = on_folders(read_experiment(asked.config), folders, asked)
    rows = list(experiment.learners) if asked.learners is None else asked.learners
    experiment.check_rows(rows)
    tasks = tasks_of(experiment, rows)
    peers = peer_tasks(experiment, asked.peers)
    print_notes(experiment, rows, list(peers))
    out = asked.out or place / "out"
    names = [folder.name for folder in folders]
    records = run_tasks(out / "cells", tasks | peers, names, asked.jobs)
    tables(out, judged_by(experiment), records)


def main() -> None:
    parser = arguments(__doc__ or "", folders=True)
    parser.add_argument("--out", type=Path, help="folder of cells and tables")
    parser.add_argument("--config", type=Path, default=CONFIG, help="where learners and their grids are")
    parser.add_argument("--learners", nargs="*", help="rows of the configuration; all if not given")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--metric", default="nDCG-exp@10")
    parser.add_argument("--baseline", default="perceptron", help="the row that the others are tested against")
    parser.add_argument("--missing", choices=("zero", "nan"), default="zero")
    parser.add_argument("--layout", choices=("auto", "dense"), default="dense")
    parser.add_argument("--jobs", type=int, default=1, help="cells at once")
    asked = parser.parse_args()
    os.environ.setdefault(JAR, "")
    try:
        with tempfile.TemporaryDirectory() as name:
            run(asked, Path(name))
    except RerankError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
