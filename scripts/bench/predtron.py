#!/usr/bin/env python3
"""Predtron on lists: updates per CPU second beside a loop in numpy and scipy, and growth with length.

    python scripts/bench/predtron.py [--quick]

Drawn lists with 46 dense features and 5 grades, with so much noise that every visit is an update. CPU seconds
are of whole fits of 3 epochs, preparation included, the best of some runs, on one thread. The loop computes
the same updates by sorting and linear_sum_assignment, for fewer lists; its weights must equal ours, or the
benchmark stops. "standard" solves an assignment for each update, "loss-driven" needs none. The growth is the
exponent of the time of an update between two lengths. --quick takes shorter lists.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from common import arguments, cpu_seconds
from scipy.optimize import linear_sum_assignment

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.learners.predtron import Predtron
from rerank.learners.predtron.settings import Variant
from rerank.models.linear import LinearModel

N_FEATURES = 46
EPOCHS = 3
VARIANTS: tuple[Variant, ...] = ("standard", "loss-driven")
SHARES = (0.5, 0.75, 0.9, 0.97)


def drawn(m: int, n_lists: int) -> CandidateLists:
    """Noisy lists of m items."""
    rng = np.random.default_rng(m)
    X = rng.standard_normal((n_lists * m, N_FEATURES))
    scores = X @ rng.standard_normal(N_FEATURES) + 10 * rng.standard_normal(n_lists * m)
    labels = np.digitize(scores, np.quantile(scores, SHARES)).astype(np.float64)
    return CandidateLists.from_arrays(X, labels, group=[m] * n_lists)


def by_scipy(lists: CandidateLists, m: int) -> Floats:
    """The last weights of the passes, in numpy and scipy."""
    assert lists.labels is not None
    features, gains = lists.features.to_dense().reshape(-1, m, N_FEATURES), np.exp2(lists.labels) - 1
    f = -np.arange(1.0, m + 1)
    f /= np.linalg.norm(f)
    discounts = 1 / np.log2(np.arange(2, m + 2))
    w = np.zeros(N_FEATURES)
    for _ in range(EPOCHS):
        for X, gain in zip(features, gains.reshape(-1, m), strict=True):
            if gain.min() == gain.max():
                continue
            t = X @ w
            best = np.sort(gain)[::-1]
            guess = np.lexsort((gain, -t))
            if (gain[guess] == best).all():
                continue
            right = np.empty(m, dtype=np.int64)
            right[np.lexsort((-t, -gain))] = np.arange(m)
            profit = np.outer(t, f) - np.outer(gain / (best @ discounts), discounts)
            worst = linear_sum_assignment(profit, maximize=True)[1]
            for grade in np.unique(gain):
                same = np.flatnonzero(gain == grade)
                worst[same[np.argsort(-t[same], kind="stable")]] = np.sort(worst[same])
            w = w + X.T @ (f[right] - f[worst])
    return w


def main() -> None:
    given = arguments(__doc__, quick="shorter lists").parse_args()
    lengths = [10, 30, 100] if given.quick else [10, 30, 100, 300, 1000]
    print(
        f"{'items':>6}{'lists':>7}{'standard':>12}{'growth':>8}{'loss-driven':>13}{'numpy+scipy':>13}{'times':>7}"
    )
    before: tuple[int, float] | None = None
    for m in lengths:
        n_lists = max(60_000 // m, 60)
        lists = drawn(m, n_lists)
        seconds, updates = {}, {}
        for variant in VARIANTS:
            learner = Predtron(variant=variant, epochs=EPOCHS, average="last", shuffle=False)
            updates[variant] = sum(row["updates"] for row in learner.fit(lists).curve)
            seconds[variant] = cpu_seconds(partial(learner.fit, lists), times=3)
        few = lists.subset(range(max(6_000 // m, 2)))
        model = Predtron(epochs=EPOCHS, average="last", shuffle=False).fit(few)
        assert isinstance(model, LinearModel)
        np.testing.assert_allclose(by_scipy(few, m), model.weights, rtol=1e-8, atol=1e-8)
        loop = cpu_seconds(partial(by_scipy, few, m))
        theirs = sum(row["updates"] for row in model.curve) / loop
        rate = updates["standard"] / seconds["standard"]
        growth = "" if before is None else f"{math.log(before[1] / rate) / math.log(m / before[0]):.2f}"
        driven = updates["loss-driven"] / seconds["loss-driven"]
        cells = f"{rate:>12,.0f}{growth:>8}{driven:>13,.0f}{theirs:>13,.0f}{rate / theirs:>7.1f}"
        print(f"{m:>6}{n_lists:>7}{cells}", flush=True)
        before = (m, rate)


if __name__ == "__main__":
    main()
