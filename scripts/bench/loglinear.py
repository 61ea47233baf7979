#!/usr/bin/env python3
"""Log-linear models of N-best lists: seconds of an evaluation and of a fit, beside scipy's CSR and L-BFGS.

    python scripts/bench/loglinear.py [FILE ...]

FILE are training lists, by default those of BLLIP's features in $RERANK_DATA/parse-bllip; without it,
lists are drawn in which features come in groups, as those of parses do. The peer computes the same loss and
gradient with scipy's CSR products and numpy, and minimises them with scipy's L-BFGS-B until its objective is
as low as ours. Both compute on one thread and in this process. --quick uses fewer lists.
"""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds
from scipy.optimize import minimize
from scipy.sparse import csr_array

from rerank.core.system import PEAK_UNIT
from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.formats import load
from rerank.learners.loglinear import LogLinear, LogLoss, TargetLists, target_lists
from rerank.models.linear import LinearModel
from rerank.models.training import MinimumRecord

PRIOR = 10.0


def drawn(n_lists: int) -> CandidateLists:
    """Lists of 50 items with 300 of 100,000 indicators each, which come in groups of 8, and labels."""
    rng = np.random.default_rng(0)
    rows, truth = [], rng.normal(0, 0.3, 100_000)
    for _ in range(n_lists):
        starts = (rng.zipf(1.3, 80) % 12_500) * 8
        present = rng.random((50, 80)) < rng.choice([0.05, 0.4, 0.9], 80)
        rows += [np.unique(np.add.outer(starts[row], np.arange(8))) for row in present]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    features = Sparse(indptr, np.concatenate(rows).astype(np.int32), None, 100_000)
    labels = np.round(features.scores(truth) + rng.normal(0, 1, len(rows)), 1)
    return CandidateLists.from_arrays(features, labels, group=np.full(n_lists, 50), source="drawn lists")


class Peer:
    """The same penalised loss by whole-array operations."""

    def __init__(self, lists: CandidateLists, targets: TargetLists, prior: float) -> None:
        rows = lists.features.take(targets.items).compressed()
        data = np.ones(rows.n_values) if rows.data is None else rows.data
        shape = (len(targets.items), rows.n_features)
        self.X = csr_array((data, rows.indices, rows.indptr), shape=shape)
        self.XT = self.X.T.tocsr()
        self.lists = targets
        self.sizes = np.diff(targets.offsets)
        self.prior = prior

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        starts, target = self.lists.offsets[:-1], self.lists.target
        s = self.X @ w
        s -= np.repeat(np.maximum.reduceat(s, starts), self.sizes)
        e = np.exp(s)
        total = np.add.reduceat(e, starts)
        loss = float(np.log(total).sum() - (target * s).sum())
        slope = e / np.repeat(total, self.sizes) - target
        return loss + self.prior * float(w @ w), self.XT @ slope + 2 * self.prior * w


class _LowEnoughError(Exception):
    """The peer's objective is as low as ours."""


def peer_fit(peer: Peer, enough: float) -> tuple[float, int]:
    """CPU seconds and evaluations until the peer's objective is at most ``enough``."""
    evaluations = 0

    def watched(w: Floats) -> tuple[float, Floats]:
        nonlocal evaluations
        evaluations += 1
        value, slope = peer(w)
        if value <= enough:
            raise _LowEnoughError
        return value, slope

    started = time.process_time()
    options = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9}
    with suppress(_LowEnoughError):
        minimize(watched, np.zeros(peer.X.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return time.process_time() - started, evaluations


def main() -> None:
    parser = arguments(__doc__, quick="a tenth of the drawn lists, or of those of the file")
    parser.add_argument("files", nargs="*", metavar="FILE")
    given = parser.parse_args()
    bllip = Path(os.environ.get("RERANK_DATA", ".")) / "parse-bllip" / "train.gz"
    files = given.files or ([str(bllip)] if bllip.is_file() else [])
    everything = [load(name) for name in files] or [drawn(3000)]
    for lists in everything:
        if given.quick:
            lists = lists.subset(np.arange(0, lists.n_lists, 10))
        measure(lists)


def measure(lists: CandidateLists) -> None:
    """Print the figures of one set."""
    size = f"{lists.n_lists:,} lists, {lists.n_items:,} items, {lists.n_features:,} features"
    print(f"{lists.source}: {size}, {lists.features.n_values:,} values")
    lists.features.scores(np.zeros(lists.n_features))  # a store is in memory from here on
    targets = target_lists(lists, "best", 0.0, None)
    w = np.random.default_rng(1).normal(0, 0.01, lists.n_features)
    loss = LogLoss(lists.features, targets)
    peer = Peer(lists, targets, PRIOR)
    ours, theirs = loss(w), peer(w)
    np.testing.assert_allclose(ours[0] + PRIOR * float(w @ w), theirs[0], rtol=1e-10)
    np.testing.assert_allclose(ours[1] + 2 * PRIOR * w, theirs[1], rtol=1e-7, atol=1e-7)
    a, b = (cpu_seconds(partial(f, w), 5) for f in (loss, peer))
    print(f"loss and gradient: {1e3 * a:.1f} ms CPU, scipy {1e3 * b:.1f} ms, {b / a:.1f} x")
    del loss
    started = time.process_time()
    model = LogLinear(prior=PRIOR).fit(lists)
    ours_took = time.process_time() - started
    assert isinstance(model, LinearModel)
    value = peer(model.weights)[0]
    taken, evaluations = peer_fit(peer, value)
    record = model.training.rounds
    assert isinstance(record, MinimumRecord)
    print(f"fit, prior {PRIOR:g}: {ours_took:.1f} s CPU, {record.iterations} steps, objective {value:.3f}")
    print(f"scipy down to it: {taken:.1f} s CPU, {evaluations} evaluations, {taken / ours_took:.1f} x")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / 1e9
    print(f"peak memory {peak:.2f} GB, with the peer's copies")


if __name__ == "__main__":
    main()
