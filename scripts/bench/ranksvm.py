#!/usr/bin/env python3
"""Ranking SVMs: seconds and objectives beside dlib and scikit-learn, and how time grows with the lists.

    python scripts/bench/ranksvm.py [--quick]

First, the training lists of OHSUMED's folds in $RERANK_DATA, scaled to 0 to 1 within each list: CPU seconds
of a fit and the objective that it reached, |w|² / 2 + C * the mean over pairs of the loss, relative to the
least of all rows. dlib's svm_rank_trainer and LinearSVC on the differences of all pairs minimise the same
objective. Their first number is for training alone; the second one includes making their data from arrays:
dlib's vectors, or the differences. Second, a path over C. Third, drawn lists with 20 features and labels
that are all different. Everything computes on one thread and in this process.
--quick takes one fold and smaller lists.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from common import arguments, installed

from rerank.core.types import Floats
from rerank.data.lists import CandidateLists
from rerank.data.pairs import PairRelation, make_pairs
from rerank.data.scaling import fit_scaling
from rerank.formats import load
from rerank.learners.pair_loss import Place
from rerank.learners.ranksvm import STRENGTHS, RankSVM
from rerank.learners.sums.newton import minimise
from rerank.learners.sums.pairs import PairPart, PairSums
from rerank.learners.sums.parts import Parts
from rerank.models.linear import LinearModel

C = 10.0
TIMES = 5
Fit = Callable[[], Floats]  # returns weights
Prepare = Callable[[], Fit]  # makes what a program reads


def main() -> None:
    given = arguments(__doc__, quick="one fold, and smaller lists").parse_args()
    warnings.simplefilter("ignore")  # of LinearSVC, which stops before it has converged
    folder = Path(os.environ.get("RERANK_DATA", ".")) / "ohsumed"
    if folder.is_dir():
        for fold in range(1, 2 if given.quick else 6):
            beside_peers(scaled(load(str(folder / f"Fold{fold}" / "train.txt.gz"))))
        path(scaled(load(str(folder / "Fold1" / "train.txt.gz"))))
    else:
        print(f"no {folder}: set RERANK_DATA")
    growth([10, 100] if given.quick else [10, 32, 100, 316, 1000])


def scaled(lists: CandidateLists) -> CandidateLists:
    """Lists whose features are 0 to 1 within each list."""
    return fit_scaling("list-minmax", lists).apply(lists)


def timed(prepare: Prepare, times: int = TIMES) -> tuple[float, float, Floats]:
    """CPU seconds of a fit, and with making its data, the best of some runs; the weights."""
    alone = whole = np.inf
    for _ in range(times):
        started = time.process_time()
        fit = prepare()
        ready = time.process_time()
        weights = fit()
        done = time.process_time()
        alone, whole = min(alone, done - ready), min(whole, done - started)
    return alone, whole, weights


class Objective:
    """|w|² / 2 + C * the mean over all pairs of what they lack to the margin 1, or of its square."""

    def __init__(self, lists: CandidateLists) -> None:
        self.pairs = make_pairs(lists, PairRelation("all"))
        weight = np.full(self.pairs.n_lists, 1.0 / self.pairs.n_pairs)
        part = PairPart(lists.features, self.pairs, weight, neighbours=False, balanced=False)
        self.loss, _, _ = PairSums.of(Parts([part], lists.n_lists), lists.n_features, uneven=False)

    def __call__(self, w: Floats, loss: str) -> float:
        lack = self.loss.sums(Place(w, -np.inf))[0]
        return 0.5 * float(w @ w) + C * (lack.total if loss == "l1" else lack.squares)


def ours(lists: CandidateLists, loss: str, tolerance: float = 1e-4) -> Prepare:
    learner = RankSVM(C=C, loss="l1" if loss == "l1" else "l2", list_balance=False, tolerance=tolerance)

    def fit() -> Floats:
        model = learner.fit(lists)
        assert isinstance(model, LinearModel)
        return model.weights

    return lambda: fit


def by_dlib(lists: CandidateLists) -> Fit:
    """A fit by dlib's svm_rank_trainer."""
    import dlib

    X, y = lists.features.to_dense(), lists.labels
    assert y is not None
    queries = dlib.ranking_pairs()
    for start, stop in itertools.pairwise(lists.offsets.tolist()):
        rows, labels = X[start:stop], y[start:stop]
        for grade in np.unique(labels)[1:]:  # the items of a grade against those of all grades below it
            query = dlib.ranking_pair()
            for vectors, part in ((query.relevant, labels == grade), (query.nonrelevant, labels < grade)):
                vectors.extend([dlib.vector(row) for row in rows[part].tolist()])
            queries.append(query)
    trainer = dlib.svm_rank_trainer()
    trainer.c = C
    return lambda: np.array(trainer.train(queries).weights).ravel()


