#!/usr/bin/env python3
"""Boosting at the scale of Collins & Koo (2005): CPU seconds of the index and of the rounds, and memory.

    python scripts/bench/boosting.py [--quick]

36,000 lists of 1,000,000 items are drawn with 500,000 indicators, whose frequencies follow Zipf's law with
exponent 1, and about 60 of which differ in a pair. Labels are a weighted sum of an item's indicators plus
noise, the base score knows a part of it. The paper needed 3 to 4 hours for 100,000 rounds.
"""

from __future__ import annotations

import dataclasses
import itertools
import resource
import time
from typing import Any

import numpy as np
from common import arguments
from rerank.native.learners._boosting_exp import ExpLoss
from rerank.native.learners._boosting_index import index

from rerank.core.system import PEAK_UNIT
from rerank.core.types import Floats
from rerank.data.columns.offsets import offsets_of
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.learners.boosting import exact_weight
from rerank.learners.boosting.examples import ranking_examples, thresholds_of
from rerank.learners.boosting.rounds import Run, run, savings

LISTS, ITEMS, FEATURES, ROUNDS = 36_000, 1_000_000, 500_000, 100_000
DRAWS = 36  # indicators of an item, before double ones are dropped
BLOCK = 50_000
PAPER = {(1, 10): 48.6, (11, 100): 83.5, (101, 1000): 280.0, (1001, 10_000): 1263.9}
PAPER |= {(10_001, 50_000): 2920.2, (50_001, 100_000): 4229.8, (1, 100_000): 2692.7}


def draw(n_lists: int, n_items: int, n_features: int, seed: int = 0) -> CandidateLists:
    """Lists of indicators, labels and base scores."""
    rng = np.random.default_rng(seed)
    column = rng.permutation(n_features).astype(np.int32)  # of each rank by frequency
    indices, widths = [], []
    for first in range(0, n_items, BLOCK):
        u = rng.random((min(BLOCK, n_items - first), DRAWS))
        rank = np.minimum(np.exp(u * np.log(n_features + 1)).astype(np.int64) - 1, n_features - 1)
        rows = np.sort(column[rank], axis=1)
        new = np.ones(rows.shape, dtype=bool)
        new[:, 1:] = rows[:, 1:] != rows[:, :-1]
        indices.append(rows[new])
        widths.append(new.sum(axis=1))
    features = Sparse(offsets_of(np.concatenate(widths)), np.concatenate(indices), None, n_features)
    weights = np.empty(n_features)  # rare indicators mean more
    weights[column] = rng.normal(0, 1, n_features) * (np.arange(1, n_features + 1) / 1000) ** 0.3
    known = features.scores(weights)
    labels = known + rng.normal(0, 3, n_items)
    base = 0.3 * known + rng.normal(0, 3, n_items)
    sizes = np.diff(np.linspace(0, n_items, n_lists + 1).astype(np.int64))
    return CandidateLists(offsets_of(sizes), features, labels=labels, base_scores=base, source="drawn lists")


@dataclasses.dataclass
class Trained:
    """A run with the CPU seconds of its steps, and the number of differences of a pair."""

    run: Run
    index: float
    start: float
    rounds: float
    differences: float


def train(lists: CandidateLists, rounds: int, epsilon: float = 0.0025) -> Trained:
    """Train as the learner does, and measure."""
    examples = ranking_examples(lists, True)
    assert lists.base_scores is not None
    base = examples.differences(lists.base_scores)
    times = [time.process_time()]
    stumps = thresholds_of(lists.features, 32)
    differences = index(lists.features.matrix(), stumps.native, examples.pairs)
    times.append(time.process_time())
    margin: Floats = exact_weight(base, np.log(examples.importance)) * base
    loss: Any = ExpLoss(differences, margin, examples.importance, epsilon, 10.0)
    times.append(time.process_time())
    found = run(loss, rounds)
    times.append(time.process_time())
    of_index, of_start, of_rounds = (b - a for a, b in itertools.pairwise(times))
    return Trained(found, of_index, of_start, of_rounds, differences.n_entries / differences.n_pairs)


def peak() -> int:
    """The most memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT >> 20


def main() -> None:
    args = arguments(__doc__ or "", quick="a twentieth of the lists and rounds").parse_args()
    scale = 20 if args.quick else 1
    rounds = ROUNDS // scale
    lists = draw(LISTS // scale, ITEMS // scale, FEATURES // scale)
    print(f"{lists!r}, drawn in {peak()} MB", flush=True)
    done = train(lists, rounds)
    n, found = len(done.run.steps), done.run
    print(f"{done.differences:.1f} differences a pair, index {done.index:.2f}, sums {done.start:.2f} CPU s")
    print(f"{n:,} rounds {done.rounds:.2f} CPU s, peak memory {peak()} MB, data included")
    print(f"Work({n}) {found.work[-1]:.1f} passes, {len(np.unique(found.stumps)):,} indicators")
    for (first, last), paper in PAPER.items():
        if last <= n:
            print(f"  Savings({first}, {last}) {savings(found.work, first, last):.1f} (paper {paper})")
    print(f"drift {found.drift:.1e} of the loss, {found.relative_drift:.1e} of the sum itself", flush=True)
    for some in (rounds // 100, rounds // 10):
        print(f"{some:,} rounds {train(lists, some).rounds:.2f} CPU s", flush=True)
    for part in (4, 2):
        less = train(draw(LISTS // scale // part, ITEMS // scale // part, FEATURES // scale), rounds // 10)
        print(
            f"1/{part} of the lists: index {less.index:.2f}, {rounds // 10:,} rounds {less.rounds:.2f} CPU s",
            flush=True,
        )
    sharp = train(lists, rounds // 10, 1e-6).run
    print(f"epsilon 1e-6: drift {sharp.drift:.1e} of the loss, {sharp.relative_drift:.1e} of the sum itself")


if __name__ == "__main__":
    main()
