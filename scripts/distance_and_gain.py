#!/usr/bin/env python3
"""Does the distance of a list to the training items predict what feature generation gains on it?

For each test list of each FOLD (a folder with train.txt.gz and test.txt.gz): the distance between its items
and those of the training lists, by their own features and with the generated ones (Duh 2009, section 9.3.5),
the share of training pairs in the right order, and the change of AP by ``fg``. Prints rank correlations with
the gain, with 95% intervals over the lists.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import rerank
from rerank.core.types import Floats
from rerank.data.judge import PreparedMetric
from rerank.data.lists import CandidateLists
from rerank.extensions.transductive.distances import proxy_a_distance, squared_mmd
from rerank.extensions.transductive.generation import GeneratedModel
from rerank.extensions.transductive.lists import single
from rerank.extensions.transductive.model import TransductiveModel
from rerank.formats import load
from rerank.metrics.base import parse

_SAMPLE = 1000  # training items that a list is compared with
_RESAMPLES = 1000
NAMES = ("MMD", "MMD, generated", "MMD, change", "A-distance", "A-distance, generated", "A-distance, change")


def figures_of(train: CandidateLists, test: CandidateLists, metric: str, rounds: int) -> list[list[float]]:
    """Return a row for each adapted test list: the figures of ``NAMES``, training accuracy and gain."""
    base = {"name": "rankboost", "rounds": rounds, "keep": "last"}
    model = rerank.train(train, "fg", base=base)
    assert isinstance(model, TransductiveModel)
    judge: PreparedMetric = parse(metric).prepare(test)
    found = model.adapt(test)
    own, before = (judge.per_list(test.from_input_order(s)) for s in (found.scores, found.unadapted))
    ready, labelled = model.prepared(test), model.labelled
    rng = np.random.default_rng(1)
    drawn = np.sort(rng.permutation(labelled.n_items)[:_SAMPLE])
    theirs = labelled.features.to_dense()[drawn]
    rows = []
    for i in range(test.n_lists):
        one = single(ready, i, labels=False)
        ranker = model.ranker(test, i)
        if not isinstance(ranker.model, GeneratedModel) or one.n_items < 5:
            continue
        mine = one.features.to_dense()
        more = np.hstack([mine, ranker.model.columns(one)])
        those = np.hstack([theirs, ranker.model.columns(labelled)[drawn]])
        mmds = squared_mmd(mine, theirs), squared_mmd(more, those)
        apart = proxy_a_distance(mine, theirs, rng), proxy_a_distance(more, those, rng)
        gain = judge.score_from_sums(own[i]) - judge.score_from_sums(before[i])
        accuracy = ranker.diagnostics["train_accuracy"]
        rows.append([*mmds, mmds[1] - mmds[0], *apart, apart[1] - apart[0], accuracy, float(gain)])
    return rows


def rank_correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's correlation, with the mean rank of ties; NaN if one of the two is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")

    def ranks(x: Floats) -> Floats:
        _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
        mean: Floats = (np.cumsum(counts) - (counts - 1) / 2)[place]
        return mean

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folds", nargs="+", metavar="FOLD")
    parser.add_argument("--metric", default="AP")
    parser.add_argument("--rounds", type=int, default=150)
    options = parser.parse_args()
    rows: list[list[float]] = []
    for fold in map(Path, options.folds):
        train, test = (load(str(fold / f"{part}.txt.gz")) for part in ("train", "test"))
        rows += figures_of(train, test, options.metric, options.rounds)
    values = np.array(rows)
    gain = values[:, -1]
    print(f"{len(gain)} lists, mean gain {gain.mean():+.4f} {options.metric}")
    rng = np.random.default_rng(1)
    samples = rng.integers(len(gain), size=(_RESAMPLES, len(gain)))
    for name, column in zip((*NAMES, "training accuracy"), values.T, strict=False):
        low, high = np.nanpercentile([rank_correlation(column[s], gain[s]) for s in samples], [2.5, 97.5])
        correlation = rank_correlation(column, gain)
        interval = f"[{low:+.3f}, {high:+.3f}]"
        print(f"{name:24s} mean {column.mean():7.4f}  with the gain {correlation:+.3f} {interval}")


if __name__ == "__main__":
    main()