def by_differences(lists: CandidateLists, loss: str) -> Fit:
    """A fit by scikit-learn's LinearSVC on differences of pairs."""
    from sklearn.svm import LinearSVC

    pairs = make_pairs(lists, PairRelation("all"))
    better, worse = pairs.explicit()
    X = lists.features.to_dense()[pairs.items]
    sign = np.where(np.arange(pairs.n_pairs) % 2, -1.0, 1.0)  # two classes of pairs
    differences = (X[better] - X[worse]) * sign[:, None]
    name = "hinge" if loss == "l1" else "squared_hinge"
    how = {"dual": loss == "l1", "fit_intercept": False, "random_state": 1, "tol": 1e-5}
    model = LinearSVC(C=C / pairs.n_pairs, loss=name, **how)
    return lambda: np.ravel(model.fit(differences, sign).coef_)


def beside_peers(lists: CandidateLists) -> None:
    """Print seconds and objectives of one set."""
    objective = Objective(lists)
    print(f"{lists.source}: {lists.n_items:,} items, {objective.pairs.n_pairs:,} pairs, C = {C:g}")
    for loss in ("l1", "l2"):
        fits = {"ranksvm": ours(lists, loss), "ranksvm, tolerance 1e-7": ours(lists, loss, 1e-7)}
        if loss == "l1" and installed("dlib"):
            fits["dlib"] = partial(by_dlib, lists)
        if installed("sklearn"):
            fits["LinearSVC"] = partial(by_differences, lists, loss)
        found = {name: timed(fit) for name, fit in fits.items()}
        values = {name: objective(w, loss) for name, (_, _, w) in found.items()}
        least = min(values.values())
        for name, (alone, whole, _) in found.items():
            seconds = f"{alone:7.4f} CPU s, with data {whole:7.4f}"
            above = values[name] / least - 1.0
            print(f"  {loss}  {name:<24} {seconds}, objective {values[name]:.6f} +{above:.1e}")


def walk(loss: PairSums, n_features: int, name: str, warm: bool) -> Floats:
    """The minima of a path; return the last one."""
    w = np.zeros(n_features)
    for strength in STRENGTHS:
        start = w if warm else np.zeros(n_features)
        found = minimise(loss, strength, start, squared=name == "l2", tolerance=1e-4, iterations=200)
        w = found.w
    return w


def path(lists: CandidateLists) -> None:
    """Print the seconds of all minima of a path, each from the one before and each from 0."""
    objective = Objective(lists)
    for loss in ("l1", "l2"):
        walked = partial(partial, walk, objective.loss, lists.n_features, loss)
        warm, cold = (timed(partial(walked, warm))[0] for warm in (True, False))
        text = f"{len(STRENGTHS)} values of C: {warm:.3f} CPU s, each from weights of 0 {cold:.3f} CPU s"
        print(f"{lists.source}: {loss}, {text}")


def drawn(n_lists: int, length: int) -> CandidateLists:
    """Lists with 20 features and labels that are all different."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_lists * length, 20))
    y = X @ rng.normal(size=20) + 3.0 * rng.normal(size=len(X))
    return CandidateLists.from_arrays(X, y, group=np.full(n_lists, length), source="drawn")


def growth(lengths: list[int]) -> None:
    """Print seconds over lengths of lists, with LinearSVC as long as its pairs take little memory."""
    print(f"1,000 lists of n items, 20 features, labels all different, C = {C:g}: CPU seconds")
    print("    n       pairs   ranksvm l1  ranksvm l2  LinearSVC l2")
    for length in lengths:
        lists = drawn(1000, length)
        n_pairs = 500 * length * (length - 1)
        fits = [ours(lists, "l1"), ours(lists, "l2")]
        if n_pairs < 1_000_000 and installed("sklearn"):
            fits.append(partial(by_differences, lists, "l2"))
        cells = [f"{timed(fit, 1)[0]:.2f}" for fit in fits]
        print(f"{length:5}{n_pairs:12,}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
