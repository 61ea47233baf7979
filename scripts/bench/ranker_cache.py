#!/usr/bin/env python3
"""The cache of rankers: quality and CPU milliseconds per list of neighbours' rankers beside full training.

    python scripts/bench/ranker_cache.py [--methods fg,pm] [--quick] FOLDER ...

A FOLDER has train.txt.gz, vali.txt.gz and test.txt.gz in svmlight's form, such as a fold of OHSUMED. Each
method (RankBoost of 150 rounds) is trained on train; the cache is filled with the rankers of the train and
vali lists. The test lists are ranked by the unadapted model, by their own rankers (full), and by those of
the nearest K stored lists, found by the list kernel or by histograms. AP is the mean over the folders.
Neighbours are asked for twice: the first time reads their rankers from their files, the second has them in
memory. open is the time to open the cache. --quick stores the vali lists only.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments

from rerank import load
from rerank.core.types import Floats
from rerank.data.judge import value_of
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.cache_entries import By
from rerank.extensions.transductive.model import TransductiveModel
from rerank.metrics.base import parse
from rerank.training import train as training

ROUNDS = 150
NEIGHBOURS = (1, 5, 10)
WAYS: tuple[By, ...] = ("list-kernel", "histogram")
Rows = dict[str, list[tuple[float, ...]]]


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a function returns, and its CPU milliseconds."""
    start = time.process_time()
    found = run()
    return found, 1000 * (time.process_time() - start)


def measure(name: str, folder: Path, quick: bool, rows: Rows) -> None:
    """Add what was measured with one method on one folder to ``rows``: AP, milliseconds per list, ..."""
    train, vali, test = (load(str(folder / f"{part}.txt.gz")) for part in ("train", "vali", "test"))
    model = training.train(train, name, base={"name": "rankboost", "rounds": ROUNDS})
    assert isinstance(model, TransductiveModel)
    judge = parse("AP").prepare(test)

    def add(row: str, scores: Floats, *figures: float) -> None:
        rows.setdefault(row, []).append((value_of(judge, test.from_input_order(scores)), *figures))

    model.score(test.subset([0]))  # prepares what all lists share
    found, full = timed(lambda: model.adapt(test))
    add("unadapted", found.unadapted, np.nan)
    add("full", found.scores, full / test.n_lists)
    with tempfile.TemporaryDirectory() as work:
        cache = str(Path(work, "cache"))
        stored: list[CandidateLists] = [vali] if quick else [train, vali]
        for lists in stored:
            model.adapt(lists, cache=model.open_cache(cache))
        for by in WAYS:
            for k in NEIGHBOURS:
                opened, opening = timed(partial(model.open_cache, cache, k, by))
                near, first = timed(partial(model.adapt, test, cache=opened))
                _, again = timed(partial(model.adapt, test, cache=opened))
                add(f"{by} {k}", near.scores, first / test.n_lists, again / test.n_lists, opening)


def main() -> None:
    """Print a table for each method."""
    parser = arguments(__doc__ or "", quick="store the vali lists only", folders=True)
    parser.add_argument("--methods", default="fg,iw,pm", help="learners, separated by commas")
    given = parser.parse_args()
    for name in given.methods.split(","):
        rows: Rows = {}
        for folder in given.folders:
            measure(name, folder, given.quick, rows)
        print(f"{name:16} {'AP':>8} {'ms/list':>9} {'in memory':>10} {'open ms':>8}")
        for row, values in rows.items():
            means = np.mean(values, axis=0)
            cells = [f"{means[0]:8.4f}", *(f"{value:9.2f}" for value in means[1:])]
            print(f"{row:16} {' '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
