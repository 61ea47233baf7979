#!/usr/bin/env python3
"""Learners by scalings: a metric on test lists, mean and standard deviation over seeds.

    RERANK_DATA=... python scripts/scaling_table.py --sets ohsumed lightgbm-rank [--seeds 5]
    python scripts/scaling_table.py --files TRAIN [DEV] TEST --metric nDCG@10

Learners have their default settings. The round is kept by the metric on dev lists: the vali lists of
OHSUMED's folds, those given, or a fifth of the training lists.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from perceptron_table import Triple, lightgbm_rank, ohsumed
from text_lists.sets import TASKS, load_part, print_rows

import rerank
from rerank import CandidateLists, RerankError
from rerank.data.folds import split
from rerank.data.judge import corpus_value
from rerank.data.scaling import SCALINGS
from rerank.learners.base import LEARNERS
from rerank.metrics.base import parse


def with_dev(parts: list[CandidateLists]) -> Triple:
    """Training, dev and test lists; without dev lists a fifth of the training lists."""
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    rest, dev = split(parts[0], [0.8, 0.2], seed=1)
    return parts[0].subset(rest), parts[0].subset(dev), parts[1]


def news(data: Path) -> Iterator[Triple]:
    """TREC news: five features."""
    files = (data / "fastrank-news" / f"trec_news_2018.{part}" for part in ("train", "test"))
    yield with_dev([rerank.load(file, format="svmlight") for file in files])


def texts(name: str, data: Path) -> Iterator[Triple]:
    """Lists of translations or transcripts."""
    yield with_dev([load_part(data / name, part, TASKS[name]) for part in ("dev", "test")])


SETS: dict[str, tuple[Callable[[Path], Iterator[Triple]], str]] = {
    "ohsumed": (ohsumed, "AP"),
    "lightgbm-rank": (lightgbm_rank, "nDCG@10"),
    "fastrank-news": (news, "nDCG@10"),
    **{name: (partial(texts, name), task.metric) for name, task in TASKS.items()},
}


def values(folds: list[Triple], name: str, scaling: str, metric: str, seeds: int) -> list[float]:
    """The metric over the test lists of all folds, for each seed."""
    known = LEARNERS.get(name).model_fields
    found = []
    for seed in range(1, seeds + 1):
        wanted: dict[str, Any] = {"seed": seed, "keep": "best"}
        settings = {key: value for key, value in wanted.items() if key in known}
        rows = []
        for train, dev, test in folds:
            model = rerank.train(train, name, dev=dev, metric=metric, scaling=scaling, **settings)
            judge = parse(metric).prepare(test)
            rows.append(judge.per_list(model.score_items(test)))
        found.append(corpus_value(judge, np.concatenate(rows)))
    return found


def cell(folds: list[Triple], name: str, scaling: str, metric: str, seeds: int) -> str:
    """Mean and deviation, or a dash if the learner or the scaling is not for these lists."""
    try:
        found = values(folds, name, scaling, metric, seeds)
    except RerankError:
        return "-"
    digits = 4 if max(map(abs, found)) <= 1 else 2
    return f"{np.mean(found):.{digits}f} ±{np.std(found, ddof=seeds > 1):.{digits}f}"


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[], help="folders of RERANK_DATA")
    parser.add_argument("--files", nargs="+", default=[], help="TRAIN [DEV] TEST, in any format")
    parser.add_argument("--metric", help="another metric than the set's")
    parser.add_argument("--learners", nargs="+", default=["perceptron", "prank", "oap-bpm", "uneven-margin"])
    parser.add_argument("--scalings", nargs="+", choices=SCALINGS, default=list(SCALINGS))
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args(arguments)
    if asked.sets and "RERANK_DATA" not in os.environ:
        parser.error("RERANK_DATA is not set: it names the folder of the sets")
    if asked.files and (len(asked.files) not in (2, 3) or not asked.metric):
        parser.error("--files takes TRAIN TEST or TRAIN DEV TEST, with --metric")
    warnings.simplefilter("ignore", rerank.DataNote)
    data = Path(os.environ.get("RERANK_DATA", "."))
    jobs = [(name, *SETS[name]) for name in asked.sets]
    if asked.files:
        jobs.append((asked.files[0], lambda _: iter([with_dev(list(map(rerank.load, asked.files)))]), ""))
    for name, read, metric in jobs:
        folds, metric = list(read(data)), asked.metric or metric
        print(f"\n{name}: {metric}, {folds[0][0].features.describe()}, {asked.seeds} seeds\n", flush=True)
        rows = [("", *asked.scalings)]
        for learner in asked.learners:
            rows.append((learner, *(cell(folds, learner, s, metric, asked.seeds) for s in asked.scalings)))
        print_rows(rows)


if __name__ == "__main__":
    main()
