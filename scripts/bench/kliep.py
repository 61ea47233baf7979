#!/usr/bin/env python3
"""KLIEP on differences of items: CPU seconds and objective beside densratio's (pip install densratio).

    python scripts/bench/kliep.py [--quick] FOLDER ...

A FOLDER has train.txt.gz and test.txt.gz in svmlight's form, such as a fold of OHSUMED. Both choose among the
same widths by the same number of folds, for the same labelled differences (better minus worse) and the same
differences of the list. Then both get the same centres and the same width: the objective is the mean log
weight of the list's differences, of which the largest possible value is at most log(1 + violation) above
ours. Then what drawn differences lose: the objective over all differences of the list, by weights from some
of them. Last, statistics of both packages' weights of 30,000 labelled differences for 3000 of the list;
densratio searches its width as Sugiyama's programme does. --quick uses 1 list, otherwise 3.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from common import arguments, cpu_seconds, need

from rerank import load
from rerank.core.types import Floats
from rerank.data.pairs import PairRelation, make_pairs
from rerank.data.scaling import Scaling
from rerank.extensions.transductive.space import Points
from rerank.extensions.transductive.weighting.kliep import (
    CENTRES,
    FOLDS,
    WIDTHS,
    Ratio,
    fit_ratio,
    typical_distance,
)
from rerank.extensions.transductive.weighting.lists import importance_weights
from rerank.extensions.transductive.weighting.pairs import ListDifferences, PairGaussians, TrainingPairs
from rerank.models.training import statistics_of

SAMPLES = 5000
LABELLED, OF_LIST = 30_000, 3000
FEWER = (500, 1000, 2000, 5000)


class Problem:
    """One list: Gaussians of labelled pairs around some of its differences, and others for the likelihood."""

    def __init__(self, training: TrainingPairs, labelled: Points, own: Points, samples: int) -> None:
        rng = np.random.default_rng(0)
        self.labelled, self.own, self.training = labelled, own, training
        self.all = ListDifferences.of([own])
        self.centres, self.some = self.all.drawn(CENTRES, rng), self.all.drawn(samples, rng)

    def gaussians(self) -> PairGaussians:
        """Return the Gaussians of the labelled pairs."""
        products = self.labelled.products(self.own)[self.training.pairs.items]
        return PairGaussians(self.training, self.centres.of_columns(products), self.centres.norms)

    def squared(self, differences: ListDifferences) -> Floats:
        """Return squared distances of differences to the centres."""
        return differences.squared_distances(self.centres, self.own.n_features)

    def fitted(self) -> Ratio:
        """Return our ratio."""
        squared = self.squared(self.some)
        widths = typical_distance(squared) * np.array(WIDTHS)
        return fit_ratio(self.gaussians(), squared, widths, FOLDS, np.random.default_rng(0))


def objective(squared: Floats, width: float, log_factors: Floats) -> float:
    """Return the mean log w of differences."""
    logs = squared / (-2.0 * width * width) + log_factors
    top = logs.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))).mean())


def beside_densratio(problem: Problem, differences: Floats, items: Floats) -> None:
    """Print a row: both from scratch, and both objectives for our centres and width."""
    from densratio.KLIEP import KLIEP, KLIEP_optimize_alpha

    found = problem.fitted()
    ours = cpu_seconds(lambda: problem.gaussians().weights(found.width, problem.fitted().log_factors), 2)
    some = items[problem.some.mine] - items[problem.some.others]
    widths = found.widths.tolist()
    theirs = cpu_seconds(lambda: KLIEP(some, differences, widths, CENTRES, FOLDS, verbose=False))
    squared = problem.squared(problem.some)
    density = np.exp(squared / (-2.0 * found.width**2))
    means = np.exp(problem.gaussians().log_means(found.width))
    alpha = KLIEP_optimize_alpha(density, mean_phi_y=means)
    value = float(np.log(density @ alpha / (means @ alpha)).mean())
    print(
        f"  {problem.own.n:4} items: {ours:7.3f} s, densratio {theirs:8.2f} s ({theirs / ours:.0f} x); "
        f"objective {found.log_likelihood:.6f} (violation {found.violation:.0e}), densratio {value:.6f}",
        flush=True,
    )


def drawn(training: TrainingPairs, labelled: Points, own: Points) -> None:
    """Print what fewer differences in the likelihood lose, and cost."""
    whole = Problem(training, labelled, own, 10**9)
    best = whole.fitted()
    squared = whole.squared(whole.all)
    reached = [f"all {len(whole.all):,}: {best.log_likelihood:.4f} in {cpu_seconds(whole.fitted):.2f} s"]
    for samples in FEWER:
        problem = Problem(training, labelled, own, samples)
        found = problem.fitted()
        value = objective(squared, found.width, found.log_factors)
        reached.append(f"{samples:,}: {value:.4f} in {cpu_seconds(problem.fitted):.2f} s")
    print(f"  objective over all differences, {'; '.join(reached)}", flush=True)


def statistics(differences: Floats, items: Floats) -> None:
    """Print the statistics of Table 6.3 of Duh's thesis for the weights of both packages."""
    from densratio.KLIEP import KLIEP

    rng = np.random.default_rng(0)
    np.random.seed(0)  # densratio draws from it
    training = differences[rng.choice(len(differences), min(LABELLED, len(differences)), replace=False)]
    mine, others = np.nonzero(~np.eye(len(items), dtype=bool))
    chosen = rng.choice(len(mine), min(OF_LIST, len(mine)), replace=False)
    test = items[mine[chosen]] - items[others[chosen]]
    theirs = KLIEP(test, training, "auto", CENTRES, FOLDS, verbose=False).compute_density_ratio(training)
    for name, weights in (
        ("ours", importance_weights(training, test).weights),
        ("densratio", theirs / theirs.mean()),
    ):
        figures = " ".join(f"{key} {value:.3f}" for key, value in statistics_of(weights).items())
        print(f"  weights, {name:9} {figures}", flush=True)


def main() -> None:
    """Print the rows of each folder."""
    parser = arguments(__doc__ or "", quick="1 list", folders=True)
    given = parser.parse_args()
    need("densratio")
    folders: list[Path] = given.folders
    for folder in folders:
        sets = [load(str(folder / f"{name}.txt.gz")) for name in ("train", "test")]
        train, test = (Scaling("list-minmax", lists.n_features).apply(lists) for lists in sets)
        pairs = make_pairs(train, PairRelation("all"))
        labelled = Points(train)
        training = TrainingPairs.of(pairs, labelled)
        better, worse = pairs.explicit()
        values = np.asarray(train.features.to_dense(), dtype=np.float64)
        differences = values[pairs.items[better]] - values[pairs.items[worse]]
        print(f"{folder}: {pairs.n_pairs:,} labelled pairs, {train.n_features} features", flush=True)
        for i in range(1 if given.quick else 3):
            one = test.subset([i])
            items = np.asarray(one.features.to_dense(), dtype=np.float64)
            beside_densratio(Problem(training, labelled, Points(one), SAMPLES), differences, items)
            drawn(training, labelled, Points(one))
            statistics(differences, items)


if __name__ == "__main__":
    main()
