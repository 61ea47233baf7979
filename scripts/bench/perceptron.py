#!/usr/bin/env python3
"""Algorithm 2's two engines compared with a vectorised pair loop: cost against list length, and an epoch.

    python scripts/bench/perceptron.py

Prints CPU microseconds a list (fresh scores each call, best of several), the ratios of the peer and of
the pair loop to the engine that `auto` takes, the growth exponents, and an epoch over 1,000 lists x
1,000 items x 20 features as a multiple of the time of its scores alone.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from common import cpu_seconds

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import Margin, MarginName, PairRelation, Pairs, make_pairs
from rerank.learners.perceptron import Perceptron
from rerank.learners.winnow import Winnow
from rerank.native.learners import _violations

SIZES = (27, 100, 200, 300, 500, 1000, 2000, 4000, 8000)
SETTINGS = {
    "ordinal, even": (PairRelation(), Margin()),
    "ordinal, uneven": (PairRelation(), Margin("uneven")),
    "ordinal (2, 20), uneven": (PairRelation("ordinal", ordinal_factor=2, ordinal_gap=20), Margin("uneven")),
    "split, even": (PairRelation("split", split_top=5), Margin()),
}


def one_list(k: int, relation: PairRelation, margin: Margin) -> Pairs:
    return make_pairs(CandidateLists.from_arrays(np.zeros((k, 1)), np.arange(k, 0, -1.0)), relation, margin)


def numpy_pairs(pairs: Pairs, scores: Floats, tau: float) -> Floats:
    """The pair loop as whole-array operations, blocks of rows that fit the cache."""
    z = scores - tau * pairs.h
    reach = z + pairs.c * tau
    u = np.zeros(len(z))
    at = np.arange(len(z))
    even = not pairs.h.any()
    rows = max(1, 100_000 // len(z))
    for first in range(0, len(z), rows):
        part = slice(first, first + rows)
        hit = z[part, None] <= reach
        hit &= at >= pairs.start[part, None]
        hit &= at < pairs.stop[part, None]
        if even:
            u[part] += hit.sum(axis=1)
            u -= hit.sum(axis=0)
        else:
            n = hit.sum(axis=1)
            u[part] += n * (pairs.h[part] + pairs.c) - hit @ pairs.h
            u -= pairs.h[part] @ hit + hit.sum(axis=0) * (pairs.c - pairs.h)
    return u


def best_of(run: Callable[[Floats], object], scores: Floats, budget: float = 0.25) -> float:
    """Least CPU seconds of a call over scores (n, k), taken in turn, in batches."""
    best, spent, batch = math.inf, 0.0, max(1, min(len(scores), 400_000 // scores.shape[1]))
    while spent < budget:
        started = time.process_time()
        for row in scores[:batch]:
            run(row)
        took = time.process_time() - started
        spent += took
        best = min(best, took / batch)
    return best


def costs(k: int, relation: PairRelation, margin: Margin) -> tuple[float, float, float, float]:
    """CPU seconds a list of the peer, the pair loop, the sweep and what auto takes."""
    pairs = one_list(k, relation, margin)
    rng = np.random.default_rng(k)
    # Many different lists: with few, branch prediction flatters the engines.
    scores = rng.standard_normal((max(20, 400_000 // k), k)) - 2.0 * np.arange(k) / k
    u, even = np.empty(k), margin.margin == "even"
    given = (pairs.offsets, pairs.items, pairs.start, pairs.stop, pairs.h, pairs.c, 0.1, even)
    engines = {sweep: _violations.ListPairs(*given, sweep) for sweep in (False, True, None)}

    def engine(row: Floats, sweep: bool) -> None:
        engines[sweep].updates(row, u)

    peer = best_of(lambda row: numpy_pairs(pairs, row, 0.1), scores)
    loop = best_of(lambda row: engine(row, False), scores)
    sweep = best_of(lambda row: engine(row, True), scores)
    return peer, loop, sweep, sweep if engines[None].fast[0] else loop


def print_costs() -> None:
    for name, (relation, margin) in SETTINGS.items():
        heads = ("numpy", "pair loop", "sweep", "auto")
        print(f"\n{name}\n{'k':>6} {' '.join(f'{head:>10}' for head in heads)}  x numpy  x loop auto/best")
        auto = {}
        for k in SIZES:
            peer, loop, sweep, auto[k] = costs(k, relation, margin)
            row = " ".join(f"{1e6 * value:10.2f}" for value in (peer, loop, sweep, auto[k]))
            ratios = f"{peer / auto[k]:8.1f} {loop / auto[k]:7.1f} {auto[k] / min(loop, sweep):9.2f}"
            print(f"{k:6d} {row} {ratios}")
        print(f"exponent from 500 to 8,000: {math.log(auto[8000] / auto[500]) / math.log(16):.2f}")


def print_epoch() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 20))
    y = X @ rng.standard_normal(20) + 3 * rng.standard_normal(1_000_000)
    lists = CandidateLists.from_arrays(X, y, group=[1000] * 1000)
    w = np.ones(20)
    alone = cpu_seconds(lambda: lists.features.scores(w), 5)
    print(f"\nscores of 1,000 x 1,000 x 20 alone: {1e3 * alone:.1f} ms CPU")
    margins: tuple[MarginName, ...] = ("even", "uneven")
    for margin, kind in itertools.product(margins, (Perceptron, Winnow)):
        once, more = (cpu_seconds(partial(kind(margin=margin, epochs=r).fit, lists)) for r in (1, 6))
        epoch = (more - once) / 5
        what = f"an epoch of Algorithm 2, {kind.name}, {margin}"
        print(f"{what}: {1e3 * epoch:.1f} ms CPU, {epoch / alone:.1f} x the scores")


if __name__ == "__main__":
    print_costs()
    print_epoch()
